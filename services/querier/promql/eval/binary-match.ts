import { AlmanacError } from '#shared/errors/almanac-error';

import { printLabels, type Labels } from '../../series/labels.js';
import { newSeries, SERIES_WORK, type Env } from '../runtime/env.js';
import {
  FLOAT_SAMPLE,
  hasSamples,
  NO_SAMPLE,
  putSample,
  sampleAt,
  type MutableSeries,
  type SampleValue,
  type StepSeries,
} from '../runtime/samples.js';
import type { Units } from '../runtime/scheduler.js';
import type { BinaryExpr, VectorMatching } from '../syntax/ast.js';
import { arithmeticOf, isArithmetic, keepsName } from '../syntax/operators.js';
import { applySamples } from './binary-samples.js';
import { matchedNames, type MatchGroup } from './matching.js';

/** The result series of a binary operation, by their labels. */
export class MatchResults {
  readonly #env: Env;
  readonly #expr: BinaryExpr;
  readonly #series = new Map<string, MutableSeries>();

  constructor(expr: BinaryExpr, env: Env) {
    this.#expr = expr;
    this.#env = env;
  }

  /** Returns the series that have samples. */
  async all(): Promise<StepSeries[]> {
    const { scheduler, steps } = this.#env;
    const found: StepSeries[] = [];
    await scheduler.each(this.#series.values(), 1 + steps, (series) => {
      if (hasSamples(series)) found.push(series);
    });
    return found;
  }

  /** Returns the series with these labels. Its metric name is final: `#labels` has removed it where necessary. */
  at(labels: Labels): MutableSeries {
    let series = this.#series.get(labels.key);
    if (series === undefined) {
      series = newSeries(labels, this.#env, false);
      this.#series.set(labels.key, series);
    }
    return series;
  }

  /** Sets the result of two samples. @throws `execute_query` if the step has a sample. */
  put(series: MutableSeries, step: number, lhs: SampleValue, rhs: SampleValue): void {
    const sample = applySamples(this.#expr, lhs, rhs, lhs, this.#env.annotations);
    if (sample === undefined) return;
    checkEmpty(series, step);
    putSample(series, step, sample);
  }
}

function checkEmpty({ kinds }: StepSeries, step: number): void {
  if (kinds[step] === NO_SAMPLE) return;
  throw new AlmanacError('execute_query', 'vector cannot contain metrics with the same labelset');
}

/** The result series of a series of the "many" side. */
interface PairResult {
  readonly result: MutableSeries;
  /** 1 at steps at which the group has a result with these labels; undefined if that can happen only once. */
  readonly usedSteps: Uint8Array | undefined;
}

/** Matches one group: each series of the "many" side with the only series that the "one" side has at each step. */
export class GroupMatch {
  readonly #expr: BinaryExpr;
  readonly #matching: VectorMatching;
  readonly #group: MatchGroup;
  readonly #results: MatchResults;
  readonly #env: Env;
  readonly #isSwapped: boolean;
  readonly #many: readonly StepSeries[];
  readonly #one: readonly StepSeries[];
  readonly #operate: ((lhs: number, rhs: number) => number) | undefined;
  /** 1 at steps at which the "one" side has a match. */
  readonly #isMatched: Uint8Array;
  readonly #usedSteps = new Map<string, Uint8Array>();

  constructor(expr: BinaryExpr, group: MatchGroup, results: MatchResults, env: Env) {
    this.#expr = expr;
    this.#matching = expr.matching;
    this.#group = group;
    this.#results = results;
    this.#env = env;
    this.#isSwapped = expr.matching.card === 'one-to-many';
    this.#many = this.#isSwapped ? group.rhs : group.lhs;
    this.#one = this.#isSwapped ? group.lhs : group.rhs;
    this.#operate = isArithmetic(expr.op) ? arithmeticOf(expr.op) : undefined;
    this.#isMatched = new Uint8Array(env.steps);
  }

  /** @param steps 1 for steps at which both vectors have samples; all steps if undefined. */
  *run(steps: Uint8Array | undefined): Units<void> {
    // As in Prometheus, `group_right` swaps the sides but not their fill values.
    const { fillLeft: fillMany, fillRight: fillOne } = this.#matching;
    const { limits, scheduler, steps: count } = this.#env;
    const partners = new Int32Array(count).fill(-1);
    for (const at of this.#one.keys()) {
      this.#findPartners(partners, steps, at);
      limits.spend(SERIES_WORK + count);
      if (scheduler.isDue) yield;
    }
    for (const series of this.#many) {
      this.#match(series, partners, fillOne, steps);
      limits.spend(SERIES_WORK + count);
      if (scheduler.isDue) yield;
    }
    if (fillMany !== undefined) this.#fill(partners, fillMany);
  }

  /** Matches one series of the "many" side. */
  #match(series: StepSeries, partners: Int32Array, fillOne: number | undefined, steps: Uint8Array | undefined): void {
    let pair: PairResult | undefined;
    let pairedWith = -2;
    for (let step = 0; step < partners.length; step++) {
      const at = partners[step];
      if (series.kinds[step] === NO_SAMPLE || steps?.[step] === 0 || (at < 0 && fillOne === undefined)) continue;
      this.#checkOnce(step);
      if (pair === undefined || at !== pairedWith) pair = this.#pair(series, at);
      pairedWith = at;
      this.#checkUnique(pair, step);
      if (at < 0) this.#put(pair.result, step, sampleAt(series, step), fillOne ?? 0);
      else this.#putBoth(pair.result, step, series, this.#one[at]);
    }
  }

  #fill(partners: Int32Array, value: number): void {
    for (let step = 0; step < partners.length; step++) {
      const at = partners[step];
      if (at < 0 || this.#isMatched[step] === 1) continue;
      const partner = this.#one[at];
      const result = this.#results.at(this.#labels(this.#group.labels, partner.labels));
      this.#put(result, step, value, sampleAt(partner, step));
    }
  }

  #pair(series: StepSeries, at: number): PairResult {
    const labels = this.#labels(series.labels, at < 0 ? undefined : this.#one[at].labels);
    if (this.#matching.card === 'one-to-one') return { result: this.#results.at(labels), usedSteps: undefined };
    let usedSteps = this.#usedSteps.get(labels.key);
    if (usedSteps === undefined) {
      usedSteps = new Uint8Array(this.#env.steps);
      this.#usedSteps.set(labels.key, usedSteps);
    }
    return { result: this.#results.at(labels), usedSteps };
  }

  #putBoth(result: MutableSeries, step: number, many: StepSeries, one: StepSeries): void {
    if (this.#operate === undefined || many.kinds[step] !== FLOAT_SAMPLE || one.kinds[step] !== FLOAT_SAMPLE) {
      this.#put(result, step, sampleAt(many, step), sampleAt(one, step));
      return;
    }
    checkEmpty(result, step);
    const [lhs, rhs] = this.#isSwapped ? [one, many] : [many, one];
    result.kinds[step] = FLOAT_SAMPLE;
    result.values[step] = this.#operate(lhs.values[step], rhs.values[step]);
  }

  #put(result: MutableSeries, step: number, many: SampleValue, one: SampleValue): void {
    if (this.#isSwapped) this.#results.put(result, step, one, many);
    else this.#results.put(result, step, many, one);
  }

  /** Notes the steps of a series of the "one" side. @throws `execute_query` for two at a step. */
  #findPartners(partners: Int32Array, steps: Uint8Array | undefined, at: number): void {
    const { kinds } = this.#one[at];
    for (let step = 0; step < partners.length; step++) {
      if (kinds[step] === NO_SAMPLE || steps?.[step] === 0) continue;
      if (partners[step] >= 0) throw this.#duplicate(this.#one[partners[step]], this.#one[at]);
      partners[step] = at;
    }
  }

  #duplicate(one: StepSeries, other: StepSeries): AlmanacError {
    const side = this.#isSwapped ? 'left' : 'right';
    const both = [printLabels(one.labels), printLabels(other.labels)].sort().join(', ');
    const group = printLabels(this.#group.labels);
    const what = `found duplicate series for the match group ${group} on the ${side} hand-side of the operation`;
    const why = 'many-to-many matching not allowed: matching labels must be unique on one side';
    return new AlmanacError('execute_query', `${what}: [${both}];${why}`);
  }

  #checkOnce(step: number): void {
    if (this.#matching.card === 'one-to-one' && this.#isMatched[step] === 1) {
      const why = 'many-to-one matching must be explicit (group_left/group_right)';
      throw new AlmanacError('execute_query', `multiple matches for labels: ${why}`);
    }
    this.#isMatched[step] = 1;
  }

  #checkUnique({ usedSteps }: PairResult, step: number): void {
    if (usedSteps === undefined) return;
    if (usedSteps[step] === 1) {
      const text = 'multiple matches for labels: grouping labels must ensure unique matches';
      throw new AlmanacError('execute_query', text);
    }
    usedSteps[step] = 1;
  }

  #labels(many: Labels, one: Labels | undefined): Labels {
    const { card, isOn, include } = this.#matching;
    const names = matchedNames(this.#matching);
    let labels = keepsName(this.#expr.op, this.#expr.isBool) ? many : many.bare;
    if (card === 'one-to-one') labels = isOn ? labels.only(names) : labels.without(names);
    for (const name of include) labels = labels.with(name, one?.get(name) ?? '');
    return labels;
  }
}
