import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { LogSource } from '../../logql/source/log-rows.js';
import { inRangeSql, streamSql } from '../../logql/source/push-down.js';
import type { LogMatcher } from '../../logql/syntax/ast.js';
import { parseLabelMatchers, parseLogql } from '../../logql/syntax/parse.js';
import type { PromForm } from '../prom-form.js';
import type { QueryReply } from '../query-route.js';
import { allSqlRows } from '../sql-rows.js';
import { lokiRange, type LokiRange } from './parameters.js';
import { lokiData, type LokiRequest } from './request.js';

/** Streams that a list of labels is made of, and values of one label. */
const STREAMS_MAX = 20_000;
const SELECTORS_MAX = 100;

/** `labels`: names of labels that streams of the range have. */
export async function labelNames(request: LokiRequest): Promise<QueryReply> {
  const names = new Set<string>();
  for (const stream of await streamsOf(request, [selectorOf(request.form)])) {
    for (const name of Object.keys(stream)) names.add(name);
  }
  return lokiData([...names].sort());
}

/** `label/{name}/values`: values of a label in the range. */
export async function lokiLabelValues(request: LokiRequest): Promise<QueryReply> {
  const name = decodeURIComponent(request.context.path.replace(/\/$/, '').split('/').at(-2) ?? '');
  const range = lokiRange(request.form, request.nowNs);
  const matchers = selectorOf(request.form);
  const source = await request.source();
  const column = source?.table.tags.find(({ label }) => label === name)?.column;
  if (source === undefined || column === undefined) return lokiData([]);
  const quoted = quoteName(column);
  const where = `${whereSql(source, matchers, range)} AND ${quoted} <> ''`;
  const sql = `SELECT DISTINCT ${quoted} FROM ${quoteName(source.table.name)} WHERE ${where} ORDER BY 1 LIMIT ${STREAMS_MAX}`;
  const rows = await allSqlRows(source.querier, { sql, database: source.database }, source.call);
  return lokiData(rows.map(([value]) => value));
}

/** `series`: the labels of each stream that any selector matches. */
export async function seriesList(request: LokiRequest): Promise<QueryReply> {
  const { form } = request;
  const texts = [...form.values('match[]'), ...form.values('match')];
  if (texts.length > SELECTORS_MAX) throw new AlmanacError('invalid_arguments', `more than ${SELECTORS_MAX} selectors`);
  const selectors = texts.length === 0 ? [[]] : texts.map(parseLabelMatchers);
  return lokiData(await streamsOf(request, selectors));
}

/** `detected_labels`: labels and their number of values. */
export async function detectedLabels(request: LokiRequest): Promise<QueryReply> {
  const values = new Map<string, Set<string>>();
  for (const stream of await streamsOf(request, [selectorOf(request.form)])) {
    for (const [name, value] of Object.entries(stream)) {
      const known = values.get(name);
      if (known === undefined) values.set(name, new Set([value]));
      else known.add(value);
    }
  }
  const labels = [...values].sort(([a], [b]) => (a < b ? -1 : 1));
  return { json: { detectedLabels: labels.map(([label, all]) => ({ label, cardinality: all.size })) } };
}

/** `index/stats`: streams, lines and bytes of a selector. */
export async function indexStats(request: LokiRequest): Promise<QueryReply> {
  const range = lokiRange(request.form, request.nowNs);
  const matchers = selectorOf(request.form);
  const source = await request.source();
  if (source === undefined) return { json: { streams: 0, chunks: 0, bytes: 0, entries: 0 } };
  const { table } = source;
  const tags = table.tags.map(({ column }) => quoteName(column));
  const select = [`count(*) AS entries`, `sum(strlen(${table.line})) AS bytes`, ...tags].join(', ');
  const groups = tags.length === 0 ? '' : ` GROUP BY ${tags.join(', ')}`;
  const inner = `SELECT ${select} FROM ${quoteName(table.name)} WHERE ${whereSql(source, matchers, range)}${groups}`;
  const sql = `SELECT count(*), sum(bytes), sum(entries) FROM (${inner}) streams WHERE entries > 0`;
  const [row] = await allSqlRows(source.querier, { sql, database: source.database }, source.call);
  const [streams, bytes, entries] = row.map(Number);
  return { json: { streams, chunks: streams, bytes, entries } };
}

/** Returns the matchers of `query`, whose pipeline does not matter; none if it is absent. @throws `invalid_syntax`. */
export function selectorOf(form: PromForm): readonly LogMatcher[] {
  const text = form.value('query');
  if (text.trim() === '') return [];
  const query = parseLogql(text);
  if (query.kind === 'log') return query.matchers;
  throw new AlmanacError('invalid_syntax', 'only label matchers are supported');
}

/** Returns the condition of a selector and a range, whose ends are included, as in Loki's index. */
function whereSql({ table }: LogSource, matchers: readonly LogMatcher[], { startNs, endNs }: LokiRange): string {
  return [inRangeSql(table, startNs, endNs + 1n), ...matchers.map((matcher) => streamSql(matcher, table))].join(
    ' AND ',
  );
}

async function streamsOf(
  request: LokiRequest,
  selectors: readonly (readonly LogMatcher[])[],
): Promise<Record<string, string>[]> {
  const { startNs, endNs } = lokiRange(request.form, request.nowNs);
  const source = await request.source();
  if (source === undefined || source.table.tags.length === 0) return [];
  const { table, querier, database, call } = source;
  const any = selectors.map((matchers) => matchers.map((it) => streamSql(it, table)).join(' AND ') || 'TRUE');
  const where = `${inRangeSql(table, startNs, endNs + 1n)} AND (${any.map((it) => `(${it})`).join(' OR ')})`;
  const columns = table.tags.map(({ column }) => quoteName(column)).join(', ');
  const sql = `SELECT DISTINCT ${columns} FROM ${quoteName(table.name)} WHERE ${where} LIMIT ${STREAMS_MAX + 1}`;
  const rows = await allSqlRows(querier, { sql, database }, call);
  if (rows.length > STREAMS_MAX) {
    throw new AlmanacError(
      'invalid_arguments',
      `more than ${STREAMS_MAX} streams match: use a selector or a shorter range`,
    );
  }
  return rows.map((row) => {
    const pairs = table.tags.map(({ label }, i) => [label, row[i]] as const);
    return Object.fromEntries(
      pairs.filter((pair): pair is readonly [string, string] => typeof pair[1] === 'string' && pair[1] !== ''),
    );
  });
}
