import type { Table } from '#shared/contracts/gen/common';
import { quoteName, quoteText } from '#shared/duckdb/quote';

import { stringifyJson, type JsonObject, type JsonValue } from '../../protocols/common/json.js';
import { spanTimeConditions, TRACE_US_MAX } from '../jaeger/find-traces.js';
import { spanColumns } from '../jaeger/span-columns.js';
import type { QueryReply } from '../query-route.js';
import type { SqlRow } from '../sql-rows.js';
import { fieldsIn, spanValues, traceqlSql, type SpanValue, type TraceqlScopeSql } from './conditions.js';
import {
  numberParameter,
  spansTable,
  tempoRange,
  tempoRows,
  type TempoDeps,
  type TempoRange,
  type TempoRequest,
} from './request.js';
import { parseTraceql, type TraceqlField } from './traceql.js';

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 1_500;
const SPANS_DEFAULT = 3;
const SPANS_MAX = 100;
/** Spans of all traces of a result. */
const ALL_SPANS_MAX = 20_000;
/** Attributes of spans that a result shows. */
const SHOWN_MAX = 20;
/** What Tempo shows for a trace whose first span it does not have. */
const NO_ROOT = '<root span not yet received>';

/** A value that the spans of a result have besides their own members. */
interface ShownValue extends SpanValue {
  readonly key: string;
}

/** `GET /api/search`: traces with a span that a TraceQL query finds, the latest first. */
export async function searchTraces(request: TempoRequest, deps: TempoDeps): Promise<QueryReply> {
  const { context } = request;
  const condition = parseTraceql(context.query.get('q') ?? '');
  const range = tempoRange(request);
  const limit = numberParameter(context, 'limit', LIMIT_MAX) ?? LIMIT_DEFAULT;
  const spans = numberParameter(context, 'spss', SPANS_MAX) ?? SPANS_DEFAULT;
  const table = await spansTable(request, deps);
  if (table === undefined || limit === 0) return { json: { traces: [], metrics: {} } };
  const scope = scopeOf(table, range);
  const where = [traceqlSql(condition, scope), ...spanTimeConditions(range, 0)].join(' AND ');
  const found = await tempoRows(
    `SELECT trace_id, count(*), epoch_us(min("timestamp")), epoch_us(max("timestamp")) FROM ${scope.table} WHERE ${where} ` +
      `GROUP BY trace_id ORDER BY max("timestamp") DESC, trace_id LIMIT ${limit}`,
    request,
    deps,
  );
  if (found.length === 0) return { json: { traces: [], metrics: {} } };
  const around = {
    startUs: Math.min(...found.map(([, , first]) => Number(first))),
    endUs: Math.max(...found.map(([, , , last]) => Number(last))),
  };
  const ids = `trace_id IN (${found.map(([id]) => quoteText(id as string)).join(', ')})`;
  const whole = [ids, ...spanTimeConditions(around, TRACE_US_MAX)].join(' AND ');
  const roots = byId(await tempoRows(rootsSql(scope, whole), request, deps));
  const shown = fieldsIn(condition)
    .flatMap((field) => shownValues(field, scope))
    .slice(0, SHOWN_MAX);
  const inTraces = [where, ids, ...spanTimeConditions(around, 0)].join(' AND ');
  const each = Math.min(spans, Math.floor(ALL_SPANS_MAX / found.length));
  const matched = new Map<string, JsonObject[]>(found.map(([id]) => [id as string, []]));
  for (const row of await tempoRows(spansSqlOf(scope, inTraces, each, shown), request, deps)) {
    matched.get(row[0] as string)?.push(spanJson(row, shown));
  }
  const traces = found.map(([id, count]) => {
    return traceJson(id as string, roots.get(id as string), {
      spans: matched.get(id as string) ?? [],
      matched: Number(count),
    });
  });
  return { text: stringifyJson({ traces, metrics: {} }), headers: { 'content-type': 'application/json' } };
}

/** Returns what conditions on the spans of a table are made SQL for. */
export function scopeOf(table: Table, range: TempoRange): TraceqlScopeSql {
  const { attributes, hasServices } = spanColumns(table, 'ns');
  const traceTimes = spanTimeConditions(range, TRACE_US_MAX).join(' AND ') || 'TRUE';
  return { table: quoteName(table.name), attributes, hasServices, traceTimes };
}

function rootsSql({ table, hasServices }: TraceqlScopeSql, where: string): string {
  const root = (column: string): string => `arg_min(${column}, "timestamp") FILTER (WHERE parent_span_id IS NULL)`;
  const service = hasServices ? root('service_name') : 'NULL';
  return (
    `SELECT trace_id, min(epoch_ns("timestamp")), max(epoch_ns("timestamp") + coalesce(duration_nano, 0)), ${service}, ${root('span_name')} ` +
    `FROM ${table} WHERE ${where} GROUP BY trace_id`
  );
}

function spansSqlOf({ table }: TraceqlScopeSql, where: string, count: number, shown: readonly ShownValue[]): string {
  const values = [
    'trace_id',
    'span_id',
    'span_name',
    'epoch_ns("timestamp")',
    'duration_nano',
    ...shown.map(({ sql }) => sql),
  ];
  return (
    `SELECT ${values.join(', ')} FROM ${table} WHERE ${where} ` +
    `QUALIFY row_number() OVER (PARTITION BY trace_id ORDER BY "timestamp", span_id) <= ${count} ORDER BY "timestamp", span_id`
  );
}

function shownValues(field: TraceqlField, scope: TraceqlScopeSql): ShownValue[] {
  if (field.kind === 'intrinsic') {
    const isShown = field.name === 'status' || field.name === 'kind';
    return isShown ? spanValues(field, scope).map((value) => ({ ...value, key: field.name })) : [];
  }
  return spanValues(field, scope).map((value) => ({ ...value, key: field.key }));
}

function byId(rows: readonly SqlRow[]): Map<string, SqlRow> {
  return new Map(rows.map((row) => [row[0] as string, row]));
}

function traceJson(traceID: string, root: SqlRow | undefined, spanSet: JsonObject): JsonObject {
  const [, start = 0, end = 0, service = null, name = null] = root ?? [];
  const durationNs = BigInt(end as number | bigint) - BigInt(start as number | bigint);
  return {
    traceID,
    rootServiceName: service ?? (name === null ? NO_ROOT : ''),
    rootTraceName: name ?? NO_ROOT,
    startTimeUnixNano: stringifyJson(start),
    durationMs: Number(durationNs / 1_000_000n),
    spanSets: [spanSet],
  };
}

function spanJson([, spanID, name, start, duration, ...values]: SqlRow, shown: readonly ShownValue[]): JsonObject {
  const attributes = shown.flatMap(({ key, type }, i) => {
    const value = values[i];
    return value === null ? [] : [{ key, value: attributeValue(type, value) }];
  });
  return {
    spanID,
    name,
    startTimeUnixNano: stringifyJson(start),
    durationNanos: stringifyJson(duration ?? 0),
    attributes,
  };
}

function attributeValue(type: SpanValue['type'], value: JsonValue): JsonObject {
  if (type === 'boolean') return { boolValue: value };
  if (type === 'number') {
    const isWhole = typeof value === 'bigint' || Number.isInteger(value);
    return isWhole ? { intValue: stringifyJson(value) } : { doubleValue: value };
  }
  return { stringValue: shownText(type, value as string) };
}

/** Returns the text of a value; words of enumerations as TraceQL has them. */
export function shownText(type: SpanValue['type'], value: string): string {
  if (type === 'status') return value.replace('STATUS_CODE_', '').toLowerCase();
  return type === 'kind' ? value.replace('SPAN_KIND_', '').toLowerCase() : value;
}
