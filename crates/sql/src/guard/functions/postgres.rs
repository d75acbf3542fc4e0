//! PostgreSQL functions that only compute (manual, chapter 9), and those of a few extensions.
//!
//! Deliberately excluded are functions that read files or other sessions (`pg_…`), run text as SQL
//! (`query_to_xml`, `ts_stat`, `ts_rewrite`, `crosstab`, `dblink`), advance sequences, lock,
//! notify, sleep, read or change settings, or reveal users, addresses and transactions.

pub(super) const NAMES: &str = "
array row exists any some all grouping coalesce nullif greatest least
num_nonnulls num_nulls

abs acos acosd acosh asin asind asinh atan atan2 atan2d atand atanh cbrt ceil ceiling cos cosd cosh
cot cotd degrees div erf erfc exp factorial floor gamma gcd lcm lgamma ln log log10 min_scale mod pi
power pow radians random round scale sign sin sind sinh sqrt tan tand tanh trim_scale trunc
width_bucket random_normal

ascii bit_length btrim casefold char_length character_length chr concat concat_ws format initcap
left length lower lpad ltrim md5 normalize octet_length overlay parse_ident position quote_ident
quote_literal quote_nullable regexp_count regexp_instr regexp_like regexp_match regexp_matches
regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr repeat replace reverse
right rpad rtrim split_part starts_with string_to_array string_to_table strpos substr substring
textcat to_ascii to_hex to_bin to_oct translate trim unistr upper like_escape similar_to_escape
convert convert_from convert_to crc32 crc32c decode encode get_bit get_byte set_bit set_byte sha224
sha256 sha384 sha512 bit_count

to_char to_date to_number to_timestamp age clock_timestamp current_date current_time
current_timestamp date_add date_bin date_part date_subtract date_trunc extract isfinite justify_days
justify_hours justify_interval localtime localtimestamp make_date make_interval make_time
make_timestamp make_timestamptz now statement_timestamp timeofday timezone transaction_timestamp
overlaps timestamp timestamptz date time interval

enum_first enum_last enum_range

area center diagonal diameter height isclosed isopen npoints pclose popen radius slope width box
bound_box circle line lseg path point polygon

abbrev broadcast family host hostmask inet_merge inet_same_family masklen netmask network set_masklen
text macaddr8_set7bit

array_to_tsvector get_current_ts_config numnode plainto_tsquery phraseto_tsquery
websearch_to_tsquery querytree setweight strip to_tsquery to_tsvector json_to_tsvector
jsonb_to_tsvector ts_delete ts_filter ts_headline ts_rank ts_rank_cd tsquery_phrase
tsvector_to_array ts_lexize ts_debug ts_parse

gen_random_uuid uuidv4 uuidv7 uuid_extract_timestamp uuid_extract_version

xmlcomment xmlconcat xmlelement xmlforest xmlpi xmlroot xmlagg xmlexists xml_is_well_formed
xml_is_well_formed_document xml_is_well_formed_content xpath xpath_exists xmltable xmlparse
xmlserialize

to_json to_jsonb array_to_json json_array row_to_json json_build_array jsonb_build_array
json_build_object jsonb_build_object json_object jsonb_object json json_scalar json_serialize
json_array_elements jsonb_array_elements json_array_elements_text jsonb_array_elements_text
json_array_length jsonb_array_length json_each jsonb_each json_each_text jsonb_each_text
json_extract_path jsonb_extract_path json_extract_path_text jsonb_extract_path_text json_object_keys
jsonb_object_keys json_populate_record jsonb_populate_record json_populate_recordset
jsonb_populate_recordset json_to_record jsonb_to_record json_to_recordset jsonb_to_recordset
jsonb_set jsonb_set_lax jsonb_insert json_strip_nulls jsonb_strip_nulls jsonb_path_exists
jsonb_path_match jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_path_exists_tz
jsonb_path_match_tz jsonb_path_query_tz jsonb_path_query_array_tz jsonb_path_query_first_tz
jsonb_pretty json_typeof jsonb_typeof json_exists json_query json_value json_table

array_append array_cat array_dims array_fill array_length array_lower array_ndims array_position
array_positions array_prepend array_remove array_replace array_reverse array_sample array_shuffle
array_sort array_to_string array_upper cardinality trim_array unnest

lower_inc upper_inc lower_inf upper_inf isempty range_merge multirange int4range int8range numrange
tsrange tstzrange daterange int4multirange int8multirange nummultirange tsmultirange tstzmultirange
datemultirange range_agg range_intersect_agg

any_value array_agg avg bit_and bit_or bit_xor bool_and bool_or count every json_agg json_agg_strict
jsonb_agg jsonb_agg_strict json_arrayagg json_objectagg json_object_agg json_object_agg_strict
json_object_agg_unique jsonb_object_agg jsonb_object_agg_strict jsonb_object_agg_unique max min
string_agg sum corr covar_pop covar_samp regr_avgx regr_avgy regr_count regr_intercept regr_r2
regr_slope regr_sxx regr_sxy regr_syy stddev stddev_pop stddev_samp variance var_pop var_samp mode
percentile_cont percentile_disc rank dense_rank percent_rank cume_dist

row_number ntile lag lead first_value last_value nth_value

generate_series generate_subscripts

current_catalog current_database current_schema version format_type pg_typeof collation

int2 int4 int8 float4 float8 numeric varchar bpchar bool bytea uuid

similarity word_similarity strict_word_similarity show_trgm unaccent levenshtein
levenshtein_less_equal soundex difference metaphone dmetaphone dmetaphone_alt daitch_mokotoff
hstore akeys avals skeys svals hstore_to_json hstore_to_jsonb
cosine_distance inner_product l1_distance l2_distance l2_norm vector_dims vector_norm
uuid_generate_v4 digest

st_area st_asewkt st_asgeojson st_astext st_azimuth st_buffer st_centroid st_contains st_convexhull
st_coveredby st_covers st_crosses st_difference st_disjoint st_distance st_distancesphere st_dwithin
st_envelope st_equals st_geogfromtext st_geohash st_geomfromgeojson st_geomfromtext st_geometrytype
st_intersection st_intersects st_isempty st_isvalid st_length st_makeenvelope st_makeline
st_makepoint st_makepolygon st_npoints st_overlaps st_perimeter st_point st_pointfromtext
st_setsrid st_simplify st_srid st_touches st_transform st_union st_within st_x st_xmax st_xmin st_y
st_ymax st_ymin st_z
";
