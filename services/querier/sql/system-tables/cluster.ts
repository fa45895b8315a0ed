import type { NodeInfo } from '#shared/contracts/gen/metadata';
import { readBuildInfo } from '#shared/lifecycle/build-info';

import { processId } from '../../run/process-directory.js';
import { systemTable, type SystemRow, type SystemTable, type SystemTableSource } from './system-table.js';

const DATABASE = 'information_schema';

/** Types of peers as clients know them, by role; other roles are shown by their name. */
const PEER_TYPES: Readonly<Record<string, string>> = {
  gateway: 'FRONTEND',
  ingester: 'DATANODE',
  metadata: 'METASRV',
};

/** Tables of the processes of the cluster and of the program. */
export function clusterTables(): SystemTable[] {
  return [
    systemTable(
      DATABASE,
      'cluster_info',
      'peer_id Int64, peer_type, peer_addr?, peer_hostname? String, total_cpu_millicores, total_memory_bytes, ' +
        'cpu_usage_millicores, memory_usage_bytes Int64, version, git_commit String, start_time? TimestampMillisecond, ' +
        'uptime?, active_time?, node_status? String',
      clusterInfo,
    ),
    systemTable(
      DATABASE,
      'build_info',
      'git_branch, git_commit, git_commit_short, git_clean, pkg_version String',
      buildInfo,
    ),
    systemTable(DATABASE, 'engines', 'engine, support, comment, transactions, xa, savepoints String', () => [
      engine('mito', 'DEFAULT', 'Storage engine of tables'),
      engine('metric', 'YES', 'Storage engine of metrics that share a table'),
    ]),
    systemTable(
      DATABASE,
      'process_list',
      'id, catalog, schemas, query, client, frontend String, start_timestamp TimestampMillisecond, ' +
        'elapsed_time Int64, query_id, kind String, rows_sent?, rows_scanned?, bytes_scanned?, memory_bytes? UInt64, ' +
        'progress? Float64',
      processList,
    ),
  ];
}

/** Figures of other processes that metadata does not know are null. */
async function* clusterInfo({ metadata, call, nowMs }: SystemTableSource): AsyncIterable<SystemRow> {
  const { nodes } = await metadata.listNodes({}, call);
  for (const node of nodes) yield describeNode(node, nowMs);
}

function describeNode({ nodeId, role, addr, version, registeredMs, state }: NodeInfo, nowMs: number): SystemRow {
  return {
    peer_id: nodeId,
    peer_type: PEER_TYPES[role] ?? role.toUpperCase(),
    peer_addr: addr,
    version,
    start_time: registeredMs,
    uptime: `${Math.max(0, Math.floor((nowMs - registeredMs) / 1000))}s`,
    node_status: state,
  };
}

async function* processList({ processes, call, catalogName, nowMs }: SystemTableSource): AsyncIterable<SystemRow> {
  for (const process of await processes.list(call)) {
    const { database, query, user, addr, startedMs, queryId, kind } = process;
    const { rowsSent = null, rowsScanned = null, bytesScanned = null, memoryBytes = null, progress = null } = process;
    yield {
      ...{ id: processId(process), catalog: catalogName, schemas: database, query, client: user, frontend: addr },
      start_timestamp: startedMs,
      elapsed_time: Math.max(nowMs - startedMs, 0),
      ...{ query_id: queryId, kind, rows_sent: rowsSent, rows_scanned: rowsScanned, bytes_scanned: bytesScanned },
      ...{ memory_bytes: memoryBytes, progress },
    };
  }
}

function buildInfo(): SystemRow[] {
  const { version, commit, branch } = readBuildInfo();
  return [{ git_branch: branch, git_commit: commit, git_commit_short: commit.slice(0, 7), pkg_version: version }];
}

function engine(name: string, support: string, comment: string): SystemRow {
  return { engine: name, support, comment, transactions: 'NO', xa: 'NO', savepoints: 'NO' };
}
