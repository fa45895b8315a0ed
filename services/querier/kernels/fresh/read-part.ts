import { Slices } from '#shared/clock/slices';
import type { Column } from '#shared/contracts/gen/common';
import { overlaps, type Band, type TimeBounds } from '#shared/segments/bands';

import type { ColumnCache } from '../../columns/column-cache.js';
import type { EnginePartView } from '../../snapshot/engine-rows.js';
import type { BatchRows, FreshBatch, FreshPart } from '../../snapshot/fresh-part.js';
import type { KernelDeps } from '../deps.js';
import { ofBatch, type FieldValues } from '../field-values.js';
import type { FreshGroup } from './fresh-group.js';
import { groupsOfPart, type GroupedRows } from './fresh-groups.js';
import { NotForKernels, NotNowForKernels } from '../query.js';
import { RowTimes } from './row-times.js';
import type { RowWalk } from '../row-walk.js';
import type { RegionSeries } from '../series-groups.js';

/** What is read of unflushed rows, and how. */
export interface PartRead {
  readonly series: RegionSeries;
  readonly fields: readonly Column[];
  readonly deps: KernelDeps;
  readonly slices: Slices;
  /** Whether the columns of groups are not kept, because what is made of them is. */
  readonly isTransient?: boolean;
}

/** Unflushed rows of a part that a query reads. */
export interface PartRows extends GroupedRows {
  readonly part: FreshPart;
  readonly rowCount: number;
}

/** Returns what a query reads of a part. */
export function rowsOfPart({ part, rowCount, skipCount = 0 }: EnginePartView, cache: ColumnCache): PartRows {
  if (skipCount > 0) throw new NotForKernels('only newer rows are read');
  const { batches } = part;
  if (batches === undefined) {
    throw new NotNowForKernels('unflushed rows are too many to be kept as arrays, or were flushed meanwhile');
  }
  return { part, rowCount, ...groupsOfPart(part, batches, cache).first(rowCount) };
}

/** Reads the unflushed rows of a part; those of a series in the order of their sequences, group by group. */
export async function addPart(
  { groups, rest, restCount }: PartRows,
  bounds: TimeBounds,
  walk: RowWalk,
  read: PartRead,
): Promise<void> {
  for (const group of groups) {
    if (walk.isComplete) return;
    if (overlaps(group.times, bounds)) await addGroup(group, bounds, walk, read);
  }
  let left = restCount;
  for (const batch of rest) {
    if (walk.isComplete) return;
    const count = Math.min(left, batch.rows.rowCount);
    if (overlaps(batch.times, bounds)) {
      read.deps.columns.addRows(count, 0);
      await addBatch(batch, count, walk, read);
    }
    left -= batch.rows.rowCount;
  }
}

async function addGroup(group: FreshGroup, bounds: TimeBounds, walk: RowWalk, read: PartRead): Promise<void> {
  const { series, fields, deps, slices, isTransient } = read;
  const { memory, clock } = deps;
  const columns = isTransient === true ? undefined : deps.columns;
  const bytes = group.bytesToMake(fields.map(({ id }) => id));
  deps.columns.addRows(group.rowCount, 0);
  if (!memory.tryReserve(bytes)) {
    for (const batch of group.batches) {
      if (overlaps(batch.times, bounds)) await addBatch(batch, batch.rows.rowCount, walk, read);
    }
    return;
  }
  try {
    // The slices of the query end when it is cancelled.
    const { runs, order } = await group.sorted(() => new Slices(clock));
    const some = selectedRuns(runs, series.sids);
    if (some?.length !== 0) {
      const values = new Map<number, FieldValues>();
      for (const { id } of fields) {
        const field = group.field(id, order, columns);
        if (field !== undefined) values.set(id, field);
        if (slices.isOver(group.rowCount)) await slices.yield();
      }
      walk.addRuns(runs, values, series, some);
    }
  } finally {
    memory.reserve(-bytes);
  }
  if (slices.isOver(group.rowCount * (fields.length + 1))) await slices.yield();
}

/** A search takes as long as to look at this many runs. */
const SEARCH_WORK = 16;

/** Returns the runs of some series; undefined if all runs should be looked at. @param sids ascending; undefined: any */
export function selectedRuns(
  { sids: ofRuns, count }: { readonly sids: Uint32Array; readonly count: number },
  sids: Int32Array | undefined,
): number[] | undefined {
  if (sids === undefined || sids.length * SEARCH_WORK > count) return undefined;
  return Array.from(sids).flatMap((sid) => {
    let [low, high] = [0, count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ofRuns[middle] < sid) low = middle + 1;
      else high = middle;
    }
    return low < count && ofRuns[low] === sid ? low : [];
  });
}

async function addBatch(
  { sids, rows, times: around }: FreshBatch,
  count: number,
  walk: RowWalk,
  { series, fields, slices }: PartRead,
): Promise<void> {
  const times = timesOf(rows, around);
  const byId = new Map(rows.columns.map((column) => [column.columnId, column]));
  const values = new Map<number, FieldValues>();
  for (const { id } of fields) {
    const column = byId.get(id);
    if (column !== undefined) values.set(id, ofBatch(column));
  }
  const isRead = walk.begin(count, values);
  for (let first = 0; isRead && first < count; first += ROWS_PER_LOOK) {
    const end = Math.min(first + ROWS_PER_LOOK, count);
    walk.addRows({ sids, times }, { first, end }, values, series);
    if (slices.isOver((end - first) * (fields.length + 1) * UNSORTED_WORK)) await slices.yield();
  }
}

/** Unflushed rows that are aggregated between two looks at the clock. */
const ROWS_PER_LOOK = 4096;
/** Rows that are not in order take about this many times as long. */
const UNSORTED_WORK = 10;

const knownTimes = new WeakMap<BatchRows, RowTimes>();

/** Returns the times of a batch, found once. */
function timesOf(rows: BatchRows, around: Band): RowTimes {
  const times = knownTimes.get(rows) ?? new RowTimes(rows.times, around);
  knownTimes.set(rows, times);
  return times;
}
