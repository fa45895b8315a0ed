import type { ArrivalLog } from './arrival-log.js';

/** What a read saw of a region. It is kept with answers: it holds on to nothing that grows with what is stored. */
export interface RegionState {
  readonly arrivals: ArrivalLog | undefined;
  /** The last row that it saw. */
  readonly sequenceTo: bigint;
  /** By `SegmentLosses`. */
  readonly losses: number | undefined;
}

/** What a read saw of a table. */
export interface TableState {
  readonly schemaVersion: number;
  readonly regions: readonly RegionState[];
  /** Samples of earlier times are expired. */
  readonly oldestMs: number;
}

/** What a query saw of the tables that its selectors mean, by table id. */
export type DatabaseState = ReadonlyMap<number, TableState>;

/**
 * The least time, in milliseconds, of what `now` has and `before` has not: what follows from earlier samples alone is
 * still true. Infinity if nothing changed; -Infinity if that cannot be told.
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
  // Another log: rows were fetched anew, because the owner or its life is another.
  const { arrivals } = now;
  if (arrivals === undefined || before.arrivals !== arrivals) return -Infinity;
  if (before.losses !== now.losses) return -Infinity;
  return arrivals.firstTimeOf(before.sequenceTo, now.sequenceTo);
}
