import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';

import { NotForKernels, type Arithmetic, type ArithmeticOperation, type IntegerRange } from './query.js';

type Operation = Extract<Arithmetic, { kind: 'operation' }>;

/** Powers of ten up to this one are exact doubles, so that rounding to as many digits is as exact as the engine's. */
export const DIGITS_MAX = 22;

/** Values of an expression, by the position of the group. */
export interface ComputedColumn {
  readonly values: Float64Array;
  /** 0 for null. */
  readonly valid: Uint8Array;
}

/** Memory of a computed column for one group. */
export const COMPUTED_BYTES = 9;

/** Reads an aggregate of a group. @param index position among the aggregates */
export type AggregateReader = (index: number, cell: number) => number | bigint | null;

/** How long expressions may take at once. */
export interface ComputeOptions {
  readonly clock: Clock;
  /** Called between slices of the work; an error that it throws ends it. */
  readonly check: () => void;
}

/** Groups whose values are computed at once. */
const BLOCK_GROUPS = 4096;

/**
 * Computes an expression for groups.
 *
 * @throws `NotForKernels` if integers exceed their type or 2^53, or are divided by zero: the engine returns the error.
 */
export async function compute(
  expression: Arithmetic,
  cells: readonly number[],
  read: AggregateReader,
  { clock, check }: ComputeOptions,
): Promise<ComputedColumn> {
  const column = { values: new Float64Array(cells.length), valid: new Uint8Array(cells.length) };
  const slices = new Slices(clock, { check });
  const work = operationsOf(expression);
  for (let from = 0; from < cells.length; from += BLOCK_GROUPS) {
    const block = cells.slice(from, from + BLOCK_GROUPS);
    const { values, valid } = computeBlock(expression, block, read);
    column.values.set(values, from);
    column.valid.set(valid, from);
    if (slices.isOver(block.length * work) && from + BLOCK_GROUPS < cells.length) await slices.yield();
  }
  return column;
}

/** Reports whether an expression has operations on integers, which may fail. */
export function mayFail(expression: Arithmetic): boolean {
  if (expression.kind !== 'operation') return false;
  return typeof expression.type === 'object' || expression.operands.some(mayFail);
}

function operationsOf(expression: Arithmetic): number {
  return expression.kind === 'operation'
    ? expression.operands.reduce((sum, operand) => sum + operationsOf(operand), 1)
    : 1;
}

/** Returns arrays of their own, which the caller may write to. */
function computeBlock(expression: Arithmetic, cells: readonly number[], read: AggregateReader): ComputedColumn {
  switch (expression.kind) {
    case 'aggregate':
      return aggregateColumn(expression.index, cells, read);
    case 'number':
      return {
        values: new Float64Array(cells.length).fill(expression.value),
        valid: new Uint8Array(cells.length).fill(1),
      };
    case 'operation':
      return operationColumn(
        expression,
        expression.operands.map((operand) => computeBlock(operand, cells, read)),
      );
  }
}

function aggregateColumn(index: number, cells: readonly number[], read: AggregateReader): ComputedColumn {
  const values = new Float64Array(cells.length);
  const valid = new Uint8Array(cells.length);
  for (let i = 0; i < cells.length; i++) {
    const value = read(index, cells[i]);
    if (value === null) continue;
    values[i] = Number(value);
    valid[i] = 1;
  }
  return { values, valid };
}

/** Computes the values of an operation in the arrays of its first operand. */
function operationColumn(
  { operation, type, digits }: Operation,
  [left, right = left]: readonly ComputedColumn[],
): ComputedColumn {
  if (type === 'Float32') {
    roundToFloats(left.values);
    if (right !== left) roundToFloats(right.values);
  }
  if (operation === 'coalesce') coalesce(left, right);
  else if (operation === 'round') round(left.values, digits);
  else {
    for (let i = 0; i < left.valid.length; i++) left.valid[i] &= right.valid[i];
    if (operation === 'divideIntegers') divideIntegers(left, right);
    else LOOPS[operation](left.values, right.values);
  }
  if (type === 'Float32') roundToFloats(left.values);
  else if (type !== 'Float64') checkIntegers(left, type);
  return left;
}

/** Write the results to the first array. */
const LOOPS: Readonly<
  Record<
    Exclude<ArithmeticOperation, 'coalesce' | 'round' | 'divideIntegers'>,
    (values: Float64Array, others: Float64Array) => void
  >
> = {
  '+': (values, others) => {
    for (let i = 0; i < values.length; i++) values[i] += others[i];
  },
  '-': (values, others) => {
    for (let i = 0; i < values.length; i++) values[i] -= others[i];
  },
  '*': (values, others) => {
    for (let i = 0; i < values.length; i++) values[i] *= others[i];
  },
  '/': (values, others) => {
    for (let i = 0; i < values.length; i++) values[i] /= others[i];
  },
  negate: (values) => {
    for (let i = 0; i < values.length; i++) values[i] = -values[i];
  },
  abs: (values) => {
    for (let i = 0; i < values.length; i++) values[i] = Math.abs(values[i]);
  },
  floor: (values) => {
    for (let i = 0; i < values.length; i++) values[i] = Math.floor(values[i]);
  },
  ceil: (values) => {
    for (let i = 0; i < values.length; i++) values[i] = Math.ceil(values[i]);
  },
  convert: () => undefined,
};

function roundToFloats(values: Float64Array): void {
  for (let i = 0; i < values.length; i++) values[i] = Math.fround(values[i]);
}

function coalesce({ values, valid }: ComputedColumn, others: ComputedColumn): void {
  for (let i = 0; i < values.length; i++) {
    if (valid[i] !== 0) continue;
    values[i] = others.values[i];
    valid[i] = others.valid[i];
  }
}

/** Rounds halves away from zero. As in the engine, values that overflow on the way stay, or become 0 with negative digits. */
function round(values: Float64Array, digits: number | undefined): void {
  if (digits === undefined) {
    for (let i = 0; i < values.length; i++) values[i] = rounded(values[i]);
    return;
  }
  const power = Number(`1e${Math.abs(digits)}`);
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    const result = digits < 0 ? rounded(value / power) * power : rounded(value * power) / power;
    values[i] = Number.isFinite(result) ? result : digits < 0 ? 0 : value;
  }
}

function rounded(value: number): number {
  const whole = Math.trunc(value);
  return Math.abs(value - whole) >= 0.5 ? whole + Math.sign(value) : whole;
}

function divideIntegers({ values, valid }: ComputedColumn, divisors: ComputedColumn): void {
  for (let i = 0; i < values.length; i++) {
    if (valid[i] === 0) continue;
    const divisor = divisors.values[i];
    if (divisor === 0) throw new NotForKernels('an integer is divided by zero');
    values[i] = (values[i] - (values[i] % divisor)) / divisor;
  }
}

/** Checks that results are in their range, in which all integers are exact, and replaces -0. */
function checkIntegers({ values, valid }: ComputedColumn, { least, greatest }: IntegerRange): void {
  for (let i = 0; i < values.length; i++) {
    values[i] += 0;
    if (valid[i] === 1 && !(values[i] >= least && values[i] <= greatest)) {
      throw new NotForKernels('arithmetic on integers exceeds their type or 2^53');
    }
  }
}
