import { logTables, type LogTable } from '#services/gateway/dashboard/app/screens/logs/search/log-table';

const row = (table: string, column: string, type: string, role = 'FIELD') => {
  return { table_name: table, column_name: column, greptime_data_type: type, semantic_type: role };
};

/** Columns as `information_schema.columns` lists them: of OTLP, Loki, a table of applications, spans and numbers. */
export const COLUMN_ROWS = [
  row('cpu', 'ts', 'TimestampMillisecond', 'TIMESTAMP'),
  row('cpu', 'host', 'String', 'TAG'),
  row('cpu', 'usage', 'Float64'),
  row('opentelemetry_logs', 'timestamp', 'TimestampNanosecond', 'TIMESTAMP'),
  row('opentelemetry_logs', 'scope_name', 'String', 'TAG'),
  row('opentelemetry_logs', 'severity_text', 'String'),
  row('opentelemetry_logs', 'severity_number', 'Int32'),
  row('opentelemetry_logs', 'body', 'String'),
  row('opentelemetry_logs', 'log_attributes', 'Json'),
  row('loki_logs', 'almanac_timestamp', 'TimestampNanosecond', 'TIMESTAMP'),
  row('loki_logs', 'app', 'String', 'TAG'),
  row('loki_logs', 'line', 'String'),
  row('spans', 'timestamp', 'TimestampNanosecond', 'TIMESTAMP'),
  row('spans', 'parent_span_id', 'String'),
  row('app_log', 'ts', 'TimestampMillisecond', 'TIMESTAMP'),
  row('app_log', 'level', 'String', 'TAG'),
  row('app_log', 'status', 'Int64'),
  row('app_log', 'message', 'String'),
];

/** Returns one of the tables. */
export function tableOf(name: string): LogTable {
  const table = logTables(COLUMN_ROWS).find((it) => it.name === name);
  if (table === undefined) throw new Error(`no table ${name}`);
  return table;
}
