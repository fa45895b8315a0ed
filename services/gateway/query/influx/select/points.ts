import type { JsonValue } from '../../../protocols/common/json.js';
import type { ColumnValue } from './columns.js';
import type { MathOperator, SelectFill } from './statement.js';

/** A point of a series: its time and the values of SQL, or those of the result. */
export interface SelectPoint {
  readonly timeNs: bigint;
  readonly values: readonly JsonValue[];
}

/** Intervals of `GROUP BY time(..)`. */
export interface FilledRange {
  readonly everyNs: bigint;
  readonly firstNs: bigint;
  readonly lastNs: bigint;
}

/** Returns the number of intervals. */
export function intervalCount({ everyNs, firstNs, lastNs }: FilledRange): number {
  return lastNs < firstNs ? 0 : Number((lastNs - firstNs) / everyNs) + 1;
}

/** Adds points for the intervals that have none. @param points in the order of time. @param counts values that are 0 there. */
export function filledPoints(
  points: readonly SelectPoint[],
  range: FilledRange,
  fill: Exclude<SelectFill, 'none'>,
  counts: ReadonlySet<number>,
): SelectPoint[] {
  const width = points[0].values.length;
  const known = new Map(points.map(({ timeNs, values }) => [timeNs, values]));
  const empty = Array.from({ length: width }, (_none, i) => (fill === 'null' && counts.has(i) ? 0 : null));
  const rows = Array.from({ length: intervalCount(range) }, (_none, i) => {
    const timeNs = range.firstNs + BigInt(i) * range.everyNs;
    return { timeNs, values: [...(known.get(timeNs) ?? empty)] };
  });
  for (let column = 0; column < width; column++) {
    const values = rows.map((row) => row.values[column]);
    const filled = filledValues(values, known.size === 0 ? 'null' : fill);
    for (const [i, value] of filled.entries()) rows[i].values[column] = value;
  }
  return rows;
}

function filledValues(values: readonly JsonValue[], fill: Exclude<SelectFill, 'none'>): readonly JsonValue[] {
  if (fill === 'null') return values;
  if (fill === 'linear') return interpolated(values);
  let last: JsonValue = null;
  return values.map((value) => {
    if (value !== null) last = value;
    return value ?? (fill === 'previous' ? last : fill);
  });
}

/** Puts values without a neighbour on both sides on the line between the nearest ones. */
function interpolated(values: readonly JsonValue[]): JsonValue[] {
  const filled = [...values];
  let before = -1;
  for (const [i, value] of values.entries()) {
    if (value === null) continue;
    const [from, to] = [numberOf(values[before] ?? null), numberOf(value)];
    if (before >= 0 && from !== undefined && to !== undefined) {
      for (let at = before + 1; at < i; at++) filled[at] = from + ((to - from) * (at - before)) / (i - before);
    }
    before = i;
  }
  return filled;
}

/** Computes the columns of the result for the points of a series. */
export function computedPoints(points: readonly SelectPoint[], columns: readonly ColumnValue[]): SelectPoint[] {
  const computed = columns.map((column) => columnValues(column, points));
  return points.map(({ timeNs }, i) => ({ timeNs, values: computed.map((values) => values[i]) }));
}

function columnValues(column: ColumnValue, points: readonly SelectPoint[]): readonly JsonValue[] {
  switch (column.kind) {
    case 'constant':
      return points.map(() => column.value);
    case 'sql':
      return points.map(({ values }) => values[column.index]);
    case 'math': {
      const left = columnValues(column.left, points);
      const right = columnValues(column.right, points);
      return left.map((value, i) => calculated(column.operator, numberOf(value), numberOf(right[i])));
    }
    case 'transform': {
      const values = columnValues(column.of, points).map(numberOf);
      const positions = values.flatMap((value, i) => (value === undefined ? [] : [i]));
      const given = positions.map((i) => ({ timeNs: points[i].timeNs, value: values[i]! }));
      const result: JsonValue[] = points.map(() => null);
      for (const [i, value] of column.transform(given).entries()) {
        if (value !== undefined && Number.isFinite(value)) result[positions[i]] = value;
      }
      return result;
    }
  }
}

function calculated(operator: MathOperator, left: number | undefined, right: number | undefined): number | null {
  if (left === undefined || right === undefined) return null;
  const value = CALCULATIONS[operator](left, right);
  return Number.isFinite(value) ? value : null;
}

const CALCULATIONS: Readonly<Record<MathOperator, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  // InfluxDB has 0 for a division by 0.
  '/': (left, right) => (right === 0 ? 0 : left / right),
  '%': (left, right) => (right === 0 ? 0 : left % right),
};

function numberOf(value: JsonValue): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'bigint' ? Number(value) : undefined;
}
