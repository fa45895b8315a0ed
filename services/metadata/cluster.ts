import type { Table } from '#shared/contracts/gen/common';
import type { Logger } from '#shared/telemetry/log';
import { manifestChanged, nodeChanged, nodeRemoved, tableChanged, type Catalog, type Change } from './catalog.js';
import type { Leases } from './leases.js';
import type { Moves } from './moves.js';
import type { Openings } from './openings.js';
import { Placement } from './placement.js';
import type { NodeRecord, NodeState } from './store/nodes.js';

/** Who takes part, and what is wanted of whom. */
export interface Cluster {
  readonly catalog: Catalog;
  readonly leases: Leases;
  readonly moves: Moves;
  readonly openings: Openings;
  readonly log: Logger;
}

/** Takes a change to be told to watchers once it is durable. */
export type Note = (change: Change) => void;

/** Puts a node into another state; one that becomes ready gets the regions that nobody owns. */
export function changeState({ catalog }: Cluster, node: NodeRecord, state: NodeState, note: Note): void {
  catalog.nodes.setState(node.nodeId, state, catalog.clock.nowMs());
  note(nodeChanged({ ...node, state }));
  if (state === 'ready') grantFree(catalog, note);
}

/** Forgets a node that owns nothing. */
export function removeNode({ catalog }: Cluster, nodeId: number, note: Note): void {
  catalog.nodes.delete(nodeId);
  note(nodeRemoved(nodeId));
}

/** Grants regions without an owner to nodes that are ready, if there are any. */
export function grantFree(catalog: Catalog, note: Note): void {
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
export function noteGrants(catalog: Catalog, regionIds: readonly number[], note: Note): void {
  const tables = new Map<number, Table>();
  for (const regionId of regionIds) {
    const { tableId } = catalog.region(regionId);
    const table = tables.get(tableId) ?? catalog.tables.findById(tableId);
    if (table !== undefined) tables.set(tableId, table);
  }
  for (const table of tables.values()) note(tableChanged(table));
  for (const regionId of regionIds) note(manifestChanged(catalog.manifest(regionId)));
}
