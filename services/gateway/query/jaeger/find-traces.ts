import { quoteName, quoteText } from '#shared/duckdb/quote';

import type { TagCondition, TraceSearch } from './parameters.js';
import type { AttributeColumn } from './span-columns.js';

/** Spans of one trace that begin further apart are not found together: without this, each search would read all spans. */
export const TRACE_US_MAX = 24 * 3_600 * 1_000_000;

/** Tags that are columns of their own, as SQL. */
const COLUMN_TAGS: Readonly<Record<string, string>> = {
  'span.kind': `lower(replace(span_kind, 'SPAN_KIND_', ''))`,
  'otel.status_code': `replace(span_status_code, 'STATUS_CODE_', '')`,
  'otel.status_description': 'span_status_message',
  'otel.scope.name': 'scope_name',
  'otel.scope.version': 'scope_version',
  'w3c.tracestate': 'trace_state',
};
const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/;

/** Returns SQL for the traces that a search finds, the latest first: ID, first and last time in microseconds. */
export function searchSql(table: string, search: TraceSearch, columns: readonly AttributeColumn[]): string {
  const { service, operation, tags, durationMinUs, durationMaxUs, limit } = search;
  const conditions = [
    ...(service === '' ? [] : [`service_name = ${quoteText(service)}`]),
    ...(operation === '' ? [] : [`span_name = ${quoteText(operation)}`]),
    ...spanTimeConditions(search, 0),
    ...(durationMinUs === undefined ? [] : [`duration_nano >= ${Math.round(durationMinUs * 1_000)}`]),
    ...(durationMaxUs === undefined ? [] : [`duration_nano <= ${Math.round(durationMaxUs * 1_000)}`]),
    ...tags.map((tag) => tagSql(tag, columns)),
  ];
  return (
    'SELECT trace_id, epoch_us(min("timestamp")), epoch_us(max("timestamp")) ' +
    `FROM ${quoteName(table)} WHERE ${conditions.join(' AND ')} ` +
    `GROUP BY trace_id ORDER BY max("timestamp") DESC, trace_id LIMIT ${limit}`
  );
}

/** Returns SQL for all spans of traces, each trace in one run of rows, in the order of the IDs. */
export function spansSql(
  table: string,
  select: string,
  { ids, ...range }: Pick<TraceSearch, 'ids' | 'startUs' | 'endUs'>,
): string {
  const texts = ids.map(quoteText).join(', ');
  const conditions = [`trace_id IN (${texts})`, ...spanTimeConditions(range, TRACE_US_MAX)];
  const order = ids.length === 1 ? '' : `list_position([${texts}], trace_id), `;
  return `SELECT ${select} FROM ${quoteName(table)} WHERE ${conditions.join(' AND ')} ORDER BY ${order}"timestamp", span_id`;
}

/** Returns SQL for the calls between services: caller, callee, number of spans. */
export function dependenciesSql(table: string, range: Pick<TraceSearch, 'startUs' | 'endUs'>): string {
  const spans = (columns: string, marginUs: number): string =>
    `(SELECT trace_id, ${columns} FROM ${quoteName(table)} WHERE ${spanTimeConditions(range, marginUs).join(' AND ')})`;
  return (
    'SELECT caller.service_name, callee.service_name, count(*) ' +
    `FROM ${spans('parent_span_id, service_name', 0)} callee ` +
    `JOIN ${spans('span_id, service_name', TRACE_US_MAX)} caller ` +
    'ON caller.trace_id = callee.trace_id AND caller.span_id = callee.parent_span_id ' +
    'WHERE caller.service_name <> callee.service_name GROUP BY 1, 2 ORDER BY 1, 2'
  );
}

/** Returns conditions on the start of spans, without times none. @param marginUs by which the range is longer. */
export function spanTimeConditions(
  { startUs, endUs }: Pick<TraceSearch, 'startUs' | 'endUs'>,
  marginUs: number,
): string[] {
  return [
    ...(startUs === undefined ? [] : [`"timestamp" >= ${timeSql(startUs - marginUs)}`]),
    ...(endUs === undefined ? [] : [`"timestamp" <= ${timeSql(endUs + marginUs)}`]),
  ];
}

function timeSql(us: number): string {
  const time = new Date(Math.floor(us / 1_000)).toISOString().slice(0, -1);
  return `'${time}${String(us - Math.floor(us / 1_000) * 1_000).padStart(3, '0')}Z'`;
}

/** Returns the condition that a span, its scope or its resource has the attribute with this value. */
function tagSql([key, value]: TagCondition, columns: readonly AttributeColumn[]): string {
  if (key === 'error' && (value === 'true' || value === 'false')) {
    return `span_status_code ${value === 'true' ? '=' : '<>'} 'STATUS_CODE_ERROR'`;
  }
  if (Object.hasOwn(COLUMN_TAGS, key)) return `${COLUMN_TAGS[key]} = ${quoteText(value)}`;
  const tests = columns
    .filter((column) => column.key === undefined || column.key === key)
    .flatMap((column) => valueSql(column, key, value));
  return tests.length === 0 ? 'FALSE' : `(${tests.join(' OR ')})`;
}

function valueSql({ name, key, type }: AttributeColumn, wanted: string, value: string): string[] {
  const column = quoteName(name);
  if (key === undefined) {
    return [
      `json_extract_string(${column}, ${quoteText(`$."${wanted.replaceAll('"', '\\"')}"`)}) = ${quoteText(value)}`,
    ];
  }
  switch (type) {
    case 'String':
      return [`${column} = ${quoteText(value)}`];
    case 'Boolean':
      return value === 'true' || value === 'false' ? [`${column} = ${value}`] : [];
    case 'Int64':
    case 'UInt64':
    case 'Float64':
      return NUMBER.test(value) ? [`${column} = ${value}`] : [];
    default:
      return [];
  }
}
