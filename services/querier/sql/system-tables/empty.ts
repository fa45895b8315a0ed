import { systemTable, type SystemTable } from './system-table.js';

/** Columns that several tables of files have. */
const FILE_REGION = 'region_id UInt64, table_id, region_number UInt32, region_group UInt8, region_sequence UInt32';

/** Tables that clients query and of which Almanac has no rows, by name: their columns. */
const EMPTY: Readonly<Record<string, string>> = {
  region_info:
    `${FILE_REGION}, state, role String, writable Boolean, committed_sequence, flushed_sequence?, ` +
    'manifest_version UInt64, compaction_time_window?, region_options, sst_format String, node_id? UInt64',
  procedure_info:
    'procedure_id, procedure_type String, start_time?, end_time? TimestampMillisecond, status, lock_keys? String',
  ssts_manifest:
    `table_dir String, ${FILE_REGION}, file_id String, index_version UInt64, level UInt8, file_path String, ` +
    'file_size UInt64, index_file_path? String, index_file_size?, num_rows, num_row_groups, num_series? UInt64, ' +
    'min_ts?, max_ts? TimestampNanosecond, sequence?, origin_region_id, node_id? UInt64, visible Boolean, ' +
    'primary_key_min?, primary_key_max? Binary',
  ssts_storage: 'file_path String, file_size? UInt64, last_modified_ms? TimestampMillisecond, node_id? UInt64',
  ssts_index_meta:
    `table_dir, index_file_path String, ${FILE_REGION}, file_id String, index_file_size? UInt64, index_type, ` +
    'target_type, target_key, target_json String, blob_size UInt64, meta_json? String, node_id? UInt64',
  check_constraints: 'constraint_catalog, constraint_schema, constraint_name, check_clause String',
  column_privileges:
    'grantee, table_catalog, table_schema, table_name, column_name, privilege_type, is_grantable String',
  column_statistics: 'schema_name, table_name, column_name, histogram String',
  events:
    'event_catalog, event_schema, event_name, definer, time_zone, event_body, event_definition, event_type String, ' +
    'execute_at TimestampSecond, interval_value Int64, interval_field, sql_mode String, starts, ends TimestampSecond, ' +
    'status, on_completion String, created, last_altered, last_executed TimestampSecond, event_comment String, ' +
    'originator Int64, character_set_client, collation_connection, database_collation String',
  files: 'file_id Int64, file_name, file_type, tablespace_name, table_catalog, table_schema, table_name String',
  global_status: 'variable_name, variable_value String',
  optimizer_trace: 'query, trace String, missing_bytes_beyond_max_mem_size, insufficient_privileges Int64',
  parameters:
    'specific_catalog, specific_schema, specific_name String, ordinal_position Int64, parameter_mode, parameter_name, ' +
    'data_type String, character_maximum_length, character_octet_length, numeric_precision, numeric_scale, ' +
    'datetime_precision Int64, character_set_name, collation_name, dtd_identifier, routine_type String',
  profiling: 'query_id, seq Int64, state String, duration Float64',
  referential_constraints:
    'constraint_catalog, constraint_schema, constraint_name, unique_constraint_catalog, unique_constraint_schema, ' +
    'unique_constraint_name, match_option, update_rule, delete_rule, table_name, referenced_table_name String',
  schema_privileges: 'grantee, table_catalog, table_schema, privilege_type, is_grantable String',
  session_status: 'variable_name, variable_value String',
  table_privileges: 'grantee, table_catalog, table_schema, table_name, privilege_type, is_grantable String',
};

/** Tables that are always empty: files in another layout, privileges and others that Almanac does not have. */
export function emptyTables(): SystemTable[] {
  return Object.entries(EMPTY).map(([name, columns]) => systemTable('information_schema', name, columns));
}
