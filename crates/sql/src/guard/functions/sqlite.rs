//! SQLite's functions that only compute (its pages on core, date, aggregate, window, maths and
//! JSON functions, and full text search).
//!
//! Left out with reason: what loads code or touches files (`load_extension`, `readfile`), makes
//! values of any size at once (`zeroblob`, `randomblob`), or tells about the connection.

pub(super) const NAMES: &str = "
abs char coalesce concat concat_ws format glob hex if ifnull iif instr last_value length like
likelihood likely lower ltrim max min nullif octet_length printf quote random replace round
rtrim sign soundex substr substring trim typeof unhex unicode unistr unlikely upper exists row any
sqlite_version subtype collate

date time datetime julianday unixepoch strftime timediff current_date current_time
current_timestamp

avg count group_concat string_agg sum total median percentile percentile_cont percentile_disc

row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value nth_value

acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod
pi pow power radians sin sinh sqrt tan tanh trunc

json jsonb json_array jsonb_array json_array_length json_error_position json_extract jsonb_extract
json_insert jsonb_insert json_object jsonb_object json_patch jsonb_patch json_pretty json_remove
jsonb_remove json_replace jsonb_replace json_set jsonb_set json_type json_valid json_quote
json_group_array jsonb_group_array json_group_object jsonb_group_object json_each json_tree
jsonb_each jsonb_tree

bm25 highlight snippet match matchinfo offsets rank
regexp generate_series
";
