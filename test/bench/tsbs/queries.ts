import { FIELD_NAMES, START_SECONDS, STEP_SECONDS, type TsbsShape } from './generator.js';
import { SeededRandom } from './seeded-random.js';

/** A kind of query, without its sizes. */
export type QuestionShape =
  /** Greatest value of each field in each minute, over the chosen hosts together. */
  | 'max-per-minute'
  /** The same in each hour. */
  | 'max-per-hour'
  /** Mean of each field for each host and hour. */
  | 'mean-per-host-and-hour'
  /** Whole rows in which `usage_user` is above 90. */
  | 'high-cpu'
  /** The newest whole row of each host. */
  | 'last-row'
  /** Greatest `usage_user` in each of the last five minutes before a time. */
  | 'last-five-minutes';

interface KindSizes {
  readonly shape: QuestionShape;
  /** Number of fields, beginning with the first. */
  readonly fields: number;
  /** Hosts drawn by chance; 0 = all. */
  readonly hosts: number;
  /** Length of the time range; 0 = no limit. */
  readonly hours: number;
}

/** The 15 kinds of TSBS *cpu-only*, under its names. */
export const QUERY_KINDS = {
  'single-groupby-1-1-1': { shape: 'max-per-minute', fields: 1, hosts: 1, hours: 1 },
  'single-groupby-1-1-12': { shape: 'max-per-minute', fields: 1, hosts: 1, hours: 12 },
  'single-groupby-1-8-1': { shape: 'max-per-minute', fields: 1, hosts: 8, hours: 1 },
  'single-groupby-5-1-1': { shape: 'max-per-minute', fields: 5, hosts: 1, hours: 1 },
  'single-groupby-5-1-12': { shape: 'max-per-minute', fields: 5, hosts: 1, hours: 12 },
  'single-groupby-5-8-1': { shape: 'max-per-minute', fields: 5, hosts: 8, hours: 1 },
  'cpu-max-all-1': { shape: 'max-per-hour', fields: 10, hosts: 1, hours: 8 },
  'cpu-max-all-8': { shape: 'max-per-hour', fields: 10, hosts: 8, hours: 8 },
  'double-groupby-1': { shape: 'mean-per-host-and-hour', fields: 1, hosts: 0, hours: 12 },
  'double-groupby-5': { shape: 'mean-per-host-and-hour', fields: 5, hosts: 0, hours: 12 },
  'double-groupby-all': { shape: 'mean-per-host-and-hour', fields: 10, hosts: 0, hours: 12 },
  'high-cpu-all': { shape: 'high-cpu', fields: 10, hosts: 0, hours: 12 },
  'high-cpu-1': { shape: 'high-cpu', fields: 10, hosts: 1, hours: 12 },
  lastpoint: { shape: 'last-row', fields: 10, hosts: 0, hours: 0 },
  'groupby-orderby-limit': { shape: 'last-five-minutes', fields: 1, hosts: 0, hours: 1 },
} as const satisfies Record<string, KindSizes>;

export type QueryKind = keyof typeof QUERY_KINDS;
export const QUERY_KIND_NAMES = Object.keys(QUERY_KINDS) as QueryKind[];

/** One query: a kind with its random choices made. */
export interface TsbsQuery {
  readonly kind: QueryKind;
  readonly shape: QuestionShape;
  readonly fields: readonly string[];
  /** Ascending; all hosts of the data set where the kind does not choose. */
  readonly hosts: readonly number[];
  readonly choosesHosts: boolean;
  /** Seconds since 1970, half-open. */
  readonly from: number;
  readonly to: number;
}

export const HIGH_CPU_ABOVE = 90;
export const LAST_MINUTES = 5;

/** Draws `count` queries of a kind. Ranges longer than the data set are cut to it. */
export function drawQueries(kind: QueryKind, shape: TsbsShape, count: number, seed: number): TsbsQuery[] {
  const sizes: KindSizes = QUERY_KINDS[kind];
  const random = new SeededRandom(seed ^ (QUERY_KIND_NAMES.indexOf(kind) << 16));
  const dataSeconds = shape.steps * STEP_SECONDS;
  const rangeSeconds = sizes.hours === 0 ? dataSeconds : Math.min(dataSeconds, sizes.hours * 3600);
  const allHosts = Array.from({ length: shape.hosts }, (_, host) => host);
  return Array.from({ length: count }, () => {
    // Whole seconds, so that ranges rarely begin on a minute or on a point.
    const from = START_SECONDS + random.below(dataSeconds - rangeSeconds + 1);
    return {
      kind,
      shape: sizes.shape,
      fields: FIELD_NAMES.slice(0, sizes.fields),
      hosts: sizes.hosts === 0 ? allHosts : random.distinct(sizes.hosts, shape.hosts),
      choosesHosts: sizes.hosts !== 0,
      from,
      to: from + rangeSeconds,
    };
  });
}

/** The query in Almanac's SQL: a SELECT over table `cpu` with time index `almanac_timestamp`. */
export function toSql(query: TsbsQuery): string {
  return SQL_OF_SHAPE[query.shape](query);
}

const SQL_OF_SHAPE: Readonly<Record<QuestionShape, (query: TsbsQuery) => string>> = {
  'max-per-minute': (query) => maxPer('minute', query),
  'max-per-hour': (query) => maxPer('hour', query),
  'mean-per-host-and-hour': (query) =>
    `SELECT date_trunc('hour', almanac_timestamp) AS hour, hostname, ${aggregates('avg', 'mean', query)} FROM cpu` +
    ` WHERE ${inRange(query)} GROUP BY hour, hostname ORDER BY hour, hostname`,
  'high-cpu': (query) =>
    `SELECT * FROM cpu WHERE usage_user > ${HIGH_CPU_ABOVE} AND ${onHosts(query)}${inRange(query)}`,
  // Over the join of facts and series, 2.16 million rows: 54 ms so, 184 by row_number, 188 by arg_max of the
  // whole row, 490 by arg_max of each field, 1,050 by DISTINCT ON.
  'last-row': () =>
    'SELECT * FROM cpu WHERE (hostname, almanac_timestamp) IN' +
    ' (SELECT hostname, max(almanac_timestamp) FROM cpu GROUP BY hostname)',
  'last-five-minutes': (query) =>
    `SELECT date_trunc('minute', almanac_timestamp) AS minute, ${aggregates('max', 'max', query)} FROM cpu` +
    ` WHERE almanac_timestamp < ${timeLiteral(query.to)} GROUP BY minute ORDER BY minute DESC LIMIT ${LAST_MINUTES}`,
};

/** Other forms of the newest row of each host, which only SQL has. */
export const LASTPOINT_FORMS: Readonly<Record<string, string>> = {
  'lastpoint by DISTINCT ON': 'SELECT DISTINCT ON (hostname) * FROM cpu ORDER BY hostname, almanac_timestamp DESC',
  'lastpoint by last_value': `SELECT hostname, max(almanac_timestamp) AS newest, ${FIELD_NAMES.map(
    (field) => `last_value(${field} ORDER BY almanac_timestamp) AS ${field}`,
  ).join(', ')} FROM cpu GROUP BY hostname`,
  'lastpoint by join':
    'SELECT cpu.* FROM cpu JOIN (SELECT hostname, max(almanac_timestamp) AS newest FROM cpu GROUP BY hostname) AS n' +
    ' ON cpu.hostname = n.hostname AND cpu.almanac_timestamp = n.newest',
};

function maxPer(unit: 'minute' | 'hour', query: TsbsQuery): string {
  return (
    `SELECT date_trunc('${unit}', almanac_timestamp) AS ${unit}, ${aggregates('max', 'max', query)} FROM cpu` +
    ` WHERE ${onHosts(query)}${inRange(query)} GROUP BY ${unit} ORDER BY ${unit}`
  );
}

function aggregates(call: string, prefix: string, query: TsbsQuery): string {
  return query.fields.map((field) => `${call}(${field}) AS ${prefix}_${field}`).join(', ');
}

function onHosts(query: TsbsQuery): string {
  if (!query.choosesHosts) return '';
  return `hostname IN (${query.hosts.map((host) => `'host_${host}'`).join(', ')}) AND `;
}

function inRange(query: TsbsQuery): string {
  return `almanac_timestamp >= ${timeLiteral(query.from)} AND almanac_timestamp < ${timeLiteral(query.to)}`;
}

function timeLiteral(seconds: number): string {
  return `'${isoTime(seconds)}'`;
}

/** `2016-01-01T00:00:00Z`. */
export function isoTime(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}
