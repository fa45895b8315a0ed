import type { Flow } from '#shared/contracts/gen/metadata';
import { mayAccess } from '#shared/contracts/rights';

import { createFlowSql, specOf } from '../flow/text.js';
import { systemTable, type SystemRow, type SystemTable, type SystemTableSource } from './system-table.js';

const DATABASE = 'information_schema';

/** Tables of flows. */
export function flowTables(): SystemTable[] {
  return [
    systemTable(
      DATABASE,
      'flows',
      'flow_name String, flow_id UInt32, state_size? UInt64, table_catalog, flow_definition, comment? String, ' +
        'expire_after? Int64, source_table_ids?, sink_table_name, flownode_ids?, options? String, ' +
        'created_time, updated_time, last_execution_time? TimestampMillisecond, source_table_names?, flownode_addrs?, ' +
        'last_error? String',
      (source) => rowsOf(source, describeFlow),
    ),
    systemTable(
      DATABASE,
      'flow_statistics',
      'flow_id UInt32, flow_name String, start_time?, last_execution_time? TimestampMillisecond, uptime_seconds? Int64, ' +
        'state_size? UInt64',
      (source) => rowsOf(source, flowStatistics),
    ),
  ];
}

async function* rowsOf(
  source: SystemTableSource,
  describe: (flow: Flow, source: SystemTableSource) => SystemRow,
): AsyncIterable<SystemRow> {
  const { flows } = await source.metadata.listFlows({}, source.call);
  for (const flow of flows) {
    if (mayAccess(source.call.rights, 'read', specOf(flow).database)) yield describe(flow, source);
  }
}

function describeFlow(flow: Flow, { catalogName }: SystemTableSource): SystemRow {
  const spec = specOf(flow);
  const kind = spec.isStreaming ? 'streaming' : 'batching';
  const options = Object.entries({ ...spec.options, flow_type: kind }).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    flow_name: spec.name,
    flow_id: flow.flowId,
    table_catalog: catalogName,
    flow_definition: createFlowSql(spec),
    comment: spec.comment === '' ? null : spec.comment,
    expire_after: spec.expireAfterMs === 0 ? null : Math.floor(spec.expireAfterMs / 1000),
    source_table_ids: JSON.stringify(spec.sources.map(({ tableId }) => tableId)),
    sink_table_name: `${catalogName}.${spec.sinkDatabase}.${spec.sinkTable}`,
    flownode_ids: JSON.stringify(flow.nodeId === 0 || spec.sources.length === 0 ? {} : { 0: flow.nodeId }),
    options: JSON.stringify(Object.fromEntries(options)),
    created_time: flow.createdMs,
    updated_time: flow.updatedMs,
    last_execution_time: flow.lastRunMs === 0 ? null : flow.lastRunMs,
    source_table_names: spec.sources.map(({ database, name }) => `${catalogName}.${database}.${name}`).join(', '),
    last_error: flow.lastError === '' ? null : flow.lastError,
  };
}

function flowStatistics(flow: Flow, { nowMs }: SystemTableSource): SystemRow {
  return {
    flow_id: flow.flowId,
    flow_name: specOf(flow).name,
    start_time: flow.updatedMs,
    last_execution_time: flow.lastRunMs === 0 ? null : flow.lastRunMs,
    uptime_seconds: Math.max(0, Math.floor((nowMs - flow.updatedMs) / 1000)),
  };
}
