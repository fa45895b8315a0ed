import type { SeededRandom } from '#test/bench/tsbs/seeded-random';

import { randomExpression, type RandomItem } from './kernel-expressions.js';
import { randomRange } from './kernel-ranges.js';

/** A table with random rows, and random queries of the shapes that kernels run. */
export interface RandomTable {
  readonly name: string;
  readonly createSql: string;
  readonly unitsPerSecond: number;
  /** Whether rows have no versions, and cannot be deleted. */
  readonly isAppendOnly: boolean;
  readonly hosts: readonly string[];
  /** Whether a query must not return all rows. */
  readonly isLarge?: boolean;
}

/** A query, and whether its ORDER BY determines the order of its rows. */
export interface RandomQuery {
  readonly sql: string;
  readonly isOrdered: boolean;
  /** Positions of columns that are sums of floats, whose last digits depend on the order of the rows. */
  readonly inexact: ReadonlySet<number>;
}

const FIELDS = ['d', 'f', 'i', 'n', 't', 'u'] as const;
const FLOATS: ReadonlySet<string> = new Set(['d', 'f']);
const REGIONS = ['eu', 'us', 'Ä"\'', '東京', '🜚'];

/** Seconds since 1970 in which all rows are: around 1970, so that buckets begin before it too. */
const FROM_SECONDS = -40_000;
const SPAN_SECONDS = 100_000;

/** Creates a table of a random time unit. */
export function randomTable(name: string, random: SeededRandom): RandomTable {
  const [precision, unitsPerSecond] = random.pick([
    [3, 1e3],
    [6, 1e6],
    [9, 1e9],
  ] as const);
  const hosts = Array.from({ length: random.pick([1, 3, 40]) }, (_, i) => `h${i}`);
  const isAppendOnly = random.below(4) === 0;
  const merged = random.below(2) === 0 ? " WITH (merge_mode = 'last_non_null')" : '';
  const options = isAppendOnly ? " WITH (append_mode = 'true')" : merged;
  const createSql =
    `CREATE TABLE ${name} (h STRING, r STRING, d DOUBLE, f FLOAT, i INT, n BIGINT, t TINYINT, u SMALLINT UNSIGNED, b BOOLEAN,` +
    ` ts TIMESTAMP(${precision}) TIME INDEX, PRIMARY KEY (h, r))${options}`;
  return { name, createSql, unitsPerSecond, isAppendOnly, hosts };
}

/** Returns an INSERT of rows of a time slice, at regular or random times. @param slice of `slices`, in the order of time. */
export function randomRows(
  { name, unitsPerSecond, hosts }: RandomTable,
  slice: number,
  slices: number,
  random: SeededRandom,
): string {
  const step = Math.floor(SPAN_SECONDS / slices / 20);
  const isRegular = random.below(2) === 0;
  const rows: string[] = [];
  for (const [i, host] of hosts.entries()) {
    const region = i % 7 === 6 ? 'NULL' : text(REGIONS[i % REGIONS.length]);
    for (let at = 0; at < 20; at++) {
      if (random.below(10) === 0 && !isRegular) continue;
      const seconds = FROM_SECONDS + (slice * 20 + at) * step + (isRegular ? 0 : random.below(step));
      const values = FIELDS.map((field) => randomValue(field, random)).join(', ');
      rows.push(`(${text(host)}, ${region}, ${values}, ${BigInt(seconds) * BigInt(unitsPerSecond)})`);
    }
  }
  return `INSERT INTO ${name} (h, r, ${FIELDS.join(', ')}, ts) VALUES ${rows.join(', ')}`;
}

/** How rows of a large INSERT are made. */
export interface LargeInsert {
  readonly count: number;
  /** Number from which they are counted, which also determines their values. */
  readonly first: number;
  /** Time of the first row, and between the rows of a host, in seconds. */
  readonly fromSeconds: number;
  readonly stepSeconds: number;
  /** Seconds that every seventh row is late by, at most; every eleventh has the time of the row before; 0: none. */
  readonly lateSeconds: number;
  /** Fields of which each has nulls and odd values; others are null. */
  readonly fields: readonly string[];
}

/** Returns an INSERT of many rows of all hosts. */
export function largeRows({ name, unitsPerSecond, hosts }: RandomTable, insert: LargeInsert): string {
  const { count, first, fromSeconds, stepSeconds, lateSeconds, fields } = insert;
  const mixed = (factor: number, below: number): string => `((i * ${factor} + i // 13) % 1000003 % ${below})`;
  const late = `CASE WHEN i % 7 = 0 THEN ${mixed(7919, Math.max(1, lateSeconds))} WHEN i % 11 = 0 THEN ${stepSeconds} ELSE 0 END`;
  const seconds = `${fromSeconds} + (i - ${first}) // ${hosts.length} * ${stepSeconds}${lateSeconds > 0 ? ` - ${late}` : ''}`;
  const values: Readonly<Record<string, string>> = {
    d: `CASE ${mixed(31, 50)} WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-0.0' ELSE (${mixed(57, 1000)} / 8 - 30)::VARCHAR END::DOUBLE`,
    f: `${mixed(37, 4000)} / 16`,
    i: `${mixed(41, 200_000)} - 100000`,
    n: `${mixed(43, 5)} * 1000000007`,
    t: `${mixed(47, 256)} - 128`,
    u: mixed(53, 65_536),
    x: mixed(59, 900),
  };
  const region = `CASE WHEN i % ${hosts.length} % 7 = 6 THEN NULL ELSE list_value(${REGIONS.map(text).join(', ')})[1 + i % ${hosts.length} % ${REGIONS.length}] END`;
  const list = fields.map((field, at) => `CASE WHEN ${mixed(61 + at, 9)} = 0 THEN NULL ELSE ${values[field]} END`);
  return (
    `INSERT INTO ${name} (h, r, ${fields.join(', ')}, ts) SELECT 'h' || (i % ${hosts.length}), ${region}, ${list.join(', ')},` +
    ` (${seconds}) * ${unitsPerSecond} FROM range(${first}, ${first + count}) AS s(i)`
  );
}

function randomValue(field: (typeof FIELDS)[number], random: SeededRandom): string {
  if (random.below(8) === 0) return 'NULL';
  switch (field) {
    case 'd':
      return random.pick([...ODD, ...Array.from({ length: 30 }, () => String(random.normal() * 50))]);
    case 'f':
      return random.pick([...ODD, ...Array.from({ length: 30 }, () => String(random.below(1000) / 8))]);
    case 'i':
      return String(random.below(200_000) - 100_000);
    case 'n':
      // With the greatest of them, a row group is left to the engine.
      if (random.below(500) === 0) return '4503599627370496';
      return random.pick(['450359962737049', '-7', '0', '123456789012']);
    case 't':
      return String(random.below(256) - 128);
    case 'u':
      return String(random.below(65_536));
  }
}

const ODD = ["'NaN'", "'Infinity'", "'-Infinity'", '-0.0', '0.0'];

/** Returns a random query. */
export function randomQuery(table: RandomTable, random: SeededRandom): RandomQuery {
  const hasRows = table.isLarge !== true || !table.isAppendOnly;
  if (random.below(12) === 0) {
    const where = randomConditions(table, random);
    return randomRange(table.name, where, FIELDS, !table.isAppendOnly && random.below(3) === 0, random);
  }
  return random.below(4) === 0 && hasRows ? rowQuery(table, random) : groupQuery(table, random);
}

/** Returns a query of rows. */
function rowQuery(table: RandomTable, random: SeededRandom): RandomQuery {
  const { name, isAppendOnly } = table;
  // Of several rows with the newest time, any may be returned; only a host in all has one.
  if (!isAppendOnly && random.below(3) === 0) {
    const where = randomConditions(table, random);
    const distinct = `SELECT DISTINCT ON (h) h, ts, d, i FROM ${name}${where} ORDER BY h, ts DESC`;
    const tag = random.pick(['h', 'r']);
    const newest = `SELECT * FROM ${name} WHERE (${tag}, ts) IN (SELECT ${tag}, max(ts) FROM ${name} GROUP BY ${tag})`;
    const join =
      `SELECT a.* FROM ${name} AS a JOIN (SELECT max(ts) AS last, ${tag} FROM ${name} GROUP BY ${tag}) AS b` +
      ` ON b.${tag} = a.${tag} AND a.ts = b.last`;
    return { sql: random.pick([distinct, newest, join]), isOrdered: false, inexact: new Set() };
  }
  const columns = ['h', 'r', 'ts', ...FIELDS];
  const list = random.pick([
    '*',
    random
      .distinct(1 + random.below(5), columns.length)
      .map((i) => columns[i])
      .join(', '),
  ]);
  const sorted = random.pick([
    undefined,
    'ts, h',
    'ts DESC, h',
    'h DESC, ts',
    'd DESC, h, ts',
    'r, i, ts DESC, h',
    'n NULLS FIRST, h, ts',
  ]);
  // Rows of such a table can have equal keys.
  const order = sorted === undefined || table.isAppendOnly ? '' : ` ORDER BY ${sorted}`;
  const isCut = order !== '' && (table.isLarge === true || random.below(2) === 0);
  const limit = isCut ? ` LIMIT ${random.below(30)} OFFSET ${random.below(3)}` : '';
  const sql = `SELECT ${list} FROM ${table.name}${randomConditions(table, random)}${order}${limit}`;
  return { sql, isOrdered: order !== '', inexact: new Set() };
}

function groupQuery(table: RandomTable, random: SeededRandom): RandomQuery {
  const keys = randomKeys(random);
  // Of several rows with the same time, any may be the last; only a host in all has one.
  const isByHost = !table.isAppendOnly && keys.some(({ sql }) => sql === 'h');
  const edges = isByHost
    ? ['last_value(x)', 'last_value(x ORDER BY ts)', 'first_value(x ORDER BY ts)', 'last_value(x ORDER BY ts DESC)']
    : [];
  const times = ['max(ts)', 'min(ts)'];
  const items = Array.from({ length: 1 + random.below(4) }, (): RandomItem => {
    if (random.below(3) === 0) return randomExpression(keys.length > 0, edges, random);
    const field = random.pick(FIELDS);
    const call = random.pick(['min', 'max', 'sum', 'avg', 'count', 'count(*)', random.pick(times), ...edges]);
    if (call === 'count(*)' || times.includes(call)) return { sql: call, isInexact: false };
    if (edges.includes(call)) return { sql: call.replace('x', field), isInexact: false };
    const isInexact = call === 'avg' || (call === 'sum' && FLOATS.has(field));
    return { sql: `${call}(${field})`, isInexact };
  });
  const named = items.map(({ sql }, i) => `${sql} AS a${i}`);
  const list = [...keys.map(({ sql, name }) => `${sql} AS ${name}`), ...named].join(', ');
  const where = randomConditions(table, random);
  const group =
    keys.length === 0
      ? ''
      : ` GROUP BY ${keys.map(({ sql, name }, i) => random.pick([sql, name, String(i + 1)])).join(', ')}`;
  const exact = items.flatMap(({ isInexact }, i) => (isInexact ? [] : [i]));
  const having =
    exact.length > 0 && !times.includes(items[exact[0]].sql) && keys.length > 0 && random.below(4) === 0
      ? havingSql(items[exact[0]].sql, random)
      : '';
  const { order, isOrdered } = randomOrder(
    keys.map(({ name }) => name),
    exact,
    random,
  );
  const limit =
    isOrdered && random.below(2) === 0 ? ` LIMIT ${1 + random.below(10)}${random.pick(['', ' OFFSET 2'])}` : '';
  return {
    sql: `SELECT ${list} FROM ${table.name}${where}${group}${having}${order}${limit}`,
    isOrdered,
    inexact: new Set(items.flatMap(({ isInexact }, i) => (isInexact ? [keys.length + i] : []))),
  };
}

function randomKeys(random: SeededRandom): { readonly sql: string; readonly name: string }[] {
  const keys: { sql: string; name: string }[] = [];
  const bucket = random.pick([
    undefined,
    "date_trunc('hour', ts)",
    "date_trunc('day', ts)",
    "date_trunc('minute', ts)",
    "date_bin('7 minutes'::INTERVAL, ts)",
    "date_bin('2 hours'::INTERVAL, ts, '1970-01-01T00:30:00')",
  ]);
  if (bucket !== undefined) keys.push({ sql: bucket, name: 'k' });
  for (const tag of ['h', 'r']) if (random.below(2) === 0) keys.push({ sql: tag, name: tag });
  return random.below(2) === 0 ? keys : keys.reverse();
}

const LIKE_PATTERNS = ['h1%', '%2', '%', '_', 'h_', '%u%', '', 'h1', '%%_%', 'H%', 'h.', '(h|e)%', '_%_'];
const EXPRESSIONS = ['^h[0-4]$', '1', 'h.', '', '(h1|eu)', '^(?i)H[02]', 'u$', '[^0-9]{2}', '^$', '\\d\\d', '.'];

function randomConditions({ unitsPerSecond, hosts }: RandomTable, random: SeededRandom): string {
  const time = (): string => {
    const seconds = FROM_SECONDS + random.below(SPAN_SECONDS);
    return random.below(2) === 0 ? `'${new Date(seconds * 1000).toISOString()}'` : String(seconds * unitsPerSecond);
  };
  const compared = random.pick(['<', '<=', '>', '>=', '=', '!=']);
  const conditions = [
    `ts >= ${time()}`,
    `ts < ${time()}`,
    `ts > ${time()}`,
    `ts <= ${time()}`,
    `h = ${text(random.pick(hosts))}`,
    `h IN (${[random.pick(hosts), 'none', random.pick(hosts)].map(text).join(', ')})`,
    `h != ${text(random.pick(hosts))}`,
    `r NOT IN (${text(random.pick(REGIONS))})`,
    `r = ${text(random.pick(REGIONS))}`,
    `(h = ${text(random.pick(hosts))} OR h IN (${text(random.pick(hosts))}, 'none') OR h = ${text(random.pick(hosts))})`,
    `${random.pick(['h', 'r'])} ${random.pick(['LIKE', 'NOT LIKE'])} ${text(random.pick(LIKE_PATTERNS))}`,
    `${random.pick(['h', 'r'])} ${random.pick(['~', '!~'])} ${text(random.pick(EXPRESSIONS))}`,
    random.pick(['r IS NOT NULL', "NOT (h = 'h1' OR h = 'h2')", "NOT (r LIKE 'e_')"]),
    `d ${compared} ${random.pick(['0', '12.5', '-3', '1e2'])}`,
    `f ${compared} ${random.pick(['0', '12.5', '100'])}`,
    `i ${compared} ${random.pick(['0', '5000', '-20000'])}`,
    `t ${random.pick(['<', '<=', '>', '>='])} ${random.pick(['0', '2.5', '-7.5', '300'])}`,
    `n ${compared} ${random.pick(['0', '4503599627370496'])}`,
    `${random.pick(FIELDS)} IS NOT NULL`,
    `${random.pick(['i', 'd', 'f'])} BETWEEN ${random.pick(['-50', '0', '-7.5'])} AND ${random.pick(['9000', '3', '-60'])}`,
  ];
  const chosen = random.distinct(random.below(4), conditions.length).map((i) => conditions[i]);
  return chosen.length === 0 ? '' : ` WHERE ${chosen.join(' AND ')}`;
}

function havingSql(aggregate: string, random: SeededRandom): string {
  return ` HAVING ${aggregate} ${random.pick(['>', '<', '>=', '!='])} ${random.pick(['0', '3', '50'])}`;
}

function randomOrder(
  keys: readonly string[],
  exact: readonly number[],
  random: SeededRandom,
): { readonly order: string; readonly isOrdered: boolean } {
  if (keys.length === 0 || random.below(3) === 0) return { order: '', isOrdered: false };
  const first = exact.length > 0 && random.below(3) === 0 ? [`a${exact[0]}`] : [];
  const order = [...first, ...keys].map(
    (name) => `${name}${random.pick(['', ' ASC', ' DESC', ' DESC NULLS LAST', ' NULLS FIRST'])}`,
  );
  return { order: ` ORDER BY ${order.join(', ')}`, isOrdered: true };
}

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}
