import { UnknownLayout } from '#shared/parquet/compact-protocol';
import type { ColumnValues } from './decode-chunk.js';

/** The columns that together have the values of a field in a row group (docs/formats/segment.md). */
export interface ScaledParts {
  /** Values that are stored as they are; undefined if all are null. */
  readonly plain: ColumnValues | undefined;
  readonly scaled: ColumnValues;
  readonly divisors: ColumnValues;
}

/**
 * Joins scaled values and those that are stored as they are. Overwrites the arrays.
 *
 * @throws `UnknownLayout` if the engine must read them.
 */
export function joinScaled({ plain, scaled, divisors }: ScaledParts): ColumnValues {
  const { values } = scaled;
  if (!(values instanceof Float64Array)) throw new UnknownLayout('scaled values that are no doubles');
  const { length } = values;
  divide(scaled, divisors);
  if (scaled.valid === undefined || plain === undefined) return scaled;
  if (plain.valid === undefined) throw new UnknownLayout('values that are stored twice');
  // Rows without a value are 0 in both columns.
  const valid = plain.valid;
  let nulls = 0;
  for (let i = 0; i < length; i++) {
    const [byte, bit] = [i >> 3, i & 7];
    if (((plain.valid[byte] >> bit) & 1) === 1) values[i] = plain.values[i];
    else if (((scaled.valid[byte] >> bit) & 1) === 0) nulls++;
  }
  for (let i = 0; i < valid.length; i++) valid[i] |= scaled.valid[i];
  return { values, base: 0n, valid: nulls === 0 ? undefined : valid };
}

/** Divides the values that are not null. */
function divide({ values, valid }: ColumnValues, divisors: ColumnValues): void {
  const { length } = values;
  if (!(divisors.values instanceof Float64Array) || divisors.values.length !== length) {
    throw new UnknownLayout('divisors that are no doubles');
  }
  if (divisors.valid !== undefined) {
    for (let i = 0; i < divisors.valid.length; i++) {
      const isComplete = valid !== undefined && (valid[i] & ~divisors.valid[i]) === 0;
      if (!isComplete) throw new UnknownLayout('scaled values without divisors');
    }
  }
  for (let i = 0; i < length; i++) {
    if (valid === undefined || ((valid[i >> 3] >> (i & 7)) & 1) === 1) values[i] /= divisors.values[i];
  }
}
