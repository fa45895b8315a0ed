import type { SqlColumn } from './sql-result.js';

/** Which columns of a result are drawn, and how. */
export interface ChartPlan {
  readonly kind: 'line' | 'bars' | 'stat';
  /** Column of the times of `line`. */
  readonly time: number;
  readonly values: readonly number[];
  /** Columns of text whose values make the series of `line`, or the names of `bars`. */
  readonly labels: readonly number[];
}

const BARS_MAX = 100;

/** Chooses the chart of a result. @returns undefined if it has no numbers to draw. */
export function chartPlan(columns: readonly SqlColumn[], rowCount: number): ChartPlan | undefined {
  const indexes = columns.map((_, i) => i);
  const ofKind = (...kinds: readonly SqlColumn['kind'][]): number[] =>
    indexes.filter((i) => kinds.includes(columns[i].kind));
  const times = ofKind('time');
  const values = ofKind('number', 'integer');
  const labels = ofKind('text', 'boolean');
  if (values.length === 0 || rowCount === 0) return undefined;
  if (times.length > 0) return { kind: 'line', time: times[0], values, labels };
  if (rowCount === 1) return { kind: 'stat', time: -1, values, labels: [] };
  if (labels.length > 0 && rowCount <= BARS_MAX) return { kind: 'bars', time: -1, values, labels };
  return undefined;
}
