import type { TableBuilder } from '#shared/rowbatch/builder';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import type { NewColumn } from '#shared/write/writer-types';

/** Tag of spans; the name of the resource attribute as a column. */
export const SERVICE_COLUMN = 'service_name';

/** Name and type of the fields that every table of spans has. */
const FIELDS = {
  timestampEnd: ['timestamp_end', 'TimestampNanosecond'],
  durationNano: ['duration_nano', 'UInt64'],
  parentSpanId: ['parent_span_id', 'String'],
  traceId: ['trace_id', 'String'],
  spanId: ['span_id', 'String'],
  spanKind: ['span_kind', 'String'],
  spanName: ['span_name', 'String'],
  statusCode: ['span_status_code', 'String'],
  statusMessage: ['span_status_message', 'String'],
  traceState: ['trace_state', 'String'],
  scopeName: ['scope_name', 'String'],
  scopeVersion: ['scope_version', 'String'],
  events: ['span_events', 'Json'],
  links: ['span_links', 'Json'],
} as const;

/** The columns that every table of spans has, besides its time index. */
export const SPAN_TABLE_COLUMNS: readonly NewColumn[] = [
  { name: SERVICE_COLUMN, type: 'String', kind: 'tag' },
  ...Object.values(FIELDS).map(([name, type]): NewColumn => ({ name, type, kind: 'field' })),
];

/** The fields of a table of spans in one request. */
export type SpanFields = Readonly<Record<keyof typeof FIELDS, FieldBuilder>>;

/** Returns the fields of spans in `builder`. */
export function spanFields(builder: TableBuilder): SpanFields {
  const fields = Object.entries(FIELDS).map(([key, [name, type]]) => [key, builder.field(name, type)]);
  return Object.fromEntries(fields) as SpanFields;
}
