import type { Column as BatchColumn } from '#shared/rowbatch/column';

import type { ColumnValues } from '../columns/decode-chunk.js';
import type { SegmentFooter } from '../columns/footer.js';
import type { Numbers } from './accumulators.js';
import { NotForKernels } from './query.js';

/** Values of a numeric field in a row group, or in a batch of unflushed rows. */
export interface FieldValues extends Numbers {
  /** A bit for each row, set if it is not null; undefined if no row is. */
  readonly valid: Uint8Array | undefined;
  /** Greatest absolute value of integers; 0 for others. */
  readonly magnitude: number;
}

/** Integers from here on are not exact as doubles. The base of doubles is -0, because 0 plus -0 is 0. */
const INTEGER_MAX = 2n ** 53n;

/** Why the engine reads large integers. */
export const TOO_LARGE = 'integers beyond 2^53';

/** Reports whether integers are exact as doubles. */
function areExact(min: bigint, max: bigint): boolean {
  return min > -INTEGER_MAX && max < INTEGER_MAX;
}

/** @throws `NotForKernels` if a column of a segment has large integers. */
export function checkIntegers({ columns }: SegmentFooter, fieldId: number): void {
  const { min, max } = columns.get(fieldId) ?? {};
  if (min === undefined || max === undefined) return;
  if (!min.every((least, group) => areExact(least, max[group]))) throw new NotForKernels(TOO_LARGE);
}

/** Returns the values of a decoded column. @throws `NotForKernels` for large integers. */
export function ofSegment(
  { values, base, valid }: ColumnValues,
  { columns }: SegmentFooter,
  fieldId: number,
  group: number,
): FieldValues {
  const column = columns.get(fieldId);
  const [min, max] = [column?.min?.[group], column?.max?.[group]];
  if (min === undefined || max === undefined) return { values, base: -0, valid, magnitude: 0 };
  if (!areExact(min, max)) throw new NotForKernels(TOO_LARGE);
  return { values, base: Number(base), valid, magnitude: Math.max(Math.abs(Number(min)), Math.abs(Number(max))) };
}

const batches = new WeakMap<BatchColumn, FieldValues>();

/** Returns the values of a column of unflushed rows, which are converted once. @throws `NotForKernels` for large integers. */
export function ofBatch(column: BatchColumn): FieldValues {
  const known = batches.get(column);
  if (known !== undefined) return known;
  const found = converted(column);
  batches.set(column, found);
  return found;
}

function converted(column: BatchColumn): FieldValues {
  if (column.kind !== 'fixed') throw new NotForKernels('values that are not numbers');
  const { values, validity: valid, type } = column;
  if (values instanceof BigUint64Array) throw new NotForKernels(TOO_LARGE);
  if (values instanceof Float64Array || values instanceof Float32Array) {
    return { values, base: -0, valid, magnitude: 0 };
  }
  if (!(values instanceof BigInt64Array)) return { values, base: 0, valid, magnitude: greatest(values) };
  const numbers = Float64Array.from(values, Number);
  const magnitude = greatest(numbers);
  const isWrapped = type.startsWith('U') && numbers.some((value) => value < 0);
  if (isWrapped || magnitude >= Number(INTEGER_MAX)) throw new NotForKernels(TOO_LARGE);
  return { values: numbers, base: 0, valid, magnitude };
}

function greatest(values: Iterable<number>): number {
  let most = 0;
  for (const value of values) most = Math.max(most, Math.abs(value));
  return most;
}
