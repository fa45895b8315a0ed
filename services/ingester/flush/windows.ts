import type { Clock } from '#shared/clock/clock';
import { UNIT_NS, dataType } from '#shared/schema/data-type';
import type { Table } from '#shared/contracts/gen/common';
import { hasOps } from '#shared/schema/segment-columns';
import { timeIndexOf } from '#shared/schema/table-schema';

import type { Generation } from '../memtable/generation.js';

/** Greatest number of segments of one flush of a region. */
export const WINDOWS_MAX = 64;
/**
 * The same with deletions: in windows longer than those of the rows that they hide, they would never be merged with
 * them.
 */
const WINDOWS_MAX_OF_DELETIONS = 4096;

/** A time window `[from, to)` of segments, in the unit of the table's time index. */
export interface TimeWindow {
  readonly from: bigint;
  readonly to: bigint;
}

/** Returns the length of a segment window in the unit of the table's time index; at least 1. */
export function windowLength(table: Table, windowMs: number): bigint {
  const unit = dataType(timeIndexOf(table).type).timeUnit ?? 'ns';
  const length = (BigInt(Math.trunc(windowMs)) * 1_000_000n) / UNIT_NS[unit];
  return length > 0n ? length : 1n;
}

/**
 * Returns the windows that rows are cut into: multiples of `length` since 1970, doubled until there are few enough.
 *
 * @param starts distinct window numbers `floor(time / length)` that have rows, in any order.
 */
export function chooseWindows(starts: readonly bigint[], length: bigint, windowsMax = WINDOWS_MAX): TimeWindow[] {
  let numbers = [...new Set(starts)];
  let span = length;
  while (numbers.length > windowsMax) {
    span *= 2n;
    numbers = [...new Set(numbers.map((number) => floorDiv(number, 2n)))];
  }
  numbers.sort((a, b) => (a < b ? -1 : 1));
  return numbers.map((number) => ({ from: number * span, to: (number + 1n) * span }));
}

/** Divides and rounds towards negative infinity. */
export function floorDiv(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value % divisor !== 0n && value < 0n !== divisor < 0n ? quotient - 1n : quotient;
}

/** Returns the windows that a generation's rows are cut into, each with at least one row. */
export async function windowsOf(generation: Generation, length: bigint, clock: Clock): Promise<TimeWindow[]> {
  const numbers = new Set<bigint>();
  for (const { rowTimes, times } of generation.batches) {
    const first = floorDiv(times.first, length);
    // The batch's range may be wider than its rows, so a row is certain only if it is within one window.
    if (first === floorDiv(times.last, length)) {
      numbers.add(first);
      continue;
    }
    let present: TimeWindow | undefined;
    for (const time of rowTimes.some()) {
      if (present !== undefined && time >= present.from && time < present.to) continue;
      const number = floorDiv(time, length);
      present = { from: number * length, to: (number + 1n) * length };
      numbers.add(number);
    }
    await clock.yield();
  }
  const hasDeletions = generation.batches.some(({ columns }) => hasOps(columns));
  return chooseWindows([...numbers], length, hasDeletions ? WINDOWS_MAX_OF_DELETIONS : WINDOWS_MAX);
}
