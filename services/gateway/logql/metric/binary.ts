import { AlmanacError } from '#shared/errors/almanac-error';

import type { BinaryOperation, SideMatching } from '../syntax/ast.js';
import { emptySeries, seriesKey, type MetricSeries, type SeriesLabels } from './series.js';

/** The value of an expression: series, or one number. */
export type MetricValue = number | readonly MetricSeries[];

const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
  '^': (a, b) => a ** b,
};
const COMPARISONS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
};

/** Computes the values of two numbers; undefined if a comparison does not hold and returns no 0. */
type Compute = (a: number, b: number) => number | undefined;

/** Computes an operation at each step. @throws `invalid_arguments` if the sides do not match. */
export function operate(operation: BinaryOperation, left: MetricValue, right: MetricValue, count: number): MetricValue {
  const { op, returnsBool } = operation;
  if (op === 'and' || op === 'or' || op === 'unless') {
    return combined(operation, vectorOf(left, op), vectorOf(right, op), count);
  }
  if (typeof left === 'number' && typeof right === 'number') return scalarResult(op, left, right);
  const test = COMPARISONS[op];
  const compute: Compute = test === undefined ? ARITHMETIC[op] : comparing(test, returnsBool);
  if (typeof right === 'number') {
    return mapped(left as readonly MetricSeries[], count, (value) => compute(value, right));
  }
  if (typeof left === 'number') {
    const keeps = test !== undefined && !returnsBool;
    return mapped(right, count, (value) => {
      const result = compute(left, value);
      return keeps && result !== undefined ? value : result;
    });
  }
  return matched(operation, left, right, { count, compute });
}

function scalarResult(op: string, a: number, b: number): number {
  return op in ARITHMETIC ? ARITHMETIC[op](a, b) : Number(COMPARISONS[op](a, b));
}

function comparing(test: (a: number, b: number) => boolean, returnsBool: boolean): Compute {
  if (returnsBool) return (a, b) => Number(test(a, b));
  return (a, b) => (test(a, b) ? a : undefined);
}

function vectorOf(value: MetricValue, op: string): readonly MetricSeries[] {
  if (typeof value !== 'number') return value;
  throw new AlmanacError('invalid_arguments', `unexpected literal for the operation ${op}: both sides must be vectors`);
}

function mapped(
  series: readonly MetricSeries[],
  count: number,
  compute: (value: number) => number | undefined,
): MetricSeries[] {
  return series.map(({ labels, values, present }) => {
    const out = emptySeries(labels, count);
    for (let step = 0; step < count; step++) if (present[step] === 1) put(out, step, compute(values[step]));
    return out;
  });
}

function put(series: MetricSeries, step: number, value: number | undefined): void {
  if (value === undefined) return;
  series.values[step] = value;
  series.present[step] = 1;
}

function matchingLabels(labels: SeriesLabels, matching: SideMatching | undefined): SeriesLabels {
  if (matching === undefined) return labels;
  return labels.filter(([name]) => matching.labels.includes(name) === matching.isOn);
}

function byKey(series: readonly MetricSeries[], matching: SideMatching | undefined): Map<string, MetricSeries[]> {
  const groups = new Map<string, MetricSeries[]>();
  for (const one of series) {
    const key = seriesKey(matchingLabels(one.labels, matching));
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  return groups;
}

interface Matched {
  readonly count: number;
  readonly compute: Compute;
}

function matched(
  { matching }: BinaryOperation,
  left: readonly MetricSeries[],
  right: readonly MetricSeries[],
  { count, compute }: Matched,
): MetricSeries[] {
  const isRightMany = matching?.group === 'right';
  const [many, one] = isRightMany ? [right, left] : [left, right];
  const partners = byKey(one, matching);
  for (const group of partners.values()) if (group.length > 1) throw manyToMany();
  const seen = new Set<string>();
  const out: MetricSeries[] = [];
  for (const series of many) {
    const key = seriesKey(matchingLabels(series.labels, matching));
    const partner = partners.get(key)?.at(0);
    if (partner === undefined) continue;
    if (matching?.group === undefined && seen.has(key)) throw manyToMany();
    seen.add(key);
    const result = emptySeries(resultLabels(series.labels, partner.labels, matching), count);
    for (let step = 0; step < count; step++) {
      if (series.present[step] === 0 || partner.present[step] === 0) continue;
      const [a, b] = isRightMany ? [partner, series] : [series, partner];
      put(result, step, compute(a.values[step], b.values[step]));
    }
    out.push(result);
  }
  return out;
}

function resultLabels(labels: SeriesLabels, partner: SeriesLabels, matching: SideMatching | undefined): SeriesLabels {
  if (matching?.group === undefined) return matchingLabels(labels, matching);
  const all = new Map(labels);
  for (const name of matching.include) {
    const value = partner.find(([it]) => it === name)?.[1];
    if (value === undefined) all.delete(name);
    else all.set(name, value);
  }
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Computes `and`, `or` and `unless`. */
function combined(
  { op, matching }: BinaryOperation,
  left: readonly MetricSeries[],
  right: readonly MetricSeries[],
  count: number,
): MetricSeries[] {
  const [filtered, others] = op === 'or' ? [right, byKey(left, matching)] : [left, byKey(right, matching)];
  const kept = filtered.map((series) => {
    const group = others.get(seriesKey(matchingLabels(series.labels, matching))) ?? [];
    const out = { ...series, present: new Uint8Array(count) };
    for (let step = 0; step < count; step++) {
      const hasPartner = group.some(({ present }) => present[step] === 1);
      if (series.present[step] === 1 && hasPartner === (op === 'and')) out.present[step] = 1;
    }
    return out;
  });
  return op === 'or' ? [...left, ...kept] : kept;
}

function manyToMany(): AlmanacError {
  return new AlmanacError(
    'invalid_arguments',
    'multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)',
  );
}
