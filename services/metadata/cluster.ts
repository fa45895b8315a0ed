import type { Table } from '#shared/contracts/gen/common';
import type { Logger } from '#shared/telemetry/log';
import {
  manifestChanged,
  nodeChanged,
  nodeRemoved,
  tableChanged,
  type MetadataCatalog,
  type CatalogChange,
} from './catalog.js';
import type { FlowLeases } from './flow-leases.js';
import type { Leases } from './leases.js';
import type { RegionMoves } from './moves.js';
import type { RegionOpenings } from './openings.js';
import { Placement } from './placement.js';
import type { NodeRecord, NodeLifecycle } from './store/nodes.js';

/** Catalog, leases and moves: the state on which methods about nodes and grants work. */
export interface Cluster {
  readonly catalog: MetadataCatalog;
  readonly leases: Leases;
  readonly moves: RegionMoves;
  readonly openings: RegionOpenings;
  readonly flowLeases: FlowLeases;
  readonly log: Logger;
}

/** Records a change for watchers within a transaction. */
export type RecordChange = (change: CatalogChange) => void;

/** Changes the state of a node. One that becomes ready is granted the regions without an owner. */
export function changeState({ catalog }: Cluster, node: NodeRecord, state: NodeLifecycle, record: RecordChange): void {
  catalog.nodes.setState(node.nodeId, state, catalog.clock.nowMs());
  record(nodeChanged({ ...node, state }));
  if (state === 'ready') grantFree(catalog, record);
}

/** Removes a node that owns nothing. */
export function removeNode({ catalog }: Cluster, nodeId: number, record: RecordChange): void {
  catalog.nodes.delete(nodeId);
  record(nodeRemoved(nodeId));
}

/** Grants regions without an owner to ready nodes, if there are any. */
export function grantFree(catalog: MetadataCatalog, record: RecordChange): void {
  const granted: number[] = [];
  const placement = new Placement(catalog);
  for (const { regionId } of catalog.regions.free()) {
    const nodeId = placement.next();
    if (nodeId === 0) break;
    catalog.regions.regrant(regionId, nodeId);
    granted.push(regionId);
  }
  noteGrants(catalog, granted, record);
}

/** Records new grants of regions: each table once, and each region's manifest. */
export function noteGrants(catalog: MetadataCatalog, regionIds: readonly number[], record: RecordChange): void {
  const tables = new Map<number, Table>();
  for (const regionId of regionIds) {
    const { tableId } = catalog.region(regionId);
    const table = tables.get(tableId) ?? catalog.tables.findById(tableId);
    if (table !== undefined) tables.set(tableId, table);
  }
  for (const table of tables.values()) record(tableChanged(table));
  for (const regionId of regionIds) record(manifestChanged(catalog.manifest(regionId)));
}
