import { AlmanacError } from '#shared/errors/almanac-error';

import type { Annotations } from './annotations.js';
import { applyNumbers, isSetOperator, keepsName } from './arithmetic.js';
import type { BinaryExpr, VectorMatching } from './ast.js';
import { applySamples, type Sample } from './binary-samples.js';
import type { Env } from './env.js';
import { METRIC_LABELS, printLabels, type Labels } from './labels.js';
import { masked, matchGroups, matchingLabels, presence, type MatchGroup } from './matching.js';
import {
  emptySeries,
  hasSamples,
  histogramAt,
  HISTOGRAM,
  NONE,
  setFloat,
  setHistogram,
  type MutableSeries,
  type StepSeries,
} from './samples.js';

/** Two scalars, step by step. */
export function scalarBinary({ op }: BinaryExpr, lhs: Float64Array, rhs: Float64Array): Float64Array {
  return lhs.map((value, step) => applyNumbers(op, value, rhs[step]));
}

/** A vector and a scalar. @param isSwapped whether the scalar is the left operand. */
export function vectorScalarBinary(
  expr: BinaryExpr,
  vector: readonly StepSeries[],
  scalar: Float64Array,
  isSwapped: boolean,
  env: Env,
): StepSeries[] {
  const dropsName = !keepsName(expr.op, expr.isBool);
  return vector.flatMap((series) => {
    const result = emptySeries(series.labels, env.steps, series.isNameDropped || dropsName);
    for (let step = 0; step < env.steps; step++) {
      if (series.kinds[step] === NONE) continue;
      const sample = sampleAt(series, step);
      const [lhs, rhs] = isSwapped ? [scalar[step], sample] : [sample, scalar[step]];
      put(result, step, applySamples(expr, lhs, rhs, sample, env.notes));
    }
    return hasSamples(result) ? [result] : [];
  });
}

/** Two vectors, by the labels that their series have in common. */
export function vectorBinary(
  expr: BinaryExpr,
  lhs: readonly StepSeries[],
  rhs: readonly StepSeries[],
  env: Env,
): StepSeries[] {
  const groups = matchGroups(lhs, rhs, matchingLabels(expr.matching));
  if (isSetOperator(expr.op)) return setBinary(expr, lhs, rhs, groups, env);
  const results = new Results(expr, env);
  const { fillLeft, fillRight } = expr.matching;
  const areBothThere = bothPresent(presence(lhs, env.steps), presence(rhs, env.steps));
  const isFilled = fillLeft !== undefined || fillRight !== undefined;
  for (const group of groups) new GroupMatch(expr, group, results, env).run(isFilled ? undefined : areBothThere);
  return results.all();
}

function bothPresent(one: Uint8Array, other: Uint8Array): Uint8Array {
  return one.map((isPresent, step) => isPresent & other[step]);
}

function setBinary(
  { op }: BinaryExpr,
  lhs: readonly StepSeries[],
  rhs: readonly StepSeries[],
  groups: readonly MatchGroup[],
  { steps }: Env,
): StepSeries[] {
  const kept = new Map<StepSeries, StepSeries | undefined>();
  for (const group of groups) {
    const isLeft = presence(group.lhs, steps);
    const isRight = presence(group.rhs, steps);
    for (const series of group.lhs) {
      kept.set(series, op === 'or' ? series : masked(series, isRight, op === 'and' ? 1 : 0));
    }
    for (const series of group.rhs) kept.set(series, op === 'or' ? masked(series, isLeft, 0) : undefined);
  }
  return [...lhs, ...rhs].flatMap((series) => kept.get(series) ?? []);
}

function sampleAt(series: StepSeries, step: number): Sample {
  return series.kinds[step] === HISTOGRAM ? histogramAt(series, step) : series.values[step];
}

function put(series: MutableSeries, step: number, sample: Sample | undefined): void {
  if (sample === undefined) return;
  if (typeof sample === 'number') setFloat(series, step, sample);
  else setHistogram(series, step, sample);
}

/** The series of a result, by their labels. */
class Results {
  readonly #expr: BinaryExpr;
  readonly #steps: number;
  readonly #notes: Annotations;
  readonly #series = new Map<string, MutableSeries>();

  constructor(expr: BinaryExpr, { steps, notes }: Env) {
    this.#expr = expr;
    this.#steps = steps;
    this.#notes = notes;
  }

  all(): StepSeries[] {
    return [...this.#series.values()].filter(hasSamples);
  }

  /** The series with these labels. Its name is there to stay: what drops it has dropped it already. */
  at(labels: Labels): MutableSeries {
    let series = this.#series.get(labels.key);
    if (series === undefined) {
      series = emptySeries(labels, this.#steps, false);
      this.#series.set(labels.key, series);
    }
    return series;
  }

  put(series: MutableSeries, step: number, lhs: Sample, rhs: Sample): void {
    const sample = applySamples(this.#expr, lhs, rhs, lhs, this.#notes);
    if (sample === undefined) return;
    if (series.kinds[step] !== NONE) {
      throw new AlmanacError('execute_query', 'vector cannot contain metrics with the same labelset');
    }
    put(series, step, sample);
  }
}

/** The matches of one group: the many side meets the one series that the other has at each step. */
class GroupMatch {
  readonly #expr: BinaryExpr;
  readonly #matching: VectorMatching;
  readonly #group: MatchGroup;
  readonly #results: Results;
  readonly #steps: number;
  readonly #isSwapped: boolean;
  readonly #many: readonly StepSeries[];
  readonly #one: readonly StepSeries[];

  constructor(expr: BinaryExpr, group: MatchGroup, results: Results, { steps }: Env) {
    this.#expr = expr;
    this.#matching = expr.matching;
    this.#group = group;
    this.#results = results;
    this.#steps = steps;
    this.#isSwapped = expr.matching.card === 'one-to-many';
    this.#many = this.#isSwapped ? group.rhs : group.lhs;
    this.#one = this.#isSwapped ? group.lhs : group.rhs;
  }

  /** @param steps 1 for those at which both vectors have something; all if not given. */
  run(steps: Uint8Array | undefined): void {
    const partners = this.#partners(steps);
    const isMatched = new Uint8Array(this.#steps);
    const fills = this.#fills();
    const taken: Set<string>[] = [];
    for (const series of this.#many) {
      for (let step = 0; step < this.#steps; step++) {
        if (series.kinds[step] === NONE || steps?.[step] === 0) continue;
        const at = partners[step];
        if (at < 0 && fills.one === undefined) continue;
        this.#checkOnce(isMatched, step);
        isMatched[step] = 1;
        const partner = at < 0 ? undefined : this.#one[at];
        const labels = this.#labels(series.labels, partner?.labels);
        this.#checkUnique((taken[step] ??= new Set()), labels);
        this.#put(
          labels,
          step,
          sampleAt(series, step),
          partner === undefined ? (fills.one ?? 0) : sampleAt(partner, step),
        );
      }
    }
    if (fills.many === undefined) return;
    for (let step = 0; step < this.#steps; step++) {
      const at = partners[step];
      if (at < 0 || isMatched[step] === 1) continue;
      const partner = this.#one[at];
      this.#put(this.#labels(this.#group.labels, partner.labels), step, fills.many, sampleAt(partner, step));
    }
  }

  /** What stands in for a missing sample of the many side and of the one side. */
  #fills(): { readonly many: number | undefined; readonly one: number | undefined } {
    // With `group_right` the sides are swapped, and what they are filled with is not.
    const { fillLeft, fillRight } = this.#matching;
    return { many: fillLeft, one: fillRight };
  }

  #put(labels: Labels, step: number, many: Sample, one: Sample): void {
    const [lhs, rhs] = this.#isSwapped ? [one, many] : [many, one];
    this.#results.put(this.#results.at(labels), step, lhs, rhs);
  }

  /** For each step which series of the one side is there; -1 for none. */
  #partners(steps: Uint8Array | undefined): Int32Array {
    const partners = new Int32Array(this.#steps).fill(-1);
    for (const [i, { kinds }] of this.#one.entries()) {
      for (let step = 0; step < this.#steps; step++) {
        if (kinds[step] === NONE || steps?.[step] === 0) continue;
        if (partners[step] >= 0) throw this.#duplicate(this.#one[partners[step]], this.#one[i]);
        partners[step] = i;
      }
    }
    return partners;
  }

  #duplicate(one: StepSeries, other: StepSeries): AlmanacError {
    const side = this.#isSwapped ? 'left' : 'right';
    const both = [printLabels(one.labels), printLabels(other.labels)].sort().join(', ');
    const group = printLabels(this.#group.labels);
    const what = `found duplicate series for the match group ${group} on the ${side} hand-side of the operation`;
    const why = 'many-to-many matching not allowed: matching labels must be unique on one side';
    return new AlmanacError('execute_query', `${what}: [${both}];${why}`);
  }

  #checkOnce(isMatched: Uint8Array, step: number): void {
    if (this.#matching.card !== 'one-to-one' || isMatched[step] === 0) return;
    const why = 'many-to-one matching must be explicit (group_left/group_right)';
    throw new AlmanacError('execute_query', `multiple matches for labels: ${why}`);
  }

  #checkUnique(taken: Set<string>, labels: Labels): void {
    if (this.#matching.card === 'one-to-one') return;
    if (taken.has(labels.key)) {
      const text = 'multiple matches for labels: grouping labels must ensure unique matches';
      throw new AlmanacError('execute_query', text);
    }
    taken.add(labels.key);
  }

  #labels(many: Labels, one: Labels | undefined): Labels {
    const { card, isOn, labels: names, include } = this.#matching;
    let labels = keepsName(this.#expr.op, this.#expr.isBool) ? many : many.without(METRIC_LABELS);
    if (card === 'one-to-one') labels = isOn ? labels.only(new Set(names)) : labels.without(new Set(names));
    for (const name of include) labels = labels.with(name, one?.get(name) ?? '');
    return labels;
  }
}
