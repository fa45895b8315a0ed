import type { BatchSet, TableBuilder } from '#shared/rowbatch/builder';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';

/** Names of the columns of tables of logs. */
export const LOG_COLUMNS = {
  time: 'timestamp',
  traceId: 'trace_id',
  spanId: 'span_id',
  severityText: 'severity_text',
  severityNumber: 'severity_number',
  body: 'body',
  logAttributes: 'log_attributes',
  traceFlags: 'trace_flags',
  scopeName: 'scope_name',
  scopeVersion: 'scope_version',
  scopeAttributes: 'scope_attributes',
  scopeSchemaUrl: 'scope_schema_url',
  resourceAttributes: 'resource_attributes',
  resourceSchemaUrl: 'resource_schema_url',
  eventName: 'event_name',
} as const;

/** The fields of a table of logs in one request. */
export class LogColumns {
  readonly table: TableBuilder;
  readonly traceId: FieldBuilder;
  readonly spanId: FieldBuilder;
  readonly severityText: FieldBuilder;
  readonly severityNumber: FieldBuilder;
  readonly body: FieldBuilder;
  readonly logAttributes: FieldBuilder;
  readonly traceFlags: FieldBuilder;
  readonly scopeVersion: FieldBuilder;
  readonly scopeAttributes: FieldBuilder;
  readonly scopeSchemaUrl: FieldBuilder;
  readonly resourceAttributes: FieldBuilder;
  readonly resourceSchemaUrl: FieldBuilder;
  readonly eventName: FieldBuilder;

  constructor(batches: BatchSet, table: string) {
    const builder = batches.table(table);
    this.table = builder;
    this.traceId = builder.field(LOG_COLUMNS.traceId, 'String');
    this.spanId = builder.field(LOG_COLUMNS.spanId, 'String');
    this.severityText = builder.field(LOG_COLUMNS.severityText, 'String');
    this.severityNumber = builder.field(LOG_COLUMNS.severityNumber, 'Int32');
    this.body = builder.field(LOG_COLUMNS.body, 'String');
    this.logAttributes = builder.field(LOG_COLUMNS.logAttributes, 'Json');
    this.traceFlags = builder.field(LOG_COLUMNS.traceFlags, 'UInt32');
    this.scopeVersion = builder.field(LOG_COLUMNS.scopeVersion, 'String');
    this.scopeAttributes = builder.field(LOG_COLUMNS.scopeAttributes, 'Json');
    this.scopeSchemaUrl = builder.field(LOG_COLUMNS.scopeSchemaUrl, 'String');
    this.resourceAttributes = builder.field(LOG_COLUMNS.resourceAttributes, 'Json');
    this.resourceSchemaUrl = builder.field(LOG_COLUMNS.resourceSchemaUrl, 'String');
    this.eventName = builder.field(LOG_COLUMNS.eventName, 'String');
  }
}
