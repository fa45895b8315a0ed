import { checkCall } from '#shared/contracts/call';
import type { RegionInfo, Table } from '#shared/contracts/gen/common';
import type { RegionState } from '#shared/contracts/gen/ingester';
import type { NodeInfo } from '#shared/contracts/gen/metadata';
import { partitionsOf } from '#shared/schema/partitions';

import { engineOf } from './table-text.js';
import {
  readableDatabases,
  readableTables,
  regionSizes,
  systemTable,
  tablesOf,
  type SystemRow,
  type SystemTable,
  type SystemTableSource,
} from './system-table.js';

const DATABASE = 'information_schema';

/** Tables of the regions of tables: their rows, files and owners. */
export function regionTables(): SystemTable[] {
  return [
    systemTable(
      DATABASE,
      'partitions',
      'table_catalog, table_schema, table_name, partition_name, subpartition_name? String, partition_ordinal_position?, ' +
        'subpartition_ordinal_position? Int64, partition_method?, subpartition_method?, partition_expression?, ' +
        'subpartition_expression?, partition_description? String, table_rows?, avg_row_length?, data_length?, ' +
        'max_data_length?, index_length?, data_free? Int64, create_time?, update_time?, check_time? TimestampSecond, ' +
        'checksum? Int64, partition_comment?, nodegroup?, tablespace_name? String, greptime_partition_id? UInt64',
      partitions,
    ),
    systemTable(
      DATABASE,
      'region_peers',
      'table_catalog, table_schema, table_name String, region_id, peer_id? UInt64, peer_addr?, is_leader?, status? String, ' +
        'down_seconds? Int64',
      regionPeers,
    ),
    systemTable(
      DATABASE,
      'region_statistics',
      'region_id UInt64, table_id, region_number UInt32, region_rows?, written_bytes_since_open?, query_cpu_time_millis?, ' +
        'query_scanned_bytes?, disk_size?, memtable_size?, manifest_size?, sst_size?, sst_num?, index_size? UInt64, ' +
        'engine?, region_role? String, epoch UInt64, memtable_rows?, wal_bytes? UInt64, flush_lag_ms? Int64',
      regionStatistics,
    ),
  ];
}

/** Distance between the IDs of the first partitions of two tables. */
const PARTITIONS_OF_A_TABLE = 2 ** 16;

/** Rules that users defined; regions of a table without any. */
async function* partitions(source: SystemTableSource): AsyncIterable<SystemRow> {
  for await (const table of readableTables(source)) {
    const seconds = Math.floor(table.createdMs / 1000);
    const partitions = partitionsOf(table.options);
    // Without rules, all rows are in one partition.
    const rules = partitions?.rules.length === 0 ? [null] : (partitions?.rules ?? []);
    for (const [index, rule] of rules.entries()) {
      yield {
        ...nameOf(table, source),
        partition_name: `p${index}`,
        partition_ordinal_position: index + 1,
        partition_method: 'RANGE',
        partition_expression: partitions?.columns.join(', ') ?? '',
        partition_description: rule,
        create_time: seconds,
        update_time: seconds,
        greptime_partition_id: table.tableId * PARTITIONS_OF_A_TABLE + index,
      };
    }
    if (rules.length > 0) continue;
    for (const { regionId, index } of table.regions) {
      yield {
        ...nameOf(table, source),
        partition_name: `p${index}`,
        partition_ordinal_position: index + 1,
        partition_method: 'HASH',
        partition_expression: table.primaryKey.join(', '),
        create_time: seconds,
        update_time: seconds,
        greptime_partition_id: regionId,
      };
    }
  }
}

async function* regionPeers(source: SystemTableSource): AsyncIterable<SystemRow> {
  const { nodes } = await source.metadata.listNodes({}, source.call);
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  for await (const table of readableTables(source)) {
    for (const { regionId, nodeId } of table.regions) {
      yield { ...nameOf(table, source), region_id: regionId, ...describePeer(nodeId, byId.get(nodeId)) };
    }
  }
}

/** A region without an owner has no peer. */
function describePeer(nodeId: number, node: NodeInfo | undefined): SystemRow {
  if (nodeId === 0) return { is_leader: 'No', status: 'DOWNGRADED' };
  const isAlive = node !== undefined && node.state !== 'gone';
  return { peer_id: nodeId, peer_addr: node?.addr ?? null, is_leader: 'Yes', status: isAlive ? 'ALIVE' : 'DOWN' };
}

async function* regionStatistics(source: SystemTableSource): AsyncIterable<SystemRow> {
  const databases: { readonly database: string; readonly tables: readonly Table[] }[] = [];
  for (const { name: database } of await readableDatabases(source)) {
    databases.push({ database, tables: await tablesOf(database, source) });
  }
  const regions = databases.flatMap(({ tables }) => tables.flatMap((table) => table.regions));
  const states = await unflushedRows(regions, source);
  for (const { database, tables } of databases) {
    const sizes = await regionSizes(database, source);
    for (const table of tables) {
      for (const { regionId, index, nodeId, epoch } of table.regions) {
        // A region without files is in no list.
        const { rows = 0, bytes = 0, segments = 0 } = sizes.get(regionId) ?? {};
        yield {
          region_id: regionId,
          table_id: table.tableId,
          region_number: index,
          region_rows: rows,
          disk_size: bytes,
          sst_size: bytes,
          sst_num: segments,
          engine: engineOf(table),
          region_role: nodeId === 0 ? null : 'Leader',
          epoch,
          ...describeUnflushed(states.get(regionId)),
        };
      }
    }
  }
}

/** Undefined if the owner did not reply. */
function describeUnflushed(state: RegionState | undefined): SystemRow {
  if (state === undefined) return {};
  const { rows, memtableBytes, walBytes, flushLagMs = null } = state;
  return { memtable_rows: rows, memtable_size: memtableBytes, wal_bytes: walBytes, flush_lag_ms: flushLagMs };
}

/** Regions of one call to an ingester. */
const REGIONS_PER_CALL = 1024;
/** An owner that does not reply within this time must not keep others from being shown. */
const REPLY_MS_MAX = 2_000;

/** Requests the rows that are in no segment yet from the owners of regions, by region ID. Owners that do not reply are left out. */
async function unflushedRows(
  regions: readonly RegionInfo[],
  source: SystemTableSource,
): Promise<ReadonlyMap<number, RegionState>> {
  const { ingesters, clock, call: whole } = source;
  const call = { ...whole, deadlineMs: Math.min(whole.deadlineMs, clock.nowMs() + REPLY_MS_MAX) };
  const found = new Map<number, RegionState>();
  const nodeIds = new Set(regions.map(({ nodeId }) => nodeId));
  const reading = Array.from(nodeIds, async (nodeId) => {
    if (nodeId === 0 || ingesters.isAway(nodeId)) return;
    const own = regions.filter((region) => region.nodeId === nodeId);
    const owner = ingesters.ownerOf(own[0]);
    for (let from = 0; from < own.length; from += REGIONS_PER_CALL) {
      const regionIds = own.slice(from, from + REGIONS_PER_CALL).map(({ regionId }) => regionId);
      for (const state of (await owner.regionStates({ regionIds }, call)).regions) found.set(state.regionId, state);
    }
  });
  await Promise.allSettled(reading);
  checkCall(whole);
  return found;
}

function nameOf(table: Table, { catalogName }: SystemTableSource): SystemRow {
  return { table_catalog: catalogName, table_schema: table.database, table_name: table.name };
}
