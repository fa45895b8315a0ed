import { DELETED } from '#shared/schema/segment-columns';

import type { Numbers, NumberArray } from './accumulators.js';
import type { FieldValues } from './field-values.js';
import type { Comparison, NumberCondition } from './query.js';

/** Writes whether each row satisfies a condition, as 1 or 0, to `mask[from, to)`. */
export function markCompared(
  { values, base }: Numbers,
  { comparison, value }: NumberCondition,
  mask: Uint8Array,
  from: number,
  to: number,
): void {
  MARKS[comparison](values, value - base, mask, from, to);
}

/** Reports whether a number satisfies a condition. */
export function satisfies(number: number, { comparison, value }: NumberCondition): boolean {
  one[0] = number;
  MARKS[comparison](one, value, isSatisfied, 0, 1);
  return isSatisfied[0] === 1;
}

const one = new Float64Array(1);
const isSatisfied = new Uint8Array(1);

type Mark = (values: NumberArray, value: number, mask: Uint8Array, from: number, to: number) => void;

/** NaN is greater than every value here, so that the comparisons are written as the negation of their opposites. */
const MARKS: Readonly<Record<Comparison, Mark>> = {
  '=': (values, value, mask, from, to) => {
    for (let row = from; row < to; row++) mask[row] = values[row] === value ? 1 : 0;
  },
  '!=': (values, value, mask, from, to) => {
    for (let row = from; row < to; row++) mask[row] = values[row] === value ? 0 : 1;
  },
  '<': (values, value, mask, from, to) => {
    for (let row = from; row < to; row++) mask[row] = values[row] < value ? 1 : 0;
  },
  '<=': (values, value, mask, from, to) => {
    for (let row = from; row < to; row++) mask[row] = values[row] <= value ? 1 : 0;
  },
  '>': (values, value, mask, from, to) => {
    for (let row = from; row < to; row++) mask[row] = values[row] <= value ? 0 : 1;
  },
  '>=': (values, value, mask, from, to) => {
    for (let row = from; row < to; row++) mask[row] = values[row] < value ? 0 : 1;
  },
};

/** Clears `mask[from, to)` where a bit of a validity bitmap is not set. */
export function clearNulls(mask: Uint8Array, valid: Uint8Array, from: number, to: number): void {
  for (let row = from; row < to; row++) mask[row] &= valid[row >> 3] >> (row & 7);
}

/** Clears `mask[from, to)` where `other` is 0. */
export function clearWhere(mask: Uint8Array, other: Uint8Array, from: number, to: number): void {
  for (let row = from; row < to; row++) mask[row] &= other[row];
}

/** Clears `mask[from, to)` where a row is a deletion. @param ops operations of rows (`OP`) */
export function clearDeletions(mask: Uint8Array, ops: FieldValues, from: number, to: number): void {
  const { values, base, valid } = ops;
  const deleted = DELETED - base;
  for (let row = from; row < to; row++) {
    if (values[row] !== deleted) continue;
    if (valid === undefined || ((valid[row >> 3] >> (row & 7)) & 1) === 1) mask[row] = 0;
  }
}
