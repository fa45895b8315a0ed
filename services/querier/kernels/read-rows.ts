import type { Column } from '#shared/contracts/gen/common';
import { scaledId } from '#shared/duckdb/scaled-columns';
import { AlmanacError } from '#shared/errors/almanac-error';
import { dataType, type TimeUnit } from '#shared/schema/data-type';
import { timeIndexOf } from '#shared/schema/table-schema';
import { overlaps, type TimeBounds } from '#shared/segments/bands';

import { groupsWith } from '../columns/column-cache.js';
import type { LogicalType, SegmentFooter } from '../columns/footer.js';
import type { TableSource } from '../snapshot/snapshots.js';
import { ofSegment, type FieldValues } from './field-values.js';
import { addPart, type PartRead, type PartRows } from './fresh/read-part.js';
import type { QueryMemory } from './memory.js';
import { NotForKernels } from './query.js';
import type { Fields, RowWalk } from './row-walk.js';
import type { ReadShare, ScannedSegment } from './scan.js';

/** Row groups that are read from a file at once, at most. */
const GROUPS_PER_READ = 4;
/** Values that are decoded at once, if a row group has fewer: about a millisecond. */
const VALUES_PER_READ = 1 << 18;

/** What is read of a region, and how. */
export interface RegionRead extends PartRead {
  readonly source: Pick<TableSource, 'table'>;
  readonly segments: readonly ScannedSegment[];
  readonly parts: readonly PartRows[];
  /** Whether the newest rows of each series are enough, others may be left out. */
  readonly needsLast?: boolean;
  /** The row groups that one of several threads reads: each `of`th of a segment; undefined: all. */
  readonly share?: ReadShare | undefined;
  /** Called after each row group. */
  readonly afterGroup?: (() => Promise<void>) | undefined;
}

/** Reads rows in the order of their sequences: of segments, and then of parts. */
export async function addRows(bounds: TimeBounds, walk: RowWalk, read: RegionRead): Promise<void> {
  for (const segment of read.segments) if (!walk.isComplete) await addSegment(segment, bounds, walk, read);
  for (const rows of read.parts) {
    if (walk.isComplete) return;
    if (rows.part.times !== undefined && overlaps(rows.part.times, bounds)) await addPart(rows, bounds, walk, read);
  }
}

/** Units in files. Seconds are stored as microseconds. */
const STORED_UNITS: Readonly<Record<TimeUnit, LogicalType | undefined>> = {
  s: undefined,
  ms: 'millis',
  us: 'micros',
  ns: 'nanos',
};

/** @throws `NotForKernels` if a segment stores times in another unit than the table. @param type of the time index */
export function checkUnit({ columns }: SegmentFooter, timeId: number, type: string): void {
  if (columns.get(timeId)?.logicalType === STORED_UNITS[dataType(type).timeUnit ?? 'ns']) return;
  throw new NotForKernels('a segment stores times in another unit');
}

/** Opening a segment takes as long as this many values, and reading a row group as this many more than it has. */
const SEGMENT_WORK = 4096;
const GROUP_WORK = 2048;

async function addSegment(
  { segment, name }: ScannedSegment,
  bounds: TimeBounds,
  walk: RowWalk,
  read: RegionRead,
): Promise<void> {
  const { source, series, fields, deps, slices, needsLast = false, share = { index: 0, of: 1 } } = read;
  const { from, to } = bounds;
  const { columns, memory } = deps;
  const file = { path: name, bytes: segment.bytes };
  const footer = await decoded(() => columns.footer(file));
  if (slices.isOver(SEGMENT_WORK)) await slices.yield();
  const { id: timeId, type } = timeIndexOf(source.table);
  checkUnit(footer, timeId, type);
  const all = groupsWith(footer, timeId, { timeFrom: from, timeTo: to, sids: series.sids });
  const groups = all.filter((group) => group % share.of === share.index);
  const { rowCount: segmentRows, bytes: segmentBytes } = segment;
  const isWithin = overlaps({ first: segment.timeFirst, last: segment.timeLast }, bounds);
  if (all.length === 0 && share.index === 0 && isWithin) columns.addRows(0, 0, segmentRows);
  const fieldIds: number[] = [];
  for (const { id } of fields) fieldIds.push(id);
  const request = { file, footer, timeId, fieldIds };
  const groupValues = valuesOfGroup(footer, groups, fields);
  const atOnce = groupsAtOnce(groupValues, memory);
  try {
    for (let at = 0; at < groups.length && !walk.isComplete; at += atOnce) {
      const some = groups.slice(at, at + atOnce);
      const areEnds = needsLast && some.every((group) => endsBefore(footer, timeId, group, to));
      const found = await decoded(() => (areEnds ? columns.lastRows(request, some) : columns.groups(request, some)));
      const rows = some.reduce((sum, group) => sum + footer.rowCounts[group], 0);
      columns.addRows(rows, (rows / segmentRows) * segmentBytes, (some.length / all.length) * segmentRows);
      for (const [i, { runs, fields: values, rowCount }] of found.entries()) {
        walk.addRuns(runs, fieldsOf(values, fields, footer, some[i]), series);
        await endGroup(rowCount * (fields.length + 1), read);
      }
    }
  } finally {
    memory.reserve(-atOnce * groupValues * BYTES_PER_VALUE);
  }
}

/** Lets other work run after a row group. */
async function endGroup(values: number, { slices, afterGroup }: RegionRead): Promise<void> {
  if (afterGroup !== undefined) await afterGroup();
  if (slices.isOver(GROUP_WORK + values)) await slices.yield();
}

/** Reports whether all rows of a row group are before a time, so that the last one of a series is the last before it. */
function endsBefore({ columns }: SegmentFooter, timeId: number, group: number, to: bigint | undefined): boolean {
  const last = columns.get(timeId)?.max?.[group];
  return to === undefined || (last !== undefined && last < to);
}

/** Memory of a value, and of its compressed bytes. */
const BYTES_PER_VALUE = 10;

/** Returns the memory for the values that are decoded at once, at most. @param values of a row group */
export function bytesAtOnce(values: number): number {
  return Math.max(values, VALUES_PER_READ) * BYTES_PER_VALUE;
}

/** Returns how many values are decoded of a row group at most. */
export function valuesOfGroup(
  { rowCounts, columns }: SegmentFooter,
  groups: readonly number[],
  fields: readonly Column[],
): number {
  const rows = groups.reduce((most, group) => Math.max(most, rowCounts[group]), 0);
  // Scaled values have divisors, and others beside them.
  return rows * fields.reduce((sum, { id }) => sum + (columns.has(scaledId(id)) ? 3 : 1), 1);
}

/** Takes memory for row groups, and returns how many are read at once, whose values are in memory together. */
function groupsAtOnce(values: number, memory: QueryMemory): number {
  for (let count = GROUPS_PER_READ; count > 1; count /= 2) {
    if (count * values <= VALUES_PER_READ && memory.tryReserve(count * values * BYTES_PER_VALUE)) return count;
  }
  memory.reserve(values * BYTES_PER_VALUE);
  return 1;
}

/** Leaves files that cannot be decoded to the engine, which finds out whether they are damaged. */
export async function decoded<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof AlmanacError) throw error;
    throw new NotForKernels('a segment cannot be decoded', { cause: error });
  }
}

function fieldsOf(
  values: readonly (Parameters<typeof ofSegment>[0] | undefined)[],
  fields: readonly Column[],
  footer: SegmentFooter,
  group: number,
): Fields {
  const found = new Map<number, FieldValues>();
  for (const [i, { id }] of fields.entries()) {
    const column = values[i];
    if (column !== undefined) found.set(id, ofSegment(column, footer, id, group));
  }
  return found;
}
