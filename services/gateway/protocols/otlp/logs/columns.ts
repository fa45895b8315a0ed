import type { TableBuilder } from '#shared/rowbatch/builder';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import type { NewColumn } from '#shared/write/writer-types';

/** Time index of tables of logs. */
export const LOG_TIME = 'timestamp';
/** Tag of logs. */
export const SCOPE_COLUMN = 'scope_name';

/** Name and type of the fields of tables of logs. */
const FIELDS = {
  traceId: ['trace_id', 'String'],
  spanId: ['span_id', 'String'],
  severityText: ['severity_text', 'String'],
  severityNumber: ['severity_number', 'Int32'],
  body: ['body', 'String'],
  logAttributes: ['log_attributes', 'Json'],
  traceFlags: ['trace_flags', 'UInt32'],
  scopeVersion: ['scope_version', 'String'],
  scopeAttributes: ['scope_attributes', 'Json'],
  scopeSchemaUrl: ['scope_schema_url', 'String'],
  resourceAttributes: ['resource_attributes', 'Json'],
  resourceSchemaUrl: ['resource_schema_url', 'String'],
  eventName: ['event_name', 'String'],
} as const;

/** The columns of every table of logs, besides its time index. */
export const LOG_TABLE_COLUMNS: readonly NewColumn[] = [
  { name: SCOPE_COLUMN, type: 'String', kind: 'tag' },
  ...Object.values(FIELDS).map(([name, type]): NewColumn => ({ name, type, kind: 'field' })),
];

/** The fields of a table of logs in one request. */
export type LogRecordFields = Readonly<Record<keyof typeof FIELDS, FieldBuilder>>;

/** Returns the fields of logs in `builder`. */
export function logRecordFields(builder: TableBuilder): LogRecordFields {
  const fields = Object.entries(FIELDS).map(([key, [name, type]]) => [key, builder.field(name, type)]);
  return Object.fromEntries(fields) as LogRecordFields;
}
