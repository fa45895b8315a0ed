import { AlmanacError } from '#shared/errors/almanac-error';

import { cast, type Ast } from '../syntax/ast.js';
import { argumentsOf, type FunctionRule, type KnownType } from './function.js';

/** A function that is an expression of the engine's own functions. */
interface Macro {
  /** Parameters and expression, as after `CREATE MACRO name`; overloads are separated by commas. */
  readonly sql: string;
  readonly arity: readonly [number, number];
  /** Type of the result; `first`: that of the first argument. */
  readonly returns?: KnownType | 'first';
}

const macro = (sql: string, arity: readonly [number, number], returns?: Macro['returns']): Macro => ({
  sql,
  arity,
  ...(returns === undefined ? {} : { returns }),
});

/** Evaluates a parameter once, however often the expression uses it. */
const once = (parameter: string, body: string): string =>
  `list_extract(list_transform([${parameter}], lambda x: ${body}), 1)`;

/** Functions that users call by these names. */
const PUBLIC: Readonly<Record<string, Macro>> = {
  clamp: macro(
    "(v, low, high) AS CASE WHEN low > high THEN error(concat('min ''', low, ''' > max ''', high, '''')) ELSE greatest(least(v, high), low) END",
    [3, 3],
    'first',
  ),
  clamp_min: macro('(v, low) AS CASE WHEN v IS NOT NULL AND low IS NOT NULL THEN greatest(v, low) END', [2, 2]),
  clamp_max: macro('(v, high) AS CASE WHEN v IS NOT NULL AND high IS NOT NULL THEN least(v, high) END', [2, 2]),
  iszero: macro('(v) AS v = 0', [1, 1], 'bool'),
  nanvl: macro('(v, other) AS CASE WHEN isnan(v) THEN other ELSE v END', [2, 2], 'float'),
  nvl2: macro('(v, a, b) AS CASE WHEN v IS NOT NULL THEN a ELSE b END', [3, 3]),
  isnull: macro('(v) AS v IS NULL', [1, 1], 'bool'),
  initcap: macro(
    "(s) AS array_to_string(list_transform(regexp_extract_all(s, '[\\p{L}\\p{N}]+|[^\\p{L}\\p{N}]+'), lambda w: concat(upper(w[1]), lower(w[2:]))), '')",
    [1, 1],
    'text',
  ),
  overlay: macro(
    '(s, r, p) AS concat(left(s, p::INTEGER - 1), r, substr(s, p + length(r))), (s, r, p, n) AS concat(left(s, p::INTEGER - 1), r, substr(s, p + n))',
    [3, 4],
    'text',
  ),
  locate: macro(
    '(part, s) AS instr(s, part), (part, s, p) AS CASE WHEN p < 1 THEN 0 ELSE coalesce(nullif(instr(substr(s, p), part), 0) + p - 1, CASE WHEN part IS NOT NULL AND s IS NOT NULL THEN 0 END) END',
    [2, 3],
    'int',
  ),
  insert: macro(
    '(s, p, n, r) AS CASE WHEN p < 1 OR p > length(s) THEN s WHEN n < 0 THEN left(s, p::INTEGER - 1) || r ELSE left(s, p::INTEGER - 1) || r || substr(s, p + n) END',
    [4, 4],
    'text',
  ),
  // Positions before the first character count, so that fewer characters are left.
  substring: macro(
    '(s, p) AS substr(s, CASE WHEN p < 1 THEN 1 ELSE p END), (s, p, n) AS CASE WHEN p < 1 THEN substr(s, 1, greatest(n + p - 1, 0)) ELSE substr(s, p, n) END',
    [2, 3],
    'text',
  ),
  upper: macro("(s) AS upper(replace(s, 'ß', 'SS'))", [1, 1], 'text'),
  string_to_array: macro(
    "(s, d) AS CASE WHEN d IS NULL THEN string_split(s, '') WHEN d = '' THEN [s] ELSE string_split(s, d) END, (s, d, n) AS list_transform(CASE WHEN d IS NULL THEN string_split(s, '') WHEN d = '' THEN [s] ELSE string_split(s, d) END, lambda e: nullif(e, n))",
    [2, 3],
  ),
  space: macro("(n) AS repeat(' ', greatest(n, 0)::SMALLINT)", [1, 1], 'text'),
  find_in_set: macro(
    "(s, list) AS CASE WHEN s IS NOT NULL AND list IS NOT NULL THEN coalesce(list_position(string_split(list, ','), s), 0) END",
    [2, 2],
    'int',
  ),
  substr_index: macro(
    "(s, d, n) AS CASE WHEN n > 0 THEN array_to_string(string_split(s, d)[1:n], d) WHEN n < 0 THEN array_to_string(string_split(s, d)[n:], d) WHEN n = 0 THEN '' END",
    [3, 3],
    'text',
  ),
  regexp_count: macro(
    '(s, p) AS length(regexp_extract_all(s, p)), (s, p, start) AS length(regexp_extract_all(substr(s, start), p))',
    [2, 3],
    'int',
  ),
  array_remove_all: macro('(l, v) AS list_filter(l, lambda e: e IS DISTINCT FROM v)', [2, 2]),
  array_remove: macro(
    '(l, v) AS list_where(l, list_transform(l, lambda e, i: i IS DISTINCT FROM list_position(l, v)))',
    [2, 2],
  ),
  array_remove_n: macro(
    '(l, v, n) AS list_where(l, list_transform(l, lambda e, i: e IS DISTINCT FROM v OR length(list_filter(l[1:i], lambda x: x IS NOT DISTINCT FROM v)) > n))',
    [3, 3],
  ),
  array_replace_n: macro(
    '(l, a, b, n) AS list_transform(l, lambda e, i: CASE WHEN e IS NOT DISTINCT FROM a AND length(list_filter(l[1:i], lambda x: x IS NOT DISTINCT FROM a)) <= n THEN b ELSE e END)',
    [4, 4],
  ),
  array_ndims: macro("(l) AS length(regexp_extract_all(typeof(l), '\\[[0-9]*\\]'))", [1, 1], 'int'),
  array_dims: macro(
    "(l) AS list_filter(list_transform(['$', '$[0]', '$[0][0]', '$[0][0][0]', '$[0][0][0][0]'], lambda p: CASE WHEN json_type(to_json(l), p) = 'ARRAY' THEN json_array_length(to_json(l), p) END), lambda n: n IS NOT NULL)",
    [1, 1],
  ),
  arrays_zip: macro(
    '(a, b) AS list_transform(list_zip(a, b), lambda e: struct_pack("1" := e[1], "2" := e[2])), (a, b, c) AS list_transform(list_zip(a, b, c), lambda e: struct_pack("1" := e[1], "2" := e[2], "3" := e[3]))',
    [2, 3],
  ),
  // Of lists in lists, the innermost elements.
  cardinality: macro(
    "(l) AS CASE WHEN json_type(to_json(l)) = 'OBJECT' THEN length(json_keys(to_json(l))) WHEN json_type(to_json(l), '$[0][0][0]') IS NOT NULL THEN length(json_extract(to_json(l), '$[*][*][*]')) WHEN json_type(to_json(l), '$[0][0]') IS NOT NULL THEN length(json_extract(to_json(l), '$[*][*]')) ELSE length(json_extract(to_json(l), '$[*]')) END",
    [1, 1],
    'int',
  ),
  to_hex: macro('(n) AS lower(to_hex(n))', [1, 1], 'text'),
  array_positions: macro(
    '(l, v) AS list_filter(list_transform(l, lambda e, i: CASE WHEN e IS NOT DISTINCT FROM v THEN i END), lambda i: i IS NOT NULL)',
    [2, 2],
  ),
  uuid: macro('() AS uuid()::VARCHAR', [0, 0], 'text'),
  array_replace_all: macro(
    '(l, a, b) AS list_transform(l, lambda e: CASE WHEN e IS NOT DISTINCT FROM a THEN b ELSE e END)',
    [3, 3],
  ),
  array_replace: macro(
    '(l, a, b) AS list_transform(l, lambda e, i: CASE WHEN i = list_position(l, a) THEN b ELSE e END)',
    [3, 3],
  ),
  array_repeat: macro('(v, n) AS list_transform(range(greatest(n, 0)::SMALLINT), lambda i: v)', [2, 2]),
  array_union: macro('(a, b) AS list_distinct(list_concat(a, b))', [2, 2]),
  array_except: macro('(a, b) AS list_distinct(list_filter(a, lambda e: NOT list_contains(b, e)))', [2, 2]),
  array_any_value: macro('(l) AS list_any_value(l)', [1, 1]),
  empty: macro('(l) AS length(l) = 0', [1, 1], 'bool'),
  arrow_typeof: macro(
    `(v) AS ${once(
      'typeof(v)',
      "coalesce(map_extract_value(MAP {'VARCHAR': 'Utf8', 'BLOB': 'Binary', 'BOOLEAN': 'Boolean', 'TINYINT': 'Int8', 'SMALLINT': 'Int16', 'INTEGER': 'Int32', 'BIGINT': 'Int64', 'HUGEINT': 'Int64', 'UTINYINT': 'UInt8', 'USMALLINT': 'UInt16', 'UINTEGER': 'UInt32', 'UBIGINT': 'UInt64', 'FLOAT': 'Float32', 'DOUBLE': 'Float64', 'DATE': 'Date32', 'TIMESTAMP_S': 'Timestamp(s)', 'TIMESTAMP_MS': 'Timestamp(ms)', 'TIMESTAMP': 'Timestamp(µs)', 'TIMESTAMP_NS': 'Timestamp(ns)', 'TIME': 'Time64(µs)', 'INTERVAL': 'Interval(MonthDayNano)', 'JSON': 'Binary', '\"NULL\"': 'Null'}, x), regexp_replace(x, 'DECIMAL\\((\\d+),(\\d+)\\)', 'Decimal128(\\1, \\2)'))",
    )}`,
    [1, 1],
    'text',
  ),
};

const JSON_NUMBER = "CASE json_type(x) WHEN 'BOOLEAN' THEN (x::VARCHAR = 'true')::INTEGER::VARCHAR";

/** Functions that only rewrites call. */
const INTERNAL: Readonly<Record<string, string>> = {
  json_int: `(j) AS ${once(
    'j',
    `TRY_CAST(${JSON_NUMBER} WHEN 'BIGINT' THEN x::VARCHAR WHEN 'UBIGINT' THEN x::VARCHAR WHEN 'VARCHAR' THEN regexp_extract(json_extract_string(x, '$'), '^[+-]?[0-9]+$') END AS BIGINT)`,
  )}`,
  json_float: `(j) AS ${once(
    'j',
    `TRY_CAST(${JSON_NUMBER} WHEN 'OBJECT' THEN NULL WHEN 'ARRAY' THEN NULL ELSE json_extract_string(x, '$') END AS DOUBLE)`,
  )}`,
  json_bool: `(j) AS ${once(
    'j',
    "CASE WHEN json_type(x) IN ('BOOLEAN', 'VARCHAR') THEN map_extract_value(MAP {'true': true, 'false': false}, lower(json_extract_string(x, '$'))) END",
  )}`,
  json_scalar: `(j) AS ${once(
    'j',
    "CASE WHEN json_type(x) NOT IN ('OBJECT', 'ARRAY', 'NULL') THEN json_extract_string(x, '$') END",
  )}`,
  json_text: `(j) AS ${once('j', "CASE WHEN json_type(x) <> 'NULL' THEN json_extract_string(x, '$') END")}`,
  json_object_of: `(j) AS ${once('j', "CASE WHEN json_type(x) = 'OBJECT' THEN x::VARCHAR END")}`,
  json_keys_of: `(j) AS ${once('j', "CASE WHEN json_type(x) = 'OBJECT' THEN json_keys(x) END")}`,
  anomaly_score_zscore:
    "(v, n, mean, spread) AS CASE WHEN n >= 2 THEN CASE WHEN spread > 0 THEN abs(v - mean) / spread WHEN v = mean THEN 0.0e0 WHEN v IS NOT NULL THEN 'inf'::DOUBLE END END",
  anomaly_score_mad:
    "(v, n, centre, spread) AS CASE WHEN n >= 3 THEN CASE WHEN spread > 0 THEN abs(v - centre) / (1.4826e0 * spread) WHEN v = centre THEN 0.0e0 WHEN v IS NOT NULL THEN 'inf'::DOUBLE END END",
  anomaly_score_iqr:
    "(v, n, k, low, high) AS CASE WHEN n >= 3 AND k >= 0 AND v IS NOT NULL THEN CASE WHEN v < low - k * (high - low) THEN CASE WHEN high > low THEN (low - k * (high - low) - v) / (high - low) ELSE 'inf'::DOUBLE END WHEN v > high + k * (high - low) THEN CASE WHEN high > low THEN (v - high - k * (high - low)) / (high - low) ELSE 'inf'::DOUBLE END ELSE 0.0e0 END END",
  format: "(v, d) AS format(concat('{:,.', greatest(least(d, 30), 0), 'f}'), v::DOUBLE)",
  encode:
    "(v, kind) AS CASE kind WHEN 'hex' THEN lower(hex(v)) WHEN 'base64' THEN rtrim(to_base64(v), '=') WHEN 'base64pad' THEN to_base64(v) ELSE error(concat('there is no built-in encoding named ''', kind, ''': use one of base64, base64pad, hex')) END",
  decode:
    "(v, kind) AS CASE kind WHEN 'hex' THEN from_hex(v) WHEN 'base64' THEN from_base64(rpad(rtrim(v, '='), CAST(ceil(length(rtrim(v, '=')) / 4.0e0) * 4 AS INTEGER), '=')) WHEN 'base64pad' THEN from_base64(v) ELSE error(concat('there is no built-in encoding named ''', kind, ''': use one of base64, base64pad, hex')) END",
  // NULL and NaN have no bucket.
  uddsketch_bucket:
    '(v, e) AS CASE WHEN isnan(v) THEN NULL WHEN v = 0 THEN 0.0e0 WHEN v > 0 THEN ceil(ln(v) / ln((1 + e) / (1 - e))) * 4 + 1 ELSE ceil(ln(-v) / ln((1 + e) / (1 - e))) * 4 + 2 END',
  uddsketch_state:
    '(n, e, h) AS almanac_uddsketch_of(n::BIGINT, e::DOUBLE, list_concat(map_keys(h), CAST([] AS DOUBLE[])), list_concat(map_values(h), CAST([] AS DOUBLE[])))',
  uddsketch_merge:
    '(n, e, states) AS almanac_uddsketch_checked(n::BIGINT, e::DOUBLE, list_reduce(list_filter(states, lambda s: s IS NOT NULL), lambda a, b: almanac_uddsketch_pair(a, b)))',
  hll_entry:
    '(v) AS CASE WHEN v IS NOT NULL THEN CAST((md5_number_lower(v) % 16384) * 64 + 51 - CASE WHEN md5_number_lower(v) // 16384 = 0 THEN 0 ELSE length(bin((md5_number_lower(v) // 16384)::BIGINT)) END AS DOUBLE) END',
  hll_state:
    '(entries) AS almanac_hll_of(list_filter(coalesce(entries, CAST([] AS DOUBLE[])), lambda e: e IS NOT NULL))',
  hll_merge:
    '(states) AS list_reduce(list_filter(states, lambda s: s IS NOT NULL), lambda a, b: almanac_hll_pair(a, b))',
  vec_of: "(v) AS CASE WHEN typeof(v) = 'BLOB' THEN v::BLOB ELSE almanac_parse_vec(v::VARCHAR) END",
  vec_sum: '(l) AS list_reduce(list_filter(l, lambda v: v IS NOT NULL), lambda a, b: almanac_vec_add(a, b))',
  vec_product: '(l) AS list_reduce(list_filter(l, lambda v: v IS NOT NULL), lambda a, b: almanac_vec_mul(a, b))',
  vec_avg:
    '(l) AS almanac_vec_scalar_mul(1e0 / list_count(l), list_reduce(list_filter(l, lambda v: v IS NOT NULL), lambda a, b: almanac_vec_add(a, b)))',
  wkt_point: "(lat, lng) AS concat('POINT(', lng, ' ', lat, ')')",
  elt: '(n, l) AS CASE WHEN n >= 1 THEN l[n] END',
  field: '(s, l) AS coalesce(list_position(l, s), 0)',
};

/** Calls may nest, and each use of a parameter repeats its argument. */
const EXPANDED_MAX = 10_000;

/** SQL that creates all macros. */
export const MACRO_STATEMENTS: readonly string[] = [
  ...Object.entries(PUBLIC).map(([name, { sql }]) => `CREATE OR REPLACE MACRO ${macroName(name)}${sql}`),
  ...Object.entries(INTERNAL).map(([name, sql]) => `CREATE OR REPLACE MACRO ${macroName(name)}${sql}`),
];

/** Number of uses of the parameter that the expression uses most. */
const USES: ReadonlyMap<string, number> = new Map(
  [...Object.entries(PUBLIC).map(([name, { sql }]) => [name, sql] as const), ...Object.entries(INTERNAL)].map(
    ([name, sql]) => [macroName(name), usesOf(sql)],
  ),
);

function usesOf(sql: string): number {
  const parameters = [...sql.matchAll(/\(([a-z, ]*)\) AS/g)].flatMap((match) => match[1].split(', '));
  const counts = parameters.map((name) => (sql.match(new RegExp(`\\b${name}\\b`, 'g')) ?? []).length - 1);
  return Math.max(1, ...counts);
}

/** Returns the name of a macro in the engine, which no user can call. */
export function macroName(name: string): string {
  return `almanac_${name}`;
}

/** Refuses a call that would become too large when its macros are expanded. @throws `plan_query`. */
export function checkExpansion(node: Ast): void {
  if (expandedSize(node) > EXPANDED_MAX) {
    throw new AlmanacError('plan_query', 'Failed to plan SQL: calls are nested too deeply; use a subquery');
  }
}

function expandedSize(node: unknown): number {
  if (node === null || typeof node !== 'object') return 0;
  const { function_name: name } = node as Partial<Ast>;
  let size = name === undefined ? 0 : 1;
  for (const child of Object.values(node)) size += expandedSize(child);
  return size * (USES.get(name ?? '') ?? 1);
}

const ALIASES: Readonly<Partial<Record<string, readonly string[]>>> = {
  substring: ['substr', 'mid'],
  upper: ['ucase'],
  substr_index: ['substring_index'],
  array_remove: ['list_remove'],
  array_remove_n: ['list_remove_n'],
  array_remove_all: ['list_remove_all'],
  array_replace: ['list_replace'],
  array_replace_n: ['list_replace_n'],
  array_replace_all: ['list_replace_all'],
  array_repeat: ['list_repeat'],
  array_union: ['list_union'],
  array_except: ['list_except'],
  empty: ['array_empty', 'list_empty'],
  array_positions: ['list_positions'],
  array_dims: ['list_dims'],
  array_ndims: ['list_ndims'],
};

/** Rules of the functions that macros implement. */
export const MACRO_FUNCTIONS: readonly FunctionRule[] = Object.entries(PUBLIC).map(([name, { arity, returns }]) => ({
  names: [name, ...(ALIASES[name] ?? [])],
  rewrite(node, context) {
    const given = argumentsOf(node, ...arity);
    const [first] = given;
    // Integer literals have 64 bits; the engine would choose the smallest type.
    const children = given.map((it) => (context.literalOf(it)?.kind === 'integer' ? cast(it, 'BIGINT') : it));
    const result = { ...node, function_name: macroName(name), children };
    checkExpansion(result);
    return context.typed(result, returns === 'first' ? context.typeOf(first) : returns);
  },
}));
