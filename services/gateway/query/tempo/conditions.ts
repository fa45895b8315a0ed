import { quoteName, quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { AttributeColumn, SpanSelection } from '../jaeger/span-columns.js';
import type { TraceqlCondition, TraceqlField, TraceqlIntrinsic, TraceqlOperator, TraceqlValue } from './traceql.js';

/** What conditions are made SQL for. */
export interface TraceqlScopeSql extends Pick<SpanSelection, 'attributes' | 'hasServices'> {
  /** Quoted. */
  readonly table: string;
  /** Condition on the time that all spans of the found traces have. */
  readonly traceTimes: string;
}

/** A value of spans as SQL. */
export interface SpanValue {
  readonly sql: string;
  readonly type: 'text' | 'number' | 'boolean' | 'status' | 'kind';
}

/** Name of the resource attribute that is a column of its own. */
export const SERVICE_NAME = 'service.name';

type IntrinsicOfSpan = Exclude<TraceqlIntrinsic, 'traceDuration' | 'rootName' | 'rootServiceName'>;

const SPAN_INTRINSICS: Readonly<Record<IntrinsicOfSpan, SpanValue>> = {
  name: { sql: 'span_name', type: 'text' },
  duration: { sql: 'duration_nano', type: 'number' },
  // Without a status the column is empty.
  status: { sql: `coalesce(nullif(span_status_code, ''), 'STATUS_CODE_UNSET')`, type: 'status' },
  statusMessage: { sql: 'span_status_message', type: 'text' },
  kind: { sql: 'span_kind', type: 'kind' },
  spanId: { sql: 'span_id', type: 'text' },
  traceId: { sql: 'trace_id', type: 'text' },
};
const WORDS: Readonly<Record<'status' | 'kind', readonly string[]>> = {
  status: ['unset', 'ok', 'error'],
  kind: ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'],
};
const PREFIXES = { status: 'STATUS_CODE_', kind: 'SPAN_KIND_' } as const;
const TRACE_DURATION = 'max(epoch_ns("timestamp") + coalesce(duration_nano, 0)) - min(epoch_ns("timestamp"))';
const SQL_OPERATORS: Readonly<Record<Exclude<TraceqlOperator, '=~' | '!~'>, string>> = {
  ...{ '=': '=', '!=': '<>', '>': '>', '>=': '>=', '<': '<', '<=': '<=' },
};

/** Returns a condition as SQL on a row of a span. @throws `invalid_arguments` for a value that the field cannot have. */
export function traceqlSql(condition: TraceqlCondition, scope: TraceqlScopeSql): string {
  switch (condition.kind) {
    case 'all':
    case 'any': {
      const word = condition.kind === 'all' ? ' AND ' : ' OR ';
      return `(${condition.parts.map((part) => traceqlSql(part, scope)).join(word)})`;
    }
    case 'constant':
      return condition.value ? 'TRUE' : 'FALSE';
    case 'compare':
      return compareSql(condition, scope);
  }
}

type Comparison = Extract<TraceqlCondition, { readonly kind: 'compare' }>;

function compareSql({ field, operator, value }: Comparison, scope: TraceqlScopeSql): string {
  if (field.kind === 'intrinsic') {
    const ofTrace = traceTest(field.name, operator, value, scope);
    if (ofTrace !== undefined) {
      return `trace_id IN (SELECT trace_id FROM ${scope.table} WHERE ${scope.traceTimes}${ofTrace})`;
    }
  }
  const values = spanValues(field, scope);
  if (value.kind === 'nil' && operator === '=') {
    return values.length === 0 ? 'TRUE' : `(${values.map(({ sql }) => `${sql} IS NULL`).join(' AND ')})`;
  }
  if (field.kind === 'intrinsic' || field.scope !== 'any') return anyTestSql(values, operator, value);
  // An attribute of the span hides one of the resource with the same key.
  const ofSpan = spanValues({ ...field, scope: 'span' }, scope);
  const ofResource = anyTestSql(spanValues({ ...field, scope: 'resource' }, scope), operator, value);
  const isMissing = ofSpan.map(({ sql }) => `${sql} IS NULL`).join(' AND ') || 'TRUE';
  return `(${anyTestSql(ofSpan, operator, value)} OR (${isMissing} AND ${ofResource}))`;
}

/** Returns whether one of the values satisfies a comparison. */
function anyTestSql(values: readonly SpanValue[], operator: TraceqlOperator, value: TraceqlValue): string {
  const tests = values.map((it) => testSql(it, operator, value)).filter((test) => test !== 'FALSE');
  return tests.length === 0 ? 'FALSE' : `(${tests.join(' OR ')})`;
}

/** Returns what follows the times of all spans in a search for traces; undefined for a property of a span. */
function traceTest(
  name: TraceqlIntrinsic,
  operator: TraceqlOperator,
  value: TraceqlValue,
  scope: TraceqlScopeSql,
): string | undefined {
  if (name === 'traceDuration') {
    return ` GROUP BY trace_id HAVING ${testSql({ sql: TRACE_DURATION, type: 'number' }, operator, value)}`;
  }
  if (name !== 'rootName' && name !== 'rootServiceName') return undefined;
  const sql = name === 'rootName' ? 'span_name' : serviceSql(scope);
  return ` AND parent_span_id IS NULL AND ${testSql({ sql, type: 'text' }, operator, value)}`;
}

/** Returns the values of spans that a field names; none if no span has such an attribute. */
export function spanValues(
  field: TraceqlField,
  selection: Pick<SpanSelection, 'attributes' | 'hasServices'>,
): SpanValue[] {
  if (field.kind === 'intrinsic') return [SPAN_INTRINSICS[field.name as IntrinsicOfSpan]];
  const { scope, key } = field;
  const service: SpanValue[] =
    key === SERVICE_NAME && scope !== 'span' ? [{ sql: serviceSql(selection), type: 'text' }] : [];
  const columns = selection.attributes
    .filter(({ owner }) => (scope === 'any' ? owner !== 'scope' : owner === scope))
    .filter((column) => column.key === undefined || column.key === key);
  return [...service, ...columns.flatMap((column) => columnValue(column, key))];
}

function serviceSql({ hasServices }: Pick<SpanSelection, 'hasServices'>): string {
  return hasServices ? 'service_name' : 'CAST(NULL AS VARCHAR)';
}

function columnValue({ name, key, type }: AttributeColumn, wanted: string): SpanValue[] {
  const sql = quoteName(name);
  if (key === undefined) {
    const path = quoteText(`$."${wanted.replaceAll('"', '\\"')}"`);
    return [{ sql: `json_extract_string(${sql}, ${path})`, type: 'text' }];
  }
  if (type === 'String') return [{ sql, type: 'text' }];
  if (type === 'Boolean') return [{ sql, type: 'boolean' }];
  return /^(?:U?Int|Float)/.test(type) ? [{ sql, type: 'number' }] : [];
}

/** Returns a comparison as SQL; `FALSE` if values of this type are never equal to the constant. */
function testSql({ sql, type }: SpanValue, operator: TraceqlOperator, value: TraceqlValue): string {
  if (value.kind === 'nil') {
    if (operator === '!=') return `${sql} IS NOT NULL`;
    if (operator === '=') return `${sql} IS NULL`;
    throw invalid(`operator ${operator} cannot be used with nil`);
  }
  if (operator === '=~' || operator === '!~') {
    if (type !== 'text' || value.kind !== 'text') return 'FALSE';
    return `${operator === '!~' ? 'NOT ' : ''}regexp_full_match(${sql}, ${quoteText(value.value)}, 's')`;
  }
  const constant = constantOf(type, value);
  return constant === undefined ? 'FALSE' : `${sql} ${SQL_OPERATORS[operator]} ${constant}`;
}

function constantOf(
  type: SpanValue['type'],
  value: Exclude<TraceqlValue, { readonly kind: 'nil' }>,
): string | undefined {
  if (type === 'status' || type === 'kind') {
    const word = value.kind === 'word' || value.kind === 'text' ? value.value.toLowerCase() : '';
    if (!WORDS[type].includes(word)) throw invalid(`${type} must be one of ${WORDS[type].join(', ')}`);
    return quoteText(PREFIXES[type] + word.toUpperCase());
  }
  if (value.kind === 'word') throw invalid(`unknown word "${value.value.slice(0, 100)}": put texts in quotes`);
  const isNumber = value.kind === 'number' || value.kind === 'duration';
  if (type === 'number') return isNumber ? String(value.value) : undefined;
  if (type === 'boolean') return value.kind === 'boolean' ? String(value.value) : undefined;
  return value.kind === 'text' ? quoteText(value.value) : undefined;
}

/** Returns the fields that a condition compares, each once. */
export function fieldsIn(condition: TraceqlCondition): TraceqlField[] {
  if (condition.kind === 'constant') return [];
  if (condition.kind === 'compare') return [condition.field];
  const found = new Map(condition.parts.flatMap(fieldsIn).map((field) => [JSON.stringify(field), field]));
  return [...found.values()];
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `invalid TraceQL query: ${text}`);
}
