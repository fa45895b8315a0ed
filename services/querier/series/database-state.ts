import type { ArrivalLog } from './arrival-log.js';

/** State of a region at a read. Cached results keep it, so its size does not depend on the stored data. */
export interface RegionState {
  readonly arrivals: ArrivalLog | undefined;
  /** Last sequence that the read covers. */
  readonly sequenceTo: bigint;
  /** Generation of the segment list, from `SegmentLosses.generationOf`. */
  readonly losses: number | undefined;
}

/** State of a table at a read. */
export interface TableState {
  readonly schemaVersion: number;
  readonly regions: readonly RegionState[];
  /** Samples before this time, in milliseconds, are expired. */
  readonly oldestMs: number;
}

/** States of the tables that the selectors of a query read, by table ID. */
export type DatabaseState = ReadonlyMap<number, TableState>;

/**
 * Returns a lower bound, in milliseconds, of the times of all samples that differ between two states: results that depend
 * on earlier samples alone are still valid. Infinity if nothing changed, -Infinity if the change has no known bound.
 */
export function changedFrom(before: DatabaseState, now: DatabaseState): number {
  if (before.size !== now.size) return -Infinity;
  let fromMs = Infinity;
  for (const [tableId, state] of now) fromMs = Math.min(fromMs, tableChangedFrom(before.get(tableId), state));
  return fromMs;
}

function tableChangedFrom(before: TableState | undefined, now: TableState): number {
  if (before?.schemaVersion !== now.schemaVersion) return -Infinity;
  if (before.regions.length !== now.regions.length) return -Infinity;
  return Math.min(Infinity, ...now.regions.map((region, i) => regionChangedFrom(before.regions[i], region)));
}

function regionChangedFrom(before: RegionState, now: RegionState): number {
  // A new index has a new log: the owner was replaced or restarted, and its rows were fetched from scratch.
  const { arrivals } = now;
  if (arrivals === undefined || before.arrivals !== arrivals) return -Infinity;
  if (before.losses !== now.losses) return -Infinity;
  return arrivals.firstTimeOf(before.sequenceTo, now.sequenceTo);
}
