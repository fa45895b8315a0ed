/** What editors show of a function. */
export interface FunctionHelp {
  /** Its arguments in parentheses. */
  readonly signature: string;
  /** One sentence. */
  readonly help: string;
}

/**
 * Functions that the engine does not have, or does not describe: names of the same meaning, arguments, two spaces, and a
 * sentence.
 */
const TEXT = `
date_bin(interval, time[, origin])  Rounds a time down to the start of its bucket.
date_add(time, interval)  Adds an interval to a time.
date_sub(time, interval)  Subtracts an interval from a time.
to_timestamp_seconds(value[, format, ..])  Converts a number of seconds, or a text, to a time.
to_timestamp_millis(value[, format, ..])  Converts a number of milliseconds, or a text, to a time.
to_timestamp_micros(value[, format, ..])  Converts a number of microseconds, or a text, to a time.
to_timestamp_nanos(value[, format, ..])  Converts a number of nanoseconds, or a text, to a time.
from_unixtime(seconds)  Converts a number of seconds since 1970 to a time.
to_unixtime(time)  Returns the seconds since 1970.
date_format to_char(time, format)  Formats a time in the time zone of the session.
to_date(value[, format, ..])  Converts a time or a text to a date.
to_local_time(time)  Converts a time to the time zone of the session.
today current_date()  Returns the date at the start of the statement.
current_timestamp get_current_time current_localtime current_localtimestamp()  Returns the time at the start of the statement.
days_in_month(time)  Returns the number of days of the month.
make_timestamptz(year, month, day, hour, minute, seconds)  Makes a time from its parts.
approx_distinct(x)  Estimates the number of distinct values.
approx_median(x)  Estimates the median.
approx_percentile_cont(x, q)  Estimates a quantile.
covar(x, y)  Returns the covariance of a sample.
var var_sample(x)  Returns the variance of a sample.
var_population(x)  Returns the variance of the population.
std(x)  Returns the standard deviation of the population.
count_hash(x)  Estimates the number of distinct values by their hashes.
count_star()  Counts rows.
geomean geometric_mean(x)  Returns the geometric mean.
wavg(x, weight)  Returns the weighted average.
regr_sxx regr_syy(y, x)  Returns the sum of squares of a linear regression.
first_value(x [ORDER BY y])  Returns the first value, in the order of time by default.
last_value(x [ORDER BY y])  Returns the last value, in the order of time by default.
nth_value(x, n [ORDER BY y])  Returns the value at a position, in the order of time by default.
row_number()  Numbers the rows of a window.
rank()  Returns the rank of a row, with gaps after equal rows.
dense_rank rank_dense()  Returns the rank of a row, without gaps.
percent_rank()  Returns the rank of a row, from 0 to 1.
cume_dist()  Returns the share of rows up to this one.
ntile(count)  Divides the rows of a window into this many parts, and returns the number of the part.
lag(x[, offset[, default]])  Returns the value of an earlier row of the window.
lead(x[, offset[, default]])  Returns the value of a later row of the window.
fill(x)  Replaces null by values interpolated from the neighbours in the window.
anomaly_score_zscore(x)  Returns how many standard deviations a value is away from the mean of the window.
anomaly_score_mad(x)  Returns how far a value is away from the median of the window, by the median deviation.
anomaly_score_iqr(x, k)  Returns how far a value is outside of the quartiles of the window, widened by k.
hll(x)  Makes a sketch of distinct values.
hll_merge(state)  Merges sketches of distinct values.
hll_count(state)  Returns the number of distinct values of a sketch.
uddsketch_state(buckets, error, x)  Makes a sketch of quantiles.
uddsketch_merge(buckets, error, state)  Merges sketches of quantiles.
uddsketch_calc(q, state)  Returns a quantile of a sketch.
regexp_like(text, pattern[, options])  Returns whether a text contains a match.
regexp_count(text, pattern)  Counts the matches in a text.
regexp_match(text, pattern)  Returns the groups of the first match.
regexp_instr(text, pattern)  Returns the position of the first match.
matches_term(text, term)  Returns whether a text contains a term as whole words.
matches(text, query)  Returns whether a text satisfies a query of words and phrases.
btrim(text[, characters])  Removes characters from both ends of a text.
initcap(text)  Puts the first letter of each word in upper case.
overlay(text PLACING new FROM start [FOR length])  Replaces a part of a text.
locate(part, text[, start])  Returns the position of a part of a text.
insert(text, position, length, new)  Replaces a part of a text.
mid(text, start[, length])  Returns a part of a text.
space(count)  Returns a text of spaces.
elt(n, text, ..)  Returns the n-th text.
field(text, text, ..)  Returns the position of a text among others.
find_in_set(text, list)  Returns the position of a text in a list separated by commas.
substr_index substring_index(text, delimiter, count)  Returns the part of a text before a number of delimiters.
split_part(text, delimiter, index)  Returns a part of a text between delimiters.
digest(value, algorithm)  Returns a hash, such as by sha256.
sha224 sha384 sha512(value)  Returns the hash of this name.
md5_number_lower md5_number_upper(text)  Returns half of the MD5 hash as a number.
clamp(x, min, max)  Limits a number at both ends.
clamp_min(x, min)  Returns the larger one of a number and a limit.
clamp_max(x, max)  Returns the smaller one of a number and a limit.
iszero(x)  Returns whether a number is 0.
nanvl(x, y)  Returns y if x is NaN, else x.
signum(x)  Returns the sign of a number: -1, 0 or 1.
rand()  Returns a random number from 0 to 1.
add(x, y)  Adds two values.
subtract(x, y)  Subtracts a value from another one.
multiply(x, y)  Multiplies two values.
divide(x, y)  Divides whole numbers, and drops the remainder.
fdiv(x, y)  Divides numbers, and rounds down.
mod fmod(x, y)  Returns the remainder of a division.
round_even roundbankers(x, digits)  Rounds to digits, halves to the even one.
nvl ifnull(x, y)  Returns the first of the two that is not null.
nvl2(x, y, z)  Returns y if x is not null, else z.
nullif(x, y)  Returns null if both are equal, else x.
isnull(x)  Returns whether a value is null.
arrow_typeof(x)  Returns the type of a value, by its name in Arrow.
arrow_cast(x, type)  Converts a value to a type, by its name in Arrow.
named_struct(name, value, ..)  Makes an object.
struct(value, ..)  Makes an object with the members c0, c1 and so on.
get_field(object, name)  Returns a member of an object.
make_array(value, ..)  Makes a list.
array_element(list, index)  Returns an element of a list.
array_any_value list_any_value(list)  Returns the first element that is not null.
array_max(list)  Returns the largest element.
array_min(list)  Returns the smallest element.
array_append array_push_back list_push_back list_append(list, value)  Appends a value to a list.
array_prepend array_push_front list_prepend(value, list)  Puts a value before a list.
list_push_front(list, value)  Puts a value before a list.
array_pop_back list_pop_back(list)  Removes the last element.
array_pop_front list_pop_front(list)  Removes the first element.
array_reverse list_reverse(list)  Reverses a list.
array_to_string array_to_string_comma_default list_join list_to_string array_join(list[, delimiter])  Joins the elements to a text.
list_length(list)  Returns the number of elements.
array_remove list_remove(list, value)  Removes the first element that is equal.
array_remove_n list_remove_n(list, value, n)  Removes the first n elements that are equal.
array_remove_all list_remove_all(list, value)  Removes all elements that are equal.
array_replace list_replace(list, value, new)  Replaces the first element that is equal.
array_replace_n list_replace_n(list, value, new, n)  Replaces the first n elements that are equal.
array_replace_all list_replace_all(list, value, new)  Replaces all elements that are equal.
array_repeat list_repeat(value, count)  Makes a list of equal values.
array_union list_union(list, list)  Returns the distinct elements of both lists.
array_except list_except(list, list)  Returns the elements that the other list does not have.
array_ndims list_ndims(list)  Returns the number of dimensions.
array_dims list_dims(list)  Returns the length of each dimension.
array_positions list_positions(list, value)  Returns all positions of a value.
arrays_zip(list, ..)  Combines lists element by element.
empty array_empty list_empty(list)  Returns whether a list has no elements.
unnest(list)  Returns a row for each element.
generate_subscripts(list, dimension)  Returns the positions of a list, a row for each.
map_contains_entry(map, key, value)  Returns whether a map has an entry.
map_contains_value(map, value)  Returns whether a map has a value.
parse_json(text)  Parses a text as JSON.
json(text)  Parses JSON, and prints it without white space.
json_to_string(json)  Prints JSON.
to_json array_to_json row_to_json(value)  Converts a value to JSON.
from_json json_transform(json, structure)  Converts JSON to the types of a structure.
from_json_strict json_transform_strict(json, structure)  Converts JSON to the types of a structure, and fails if it does not fit.
json_get(json, path)  Returns the value at a path.
json_get_int(json, path)  Returns the whole number at a path.
json_get_float(json, path)  Returns the number at a path.
json_get_bool(json, path)  Returns the boolean at a path.
json_get_string(json, path)  Returns the text at a path.
json_get_object(json, path)  Returns the object at a path.
json_path_exists(json, path)  Returns whether there is a value at a path.
json_path_match(json, predicate)  Returns whether a value satisfies a predicate.
json_exists(json, path)  Returns whether there is a value at a path.
json_contains(json, part)  Returns whether JSON contains other JSON.
json_extract json_extract_path(json, path)  Returns the value at a path as JSON.
json_extract_string json_extract_path_text(json, path)  Returns the value at a path as text.
json_value(json, path)  Returns the number, text or boolean at a path.
json_array(value, ..)  Makes a JSON list.
json_object(key, value, ..)  Makes a JSON object.
json_quote(value)  Converts a value to JSON.
json_array_length(json[, path])  Returns the number of elements of a JSON list.
json_keys(json[, path])  Returns the keys of a JSON object.
json_object_keys(json)  Returns the keys of a JSON object.
json_merge_patch(json, patch)  Merges JSON objects.
json_pretty(json)  Prints JSON with indentation.
json_structure(json)  Returns the types of the values in JSON.
json_type(json[, path])  Returns the type of a value in JSON.
json_valid(text)  Returns whether a text is JSON.
json_group_array(value)  Makes a JSON list of the values of all rows.
json_group_object(key, value)  Makes a JSON object of all rows.
json_group_structure(json)  Returns the types that the JSON of all rows has in common.
json_is_null json_is_bool json_is_int json_is_float json_is_string json_is_object json_is_array(json)  Returns whether JSON has this type.
variant_extract(variant, path)  Returns a part of a variant.
geohash(latitude, longitude, digits)  Returns the geohash of a point.
geohash_neighbours(latitude, longitude, digits)  Returns the eight geohashes around that of a point.
wkt_point_from_latlng(latitude, longitude)  Returns a point as WKT.
json_encode_path(latitude, longitude, time)  Returns the points in the order of time as JSON.
geo_path(latitude, longitude, time)  Returns the latitudes and longitudes in the order of time.
st_area(shape)  Returns the area of a shape.
st_distance(shape, shape)  Returns the distance of two shapes.
st_distance_sphere_m(point, point)  Returns the distance of two points in metres.
st_contains(shape, shape)  Returns whether the first shape contains the second one.
st_within(shape, shape)  Returns whether the first shape is within the second one.
st_intersects(shape, shape)  Returns whether two shapes have a point in common.
h3_latlng_to_cell(latitude, longitude, resolution)  Returns the H3 cell of a point as a number.
h3_latlng_to_cell_string(latitude, longitude, resolution)  Returns the H3 cell of a point by its name.
h3_cell_to_string(cell)  Returns the name of an H3 cell.
h3_string_to_cell(name)  Returns the number of an H3 cell.
h3_cell_center_latlng(cell)  Returns the centre of an H3 cell.
h3_cell_resolution(cell)  Returns the resolution of an H3 cell.
h3_cell_base(cell)  Returns the base cell of an H3 cell.
h3_cell_is_pentagon(cell)  Returns whether an H3 cell is a pentagon.
h3_cell_parent(cell, resolution)  Returns the cell of a coarser resolution that has an H3 cell.
h3_cell_to_children(cell, resolution)  Returns the cells of a finer resolution in an H3 cell.
h3_cell_to_children_size(cell, resolution)  Returns the number of cells of a finer resolution in an H3 cell.
h3_cell_to_child_pos(cell, resolution)  Returns the position of an H3 cell within its parent.
h3_child_pos_to_cell(position, cell, resolution)  Returns the H3 cell at a position within its parent.
h3_grid_disk(cell, distance)  Returns the H3 cells up to a distance.
h3_grid_disk_distances(cell, distance)  Returns the H3 cells up to a distance, with their distances.
h3_grid_distance(cell, cell)  Returns the distance of two H3 cells in cells.
h3_grid_path_cells(cell, cell)  Returns the H3 cells between two others.
h3_cells_contains(cells, cell)  Returns whether some of the H3 cells contain a cell.
h3_distance_sphere_km(cell, cell)  Returns the distance of the centres of two H3 cells in kilometres.
h3_distance_degree(cell, cell)  Returns the distance of the centres of two H3 cells in degrees.
s2_latlng_to_cell(latitude, longitude)  Returns the S2 cell of a point.
s2_cell_to_token(cell)  Returns the name of an S2 cell.
s2_cell_level(cell)  Returns the level of an S2 cell.
s2_cell_parent(cell, level)  Returns the cell of a coarser level that has an S2 cell.
ipv4_to_cidr(address[, length]) ipv6_to_cidr(address[, length])  Returns the network of an address.
ipv4_in_range(address, cidr) ipv6_in_range(address, cidr)  Returns whether an address is in a network.
ipv4_num_to_string(number)  Prints an IPv4 address.
ipv4_string_to_num(text)  Returns an IPv4 address as a number.
ipv6_num_to_string(digits)  Prints an IPv6 address of 32 hexadecimal digits.
ipv6_string_to_num(text)  Returns an IPv6 address as 16 bytes.
database current_database()  Returns the database of the session.
current_schema()  Returns the database of the session.
current_user session_user user current_role()  Returns the user of the request.
version()  Returns the version of the server.
build()  Returns the version and revision of the server.
connection_id pg_backend_pid()  Returns 0: requests have no connection.
parse_vec(text)  Parses a vector.
vec_to_string(vector)  Prints a vector.
vec_dim(vector)  Returns the number of dimensions.
vec_kth_elem(vector, k)  Returns an element of a vector.
vec_subvector(vector, start, end)  Returns a part of a vector.
vec_norm(vector)  Returns a vector of the same direction and length 1.
vec_dot_product(vector, vector)  Returns the dot product.
vec_l2sq_distance(vector, vector)  Returns the squared distance.
vec_cos_distance(vector, vector)  Returns the distance by the angle.
vec_add(vector, vector)  Adds vectors element by element.
vec_sub(vector, vector)  Subtracts vectors element by element.
vec_mul(vector, vector)  Multiplies vectors element by element.
vec_div(vector, vector)  Divides vectors element by element.
vec_scalar_add(number, vector)  Adds a number to each element.
vec_scalar_mul(number, vector)  Multiplies each element by a number.
vec_elem_sum(vector)  Returns the sum of the elements.
vec_elem_product(vector)  Returns the product of the elements.
vec_elem_avg(vector)  Returns the average of the elements.
vec_sum(vector)  Adds the vectors of all rows.
vec_product(vector)  Multiplies the vectors of all rows element by element.
vec_avg(vector)  Returns the average of the vectors of all rows.
`;

const LIST_AGGREGATE = /^list_(?!aggr)\w+$/;
const LINE = /^(.*\))  (.*)$/;

let parsed: ReadonlyMap<string, FunctionHelp> | undefined;

/** Returns what is written here of a function; undefined if the engine describes it. */
export function functionHelp(name: string): FunctionHelp | undefined {
  parsed ??= parseHelp();
  return parsed.get(name);
}

/** Returns what is known of a function of the engine that neither describes. */
export function namelessHelp(name: string): string {
  return LIST_AGGREGATE.test(name)
    ? `Applies the aggregate ${name.slice('list_'.length)} to the elements of a list.`
    : '';
}

function parseHelp(): Map<string, FunctionHelp> {
  const all = new Map<string, FunctionHelp>();
  for (const line of TEXT.trim().split('\n')) {
    const [, heads = '', help = ''] = LINE.exec(line) ?? [];
    // Names that share their arguments, or each with its own.
    for (const [, names, signature] of heads.matchAll(/([\w ]+)(\([^)]*\))/g)) {
      for (const name of names.trim().split(' ')) all.set(name, { signature, help });
    }
  }
  return all;
}
