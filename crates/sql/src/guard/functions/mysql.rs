//! Functions of MySQL and MariaDB that only compute (manual, "Functions and Operators").
//!
//! Deliberately excluded are functions that sleep or burn time (`SLEEP`, `BENCHMARK`), take locks,
//! read files, wait for replication, advance sequences, leak data in error messages
//! (`EXTRACTVALUE`, `UPDATEXML`), or reveal sessions, users and the server. `ST_BUFFER`,
//! `ST_UNION`, `ST_INTERSECTION`, `ST_DIFFERENCE` and `ST_SYMDIFFERENCE` ignore both the time limit
//! and KILL in MariaDB. A large geometry would keep the server busy for minutes after the client
//! has left.

pub(super) const NAMES: &str = "
if ifnull nullif isnull coalesce greatest least interval elt field find_in_set make_set export_set
values any_value grouping exists any some all row array

abs acos asin atan atan2 ceil ceiling conv cos cot crc32 crc32c degrees exp floor format
ln log log10 log2 mod pi pow power radians rand round sign sin sqrt tan truncate

ascii bin bit_count bit_length char char_length character_length chr concat concat_ws
format_bytes from_base64 hex insert instr lcase left length lengthb locate lower lpad ltrim mid
natural_sort_key oct octet_length ord position quote regexp_instr regexp_like regexp_replace
regexp_substr repeat replace reverse right rpad rtrim sformat soundex space strcmp substr substring
substring_index substr_index to_base64 to_char trim ucase unhex upper weight_string
match against collation charset coercibility binary convert cast

adddate addtime add_months convert_tz curdate current_date current_time current_timestamp curtime
date date_add date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear extract
from_days from_unixtime get_format hour last_day localtime localtimestamp makedate maketime
microsecond minute month monthname now period_add period_diff quarter sec_to_time second str_to_date
subdate subtime sysdate time time_format time_to_sec timediff timestamp timestampadd timestampdiff
to_days to_number to_seconds trunc unix_timestamp utc_date utc_time utc_timestamp week weekday
weekofyear year yearweek

md5 sha sha1 sha2 compress uncompress uncompressed_length uuid uuid_to_bin bin_to_uuid is_uuid
inet_aton inet_ntoa inet6_aton inet6_ntoa is_ipv4 is_ipv6 is_ipv4_compat is_ipv4_mapped

json_array json_array_append json_array_insert json_arrayagg json_compact json_contains
json_contains_path json_depth json_detailed json_equals json_exists json_extract json_insert
json_keys json_length json_loose json_merge json_merge_patch json_merge_preserve json_normalize
json_object json_objectagg json_overlaps json_pretty json_query json_quote json_remove json_replace
json_schema_valid json_schema_validation_report json_search json_set json_storage_size json_table
json_type json_unquote json_valid json_value

avg bit_and bit_or bit_xor count group_concat max min std stddev stddev_pop stddev_samp sum var_pop
var_samp variance median percentile_cont percentile_disc

cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number

database schema version

area st_area st_asbinary st_asgeojson st_astext st_centroid st_contains st_convexhull
st_crosses st_dimension st_disjoint st_distance st_distance_sphere st_endpoint
st_envelope st_equals st_geohash st_geomfromgeojson st_geomfromtext st_geometrytype
st_intersects st_isempty st_isvalid st_latitude st_length st_longitude st_makeenvelope st_numpoints
st_overlaps st_pointfromgeohash st_pointfromtext st_simplify st_srid st_startpoint st_swapxy
st_touches st_transform st_within st_x st_y point linestring polygon mbrcontains
mbrintersects mbrwithin
";
