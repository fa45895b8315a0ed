/**
 * Functions of the engine that users may call by the engine's names. This is an allow-list: functions that read files,
 * settings, catalogs or other sessions, run SQL text, wait or write are not in it, and neither are those of later engines.
 */
const SCALAR = `
  abs acos acosh add age aggregate alias apply array_aggr array_aggregate array_append array_apply array_cat
  array_concat array_contains array_cosine_distance array_cosine_similarity array_cross_product array_distance
  array_distinct array_dot_product array_extract array_filter array_grade_up array_has array_has_all array_has_any
  array_indexof array_inner_product array_intersect array_length array_negative_dot_product
  array_negative_inner_product array_pop_back array_pop_front array_position array_prepend array_push_back
  array_push_front array_reduce array_resize array_reverse array_reverse_sort array_select array_slice array_sort
  array_to_json array_to_string array_to_string_comma_default array_transform array_unique array_value array_where
  array_zip ascii asin asinh atan atan2 atanh bar base64 bin bit_count bit_length bit_position bitstring
  cardinality cbrt ceil ceiling century char_length character_length chr concat concat_ws constant_or_null
  contains cos cosh cot current_date current_localtime current_localtimestamp damerau_levenshtein date_diff
  date_part date_trunc datediff datepart datetrunc day dayname dayofmonth dayofweek dayofyear days_in_month decade
  decode degrees divide editdist3 element_at encode ends_with epoch epoch_ms epoch_ns epoch_us equi_width_bins era
  error even exp factorial fdiv filter flatten floor fmod format format_bytes from_base64 from_binary from_hex
  from_json from_json_strict gamma gcd gen_random_uuid generate_series generate_subscripts geomean geometric_mean
  get_bit get_current_time get_current_timestamp grade_up greatest greatest_common_divisor hamming hash hex hour
  ilike_escape instr is_histogram_other_bin isfinite isinf isnan isodow isoyear jaccard jaro_similarity
  jaro_winkler_similarity json json_array json_array_length json_contains json_exists json_extract
  json_extract_path json_extract_path_text json_extract_string json_group_array json_group_object
  json_group_structure json_keys json_merge_patch json_object json_pretty json_quote json_structure json_transform
  json_transform_strict json_type json_valid json_value julian last_day lcase lcm least least_common_multiple left
  left_grapheme len length length_grapheme levenshtein lgamma like_escape list_aggr list_aggregate list_any_value
  list_append list_apply list_approx_count_distinct list_avg list_bit_and list_bit_or list_bit_xor list_bool_and
  list_bool_or list_cat list_concat list_contains list_cosine_distance list_cosine_similarity list_count
  list_distance list_distinct list_dot_product list_element list_entropy list_extract list_filter list_first
  list_grade_up list_has list_has_all list_has_any list_histogram list_indexof list_inner_product list_intersect
  list_kurtosis list_kurtosis_pop list_last list_mad list_max list_median list_min list_mode
  list_negative_dot_product list_negative_inner_product list_pack list_position list_prepend list_product
  list_reduce list_resize list_reverse list_reverse_sort list_select list_sem list_skewness list_slice list_sort
  list_stddev_pop list_stddev_samp list_string_agg list_sum list_transform list_unique list_value list_var_pop
  list_var_samp list_where list_zip ln log log10 log2 lower lpad ltrim make_date make_time make_timestamp
  make_timestamp_ms make_timestamp_ns make_timestamptz map map_concat map_contains map_contains_entry
  map_contains_value map_entries map_extract map_extract_value map_from_entries map_keys map_values md5 md5_number
  md5_number_lower md5_number_upper microsecond millennium millisecond minute mismatches mod month monthname
  multiply nanosecond nextafter nfc_normalize normalized_interval not_ilike_escape not_like_escape now nullif
  octet_length ord parse_dirname parse_dirpath parse_filename parse_formatted_bytes parse_path pi position pow
  power prefix printf quarter radians random range reduce regexp_escape regexp_extract regexp_extract_all
  regexp_full_match regexp_matches regexp_replace regexp_split_to_array repeat replace reverse right
  right_grapheme round round_even roundbankers row row_to_json rpad rtrim second set_bit sha1 sha256 sign signbit
  sin sinh split split_part sqrt starts_with str_split str_split_regex strftime string_split string_split_regex
  string_to_array strip_accents strlen strpos strptime struct_concat struct_contains struct_extract
  struct_extract_at struct_has struct_indexof struct_insert struct_keys struct_pack struct_position struct_update
  struct_values substr substring substring_grapheme subtract suffix tan tanh time_bucket timezone timezone_hour
  timezone_minute to_base to_base64 to_binary to_centuries to_days to_decades to_hex to_hours to_json
  to_microseconds to_millennia to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp to_weeks
  to_years transaction_timestamp translate trim trunc try_strptime typeof ucase unbin unhex unicode union_extract
  union_tag union_value upper url_decode url_encode uuid uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7
  variant_extract variant_typeof wavg week weekday weekofyear xor year yearweek
`;

const AGGREGATE = `
  any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null arg_max_nulls_last
  arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg avg bit_and bit_or bit_xor bitstring_agg
  bool_and bool_or corr count count_if count_star countif covar_pop covar_samp cume_dist dense_rank entropy favg
  fill first first_value fsum group_concat histogram histogram_exact kahan_sum kurtosis kurtosis_pop lag last
  last_value lead list listagg mad max max_by mean median min min_by mode nth_value ntile percent_rank product
  quantile quantile_cont quantile_disc rank rank_dense regr_avgx regr_avgy regr_count regr_intercept regr_r2
  regr_slope regr_sxx regr_sxy regr_syy reservoir_quantile row_number sem skewness stddev stddev_pop stddev_samp
  string_agg sum sum_no_overflow sumkahan var_pop var_samp variance
`;

/** Operators, as the engine's parser names them. */
const OPERATORS = '!__postfix !~~ !~~* % & && * ** + - ->> -> / // <-> << <=> <@ >> @ @> ^ ^@ | || ~ ~~ ~~* ~~~';

/** Table functions; they compute rows from their arguments alone. */
const TABLE = 'generate_series range unnest';

const names = (text: string): string[] => text.trim().split(/\s+/);

/** All functions and operators that may be called. */
export const NATIVE_FUNCTIONS: ReadonlySet<string> = new Set([
  ...names(SCALAR),
  ...names(AGGREGATE),
  ...names(OPERATORS),
  'unnest',
]);
/** The aggregate functions among them. */
export const AGGREGATE_FUNCTIONS: ReadonlySet<string> = new Set(names(AGGREGATE));
/** Functions of the engine that are macros over aggregates. */
const AGGREGATE_MACROS = 'geomean geometric_mean json_group_array json_group_object json_group_structure wavg';
/** Aggregates of this dialect that the engine does not have by this name. */
const DIALECT_AGGREGATES = `
  approx_distinct approx_median approx_percentile_cont count_hash covar geo_path hll hll_merge json_encode_path percentile
  polyval scipystatsnormcdf scipystatsnormpdf std uddsketch_merge uddsketch_state var var_population var_sample vec_avg
  vec_product vec_sum
`;
/** Functions that are called with OVER only. */
export const WINDOW_FUNCTIONS: ReadonlySet<string> = new Set(
  names(
    'anomaly_score_iqr anomaly_score_mad anomaly_score_zscore cume_dist dense_rank fill lag lead ntile percent_rank rank ' +
      'rank_dense row_number',
  ),
);
/** All functions that compute one value from several rows, by the names that users call. */
export const ANY_AGGREGATES: ReadonlySet<string> = new Set([
  ...AGGREGATE_FUNCTIONS,
  ...names(AGGREGATE_MACROS),
  ...names(DIALECT_AGGREGATES),
]);
/**
 * Functions whose value differs between runs over the same rows, if they are called with parentheses. So does `age` with one
 * argument.
 */
export const VOLATILE_FUNCTIONS: ReadonlySet<string> = new Set(
  names(
    'current_date current_localtime current_localtimestamp current_time current_timestamp gen_random_uuid get_current_time ' +
      'get_current_timestamp localtime localtimestamp now rand random today transaction_timestamp uuid uuidv4 uuidv7',
  ),
);
/** Those among them that need no parentheses. */
export const VOLATILE_WORDS: ReadonlySet<string> = new Set(
  names('current_date current_time current_timestamp localtime localtimestamp'),
);
/** Functions that may be called in FROM. */
export const TABLE_FUNCTIONS: ReadonlySet<string> = new Set(names(TABLE));

/** Functions whose result has the type of their first argument. */
export const KEEPS_TYPE: ReadonlySet<string> = new Set(
  names(
    'min max first last any_value arbitrary arg_min arg_max argmin argmax min_by max_by arg_min_null arg_max_null ' +
      'lag lead first_value last_value nth_value greatest least nullif mode sum abs',
  ),
);
/** Functions whose result is an integer. */
export const GIVES_INT: ReadonlySet<string> = new Set(
  names(
    'count count_star count_if countif length len char_length character_length strlen strpos instr position bit_length ascii unicode ord ' +
      'epoch_ns epoch_us epoch_ms date_part datepart date_diff datediff year month day hour minute second week dayofweek dayofyear isodow quarter ' +
      'row_number rank dense_rank ntile approx_count_distinct list_count cardinality array_length regr_count factorial gcd lcm sign bit_count',
  ),
);
/** Functions whose result is a float. */
export const GIVES_FLOAT: ReadonlySet<string> = new Set(
  names(
    'avg mean stddev stddev_samp stddev_pop var_samp var_pop variance corr covar_samp covar_pop sqrt cbrt exp ln log log2 log10 pow power pi sin cos tan ' +
      'asin acos atan atan2 sinh cosh tanh degrees radians random epoch regr_slope regr_intercept regr_r2 quantile_cont kurtosis skewness entropy',
  ),
);
