import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import { stringifyJson } from '../../protocols/common/json.js';
import { parseLokiDuration, parseLokiTime } from '../loki/times.js';
import type { QueryReply } from '../query-route.js';
import { allSqlRows } from '../sql-rows.js';
import {
  boundedParameter,
  chosenParameter,
  logsRange,
  logsTables,
  logsWhere,
  type LogsDeps,
  type LogsRequest,
} from './request.js';
import { rowsOfTables, tableRows, isoTimeText, type TimedRow } from './rows.js';

const LIMIT_DEFAULT = 1_000;
const LIMIT_MAX = 1_000_000;
/** Rows of several tables are held in memory to be sorted. */
const MERGED_LIMIT_MAX = 10_000;
const CONTEXT_MAX = 1_000;
const BUCKETS_DEFAULT = 100n;
const NS_PER_MS = 1_000_000n;
const BUCKETS_MAX = 11_000n;
const GROUPS_MAX = 100;
const TYPES = { json: 'application/json', ndjson: 'application/x-ndjson' };

/** `GET|POST /v1/logs`: rows of tables of logs. */
export async function searchLogs(request: LogsRequest, deps: LogsDeps): Promise<QueryReply> {
  const { form, database } = request;
  if (form.value('at') !== '') return context(request, deps);
  const format = chosenParameter(form, 'format', ['json', 'ndjson']);
  const isAscending = chosenParameter(form, 'order', ['desc', 'asc']) === 'asc';
  const limit = boundedParameter(form, 'limit', { fallback: LIMIT_DEFAULT, max: LIMIT_MAX });
  const search = { ...logsRange(form, deps.clock.nowNs()), isAscending, limit };
  const targets = await logsTables(request, deps);
  if (targets.length > 1 && limit > MERGED_LIMIT_MAX) {
    throw invalid(`parameter "limit" must be at most ${MERGED_LIMIT_MAX} for several tables: name one by "table"`);
  }
  const of = { request, deps };
  const rows = targets.length === 1 ? tableRows(targets[0], search, of) : blocks(rowsOfTables(targets, search, of));
  return { chunks: texts(rows, format, request), headers: { 'content-type': TYPES[format] }, database };
}

async function* blocks(rows: Promise<readonly TimedRow[]>): AsyncGenerator<readonly TimedRow[], void, undefined> {
  yield await rows;
}

async function* texts(
  all: AsyncIterable<readonly TimedRow[]>,
  format: keyof typeof TYPES,
  { context: { elapsedMs } }: LogsRequest,
): AsyncGenerator<Uint8Array, void, undefined> {
  const isJson = format === 'json';
  let count = 0;
  if (isJson) yield Buffer.from('{"rows":[');
  for await (const rows of all) {
    if (rows.length === 0) continue;
    const text = rows.map(({ json }) => json).join(isJson ? ',' : '\n');
    yield Buffer.from(isJson ? (count > 0 ? ',' : '') + text : `${text}\n`);
    count += rows.length;
  }
  if (isJson) yield Buffer.from(`],"total_rows":${count},"execution_time_ms":${elapsedMs}}`);
}

/** Returns the rows around a time: those before it, those at it, and those after it, in the order of time. */
async function context(request: LogsRequest, deps: LogsDeps): Promise<QueryReply> {
  const { form, database } = request;
  const format = chosenParameter(form, 'format', ['json', 'ndjson']);
  const atNs = parseLokiTime(form.value('at'));
  const before = boundedParameter(form, 'before', { fallback: 0, max: CONTEXT_MAX });
  const after = boundedParameter(form, 'after', { fallback: 0, max: CONTEXT_MAX });
  const range = logsRange(form, deps.clock.nowNs());
  const hasStart = form.value('start') !== '' || form.value('last') !== '';
  const fromNs = hasStart ? range.fromNs : 0n;
  const targets = await logsTables(request, deps);
  const of = { request, deps };
  const part = (from: bigint, to: bigint, isAscending: boolean, limit: number): Promise<TimedRow[]> =>
    from >= to || limit === 0
      ? Promise.resolve([])
      : rowsOfTables(targets, { fromNs: from, toNs: to, isAscending, limit }, of);
  const earlier = await part(fromNs, atNs, false, before);
  const there = await part(atNs, atNs + 1n, true, CONTEXT_MAX);
  const later = await part(atNs + 1n, range.toNs, true, after);
  const rows = Promise.resolve([...earlier.reverse(), ...there, ...later]);
  return { chunks: texts(blocks(rows), format, request), headers: { 'content-type': TYPES[format] }, database };
}

/** `GET|POST /v1/logs/histogram`: number of rows in each interval, for each value of a column. */
export async function logHistogram(request: LogsRequest, deps: LogsDeps): Promise<QueryReply> {
  const { form, database, call } = request;
  const nowNs = deps.clock.nowNs();
  const range = logsRange(form, nowNs);
  // Without an end, lines of the near future are counted too.
  const toNs = form.value('end') === '' ? nowNs + 60_000_000_000n : range.toNs;
  const span = toNs - range.fromNs;
  const text = form.value('interval');
  const widthNs = text === '' ? (span / BUCKETS_DEFAULT / NS_PER_MS + 1n) * NS_PER_MS : parseLokiDuration(text);
  if (widthNs <= 0n) throw invalid('parameter "interval" must be longer than 0');
  if (span / widthNs > BUCKETS_MAX) throw invalid(`more than ${BUCKETS_MAX} intervals: use a longer one`);
  const by = form.value('by');
  const counts = new Map<string, Map<bigint, number>>();
  for (const target of await logsTables(request, deps)) {
    if (by !== '' && !target.table.columns.some(({ name }) => name === by)) {
      throw new AlmanacError('column_not_found', `table "${target.table.name}" has no column "${by.slice(0, 100)}"`);
    }
    const time = `epoch_ns(${quoteName(target.timeColumn)})`;
    const group = by === '' ? "''" : `coalesce(CAST(${quoteName(by)} AS VARCHAR), '')`;
    const bucket = `(${time} - ${range.fromNs}) // ${widthNs}`;
    const where = logsWhere(target, { ...range, toNs });
    const sql = `SELECT ${bucket}, ${group}, count(*) FROM ${quoteName(target.table.name)} WHERE ${where} GROUP BY 1, 2 ORDER BY 1, 2`;
    for (const [index, value, count] of await allSqlRows(deps.querier, { sql, database }, call)) {
      const startNs = range.fromNs + BigInt(index as number) * widthNs;
      if (!counts.has(value as string) && counts.size === GROUPS_MAX) {
        throw invalid(`"${by}" has more than ${GROUPS_MAX} values`);
      }
      const known = counts.get(value as string) ?? new Map<bigint, number>();
      counts.set(value as string, known.set(startNs, (known.get(startNs) ?? 0) + Number(count)));
    }
  }
  const buckets = [...counts].flatMap(([value, ofValue]) =>
    [...ofValue].map(([startNs, count]) => ({ time: isoTimeText(startNs), ...(by !== '' && { [by]: value }), count })),
  );
  buckets.sort((a, b) => (a.time < b.time ? -1 : Number(a.time > b.time)));
  const body = `{"interval_ms":${Number(widthNs) / 1e6},"buckets":${stringifyJson(buckets)}}`;
  return { text: body, headers: { 'content-type': TYPES.json }, database };
}

function invalid(message: string): AlmanacError {
  return new AlmanacError('invalid_arguments', message);
}
