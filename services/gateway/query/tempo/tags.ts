import { stringifyJson, type JsonObject } from '../../protocols/common/json.js';
import { spanTimeConditions } from '../jaeger/find-traces.js';
import { spanColumns } from '../jaeger/span-columns.js';
import type { QueryReply } from '../query-route.js';
import { SERVICE_NAME, spanValues, traceqlSql, type SpanValue } from './conditions.js';
import { numberParameter, spansTable, tempoRange, tempoRows, type TempoDeps, type TempoRequest } from './request.js';
import { scopeOf, shownText } from './search.js';
import { parseTraceql, parseTraceqlField, type TraceqlField } from './traceql.js';

const LIMIT_MAX = 5_000;
const DAY_US = 86_400_000_000;
const INTRINSIC_TAGS = [
  'duration',
  'kind',
  'name',
  'rootName',
  'rootServiceName',
  'status',
  'statusMessage',
  'traceDuration',
];

/** `GET /api/v2/search/tags`: names of attributes by their owners. */
export async function searchTags(request: TempoRequest, deps: TempoDeps): Promise<QueryReply> {
  const wanted = request.context.query.get('scope') ?? '';
  const scopes = (await tagScopes(request, deps)).filter(({ name }) => wanted === '' || wanted === name);
  return { json: { scopes, metrics: {} } };
}

/** `GET /api/search/tags`: names of attributes. */
export async function searchTagNames(request: TempoRequest, deps: TempoDeps): Promise<QueryReply> {
  const scopes = await tagScopes(request, deps);
  const names = new Set(scopes.filter(({ name }) => name !== 'intrinsic').flatMap(({ tags }) => tags));
  return { json: { tagNames: [...names].sort(), metrics: {} } };
}

interface TagScope {
  readonly name: string;
  readonly tags: readonly string[];
}

async function tagScopes(request: TempoRequest, deps: TempoDeps): Promise<TagScope[]> {
  const limit = numberParameter(request.context, 'limit', LIMIT_MAX) ?? LIMIT_MAX;
  const table = await spansTable(request, deps);
  if (table === undefined) return [];
  const { attributes, hasServices } = spanColumns(table);
  const keys = (owner: string): string[] =>
    attributes.filter((column) => column.owner === owner).flatMap(({ key }) => (key === undefined ? [] : [key]));
  const resource = [...(hasServices ? [SERVICE_NAME] : []), ...keys('resource')];
  return [
    { name: 'resource', tags: [...new Set(resource)].sort().slice(0, limit) },
    { name: 'span', tags: keys('span').sort().slice(0, limit) },
    { name: 'intrinsic', tags: INTRINSIC_TAGS },
  ];
}

/** `GET /api/v2/search/tag/{tag}/values`: values of a field in the chosen time, by default the last day. */
export async function searchTagValues(request: TempoRequest, deps: TempoDeps, tag: string): Promise<QueryReply> {
  return { json: { tagValues: await tagValues(request, deps, parseTraceqlField(tag)), metrics: {} } };
}

/** `GET /api/search/tag/{tag}/values`: the same as texts, of an attribute without a scope. */
export async function searchTagTexts(request: TempoRequest, deps: TempoDeps, tag: string): Promise<QueryReply> {
  const field: TraceqlField = INTRINSIC_TAGS.includes(tag)
    ? parseTraceqlField(tag)
    : { kind: 'attribute', scope: 'any', key: tag };
  const values = await tagValues(request, deps, field);
  return { json: { tagValues: values.map(({ value }) => value), metrics: {} } };
}

async function tagValues(request: TempoRequest, deps: TempoDeps, field: TraceqlField): Promise<JsonObject[]> {
  const { context } = request;
  const limit = numberParameter(context, 'limit', LIMIT_MAX) ?? LIMIT_MAX;
  const condition = parseTraceql(context.query.get('q') ?? '');
  const { startUs, endUs } = tempoRange(request);
  const nowUs = deps.nowMs() * 1_000;
  const range = { startUs: startUs ?? Math.floor((endUs ?? nowUs) - DAY_US), endUs };
  const table = await spansTable(request, deps);
  if (table === undefined || isComputed(field)) return [];
  const scope = scopeOf(table, range);
  const where = [traceqlSql(condition, scope), ...spanTimeConditions(range, 0)].join(' AND ');
  const found: JsonObject[] = [];
  for (const { sql, type } of spanValues(fieldOfRoot(field), scope)) {
    const rows = await tempoRows(
      `SELECT DISTINCT ${sql} FROM ${scope.table} WHERE ${where} AND ${sql} IS NOT NULL ORDER BY 1 LIMIT ${limit}`,
      request,
      deps,
    );
    for (const [value] of rows) {
      const text = typeof value === 'string' ? shownText(type, value) : stringifyJson(value);
      found.push({ type: TYPE_WORDS[type](value), value: text });
    }
  }
  return found.slice(0, limit);
}

/** Whether a field has too many values to list them. */
function isComputed(field: TraceqlField): boolean {
  return field.kind === 'intrinsic' && ['duration', 'traceDuration', 'spanId', 'traceId'].includes(field.name);
}

/** Names of roots are among those of all spans. */
function fieldOfRoot(field: TraceqlField): TraceqlField {
  if (field.kind === 'intrinsic' && field.name === 'rootName') return { kind: 'intrinsic', name: 'name' };
  return field.kind === 'intrinsic' && field.name === 'rootServiceName'
    ? { kind: 'attribute', scope: 'resource', key: SERVICE_NAME }
    : field;
}

const TYPE_WORDS: Readonly<Record<SpanValue['type'], (value: unknown) => string>> = {
  text: () => 'string',
  boolean: () => 'bool',
  number: (value) => (typeof value === 'bigint' || Number.isInteger(value) ? 'int' : 'float'),
  status: () => 'keyword',
  kind: () => 'keyword',
};
