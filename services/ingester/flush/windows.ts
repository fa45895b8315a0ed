import { UNIT_NS, dataType } from '#shared/schema/data-type';
import type { Table } from '#shared/contracts/gen/common';
import { timeIndexOf } from '#shared/schema/table-schema';

/** Most segments that one flush of a region makes. */
export const WINDOWS_MAX = 64;

/** A time window `[from, to)` of segments, in the unit of the table's time index. */
export interface TimeWindow {
  readonly from: bigint;
  readonly to: bigint;
}

/** Length of a segment window in the unit of the table's time index; at least 1. */
export function windowLength(table: Table, windowMs: number): bigint {
  const unit = dataType(timeIndexOf(table).type).timeUnit ?? 'ns';
  const length = (BigInt(Math.trunc(windowMs)) * 1_000_000n) / UNIT_NS[unit];
  return length > 0n ? length : 1n;
}

/**
 * The windows that rows are cut into: multiples of `length` since 1970, made longer (doubled) until there are few
 * enough of them.
 *
 * @param starts distinct window numbers `floor(time / length)` that have rows, in any order.
 */
export function chooseWindows(starts: readonly bigint[], length: bigint): TimeWindow[] {
  let numbers = [...new Set(starts)];
  let span = length;
  while (numbers.length > WINDOWS_MAX) {
    span *= 2n;
    numbers = [...new Set(numbers.map((number) => floorDivide(number, 2n)))];
  }
  numbers.sort((a, b) => (a < b ? -1 : 1));
  return numbers.map((number) => ({ from: number * span, to: (number + 1n) * span }));
}

export function floorDivide(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value % divisor !== 0n && value < 0n !== divisor < 0n ? quotient - 1n : quotient;
}
