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
import type { Leases } from './leases.js';
import type { RegionMoves } from './moves.js';
import type { RegionOpenings } from './openings.js';
import { Placement } from './placement.js';
import type { NodeRecord, NodeLifecycle } from './store/nodes.js';

/** Who takes part, and what is wanted of whom. */
export interface Cluster {
  readonly catalog: MetadataCatalog;
  readonly leases: Leases;
  readonly moves: RegionMoves;
  readonly openings: RegionOpenings;
  readonly log: Logger;
}

/** Takes a change to be told to watchers once it is durable. */
export type RecordChange = (change: CatalogChange) => void;

/** Puts a node into another state; one that becomes ready gets the regions that nobody owns. */
export function changeState({ catalog }: Cluster, node: NodeRecord, state: NodeLifecycle, note: RecordChange): void {
  catalog.nodes.setState(node.nodeId, state, catalog.clock.nowMs());
  note(nodeChanged({ ...node, state }));
  if (state === 'ready') grantFree(catalog, note);
}

/** Forgets a node that owns nothing. */
export function removeNode({ catalog }: Cluster, nodeId: number, note: RecordChange): void {
  catalog.nodes.delete(nodeId);
  note(nodeRemoved(nodeId));
}

/** Grants regions without an owner to nodes that are ready, if there are any. */
export function grantFree(catalog: MetadataCatalog, note: RecordChange): void {
  const granted: number[] = [];
  const placement = new Placement(catalog);
  for (const { regionId } of catalog.regions.free()) {
    const nodeId = placement.next();
    if (nodeId === 0) break;
    catalog.regions.regrant(regionId, nodeId);
    granted.push(regionId);
  }
  noteGrants(catalog, granted, note);
}

/** Tells of the new grants of regions: each table once, each region's manifest. */
export function noteGrants(catalog: MetadataCatalog, regionIds: readonly number[], note: RecordChange): void {
  const tables = new Map<number, Table>();
  for (const regionId of regionIds) {
    const { tableId } = catalog.region(regionId);
    const table = tables.get(tableId) ?? catalog.tables.findById(tableId);
    if (table !== undefined) tables.set(tableId, table);
  }
  for (const table of tables.values()) note(tableChanged(table));
  for (const regionId of regionIds) note(manifestChanged(catalog.manifest(regionId)));
}
