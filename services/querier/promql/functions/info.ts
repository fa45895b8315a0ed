import { RE2JS } from 're2js';

import { AlmanacError } from '#shared/errors/almanac-error';

import { printLabels, type Labels } from '../../series/labels.js';
import { METRIC_NAME } from '#shared/schema/metric-table';
import { compileMatcher, matchesEmpty, PLAIN_WORK, type LabelMatcher, type ValueTest } from '../../series/matcher.js';
import { newSeries, SERIES_WORK, type Env } from '../runtime/env.js';
import {
  hasSamples,
  HISTOGRAM_SAMPLE,
  NO_SAMPLE,
  putSample,
  sampleAt,
  type MutableSeries,
  type StepSeries,
} from '../runtime/samples.js';
import type { Units } from '../runtime/scheduler.js';
import { instantVector, instantSeconds, loadInstant } from '../runtime/select.js';
import type { FunctionCall, VectorSelector } from '../syntax/ast.js';
import { commonReference } from '../syntax/time-dependence.js';
import { vectorOf, type FunctionDefinition, type ExpressionFunction } from './function.js';

/** Labels that a series and its info series have in common. */
const IDENTIFYING: ReadonlySet<string> = new Set(['instance', 'job']);
const DEFAULT_INFO: LabelMatcher = { name: METRIC_NAME, op: '=', value: 'target_info' };
const ANY_INFO: LabelMatcher = { name: METRIC_NAME, op: '=~', value: '.+_info' };

/** An info series with the times of its samples, by which the newer of two wins. */
interface InfoSeries {
  readonly series: StepSeries;
  /** Seconds, one per step. */
  readonly times: Float64Array;
  readonly name: string;
}

/** Adds labels of info series to the series of a vector that have the same identifying labels. */
async function addInfo(expr: FunctionCall, vector: readonly StepSeries[], env: Env): Promise<StepSeries[]> {
  const selector = expr.args.at(1);
  const matchers = selector?.kind === 'vectorSelector' ? selector.matchers : [];
  const names = nameMatchers(matchers);
  const data = matchers.filter(({ name }) => name !== METRIC_NAME);
  const tests = names.map(compileMatcher);
  const plain = await notMatching(vector, tests, env);
  const isPlain = new Set(plain);
  const infos = await infoSeries(expr, plain, [...names, ...data], env);
  const results = new Map<string, MutableSeries>();
  const copied = data.length === 0 ? undefined : new Set(data.map(({ name }) => name));
  const isOptional = data.every(matchesEmpty);
  function* enrich(series: StepSeries): Units<void> {
    // Info series are not enriched.
    const matching = isPlain.has(series) ? (infos.get(series.labels.only(IDENTIFYING).key) ?? []) : undefined;
    for (let step = 0; step < env.steps; step++) {
      if (series.kinds[step] === NO_SAMPLE) continue;
      env.limits.spend(SERIES_WORK);
      if (env.scheduler.isDue) yield;
      const labels =
        matching === undefined ? series.labels : enriched(series.labels, matching, step, copied, isOptional);
      if (labels === undefined) continue;
      let result = results.get(labels.key);
      if (result === undefined) {
        result = newSeries(labels, env, series.isNameDropped);
        results.set(labels.key, result);
      }
      if (result.kinds[step] !== NO_SAMPLE) {
        throw new AlmanacError('execute_query', 'vector cannot contain metrics with the same labelset');
      }
      putSample(result, step, sampleAt(series, step));
    }
  }
  for (const series of vector) await env.scheduler.finish(enrich(series));
  return [...results.values()].filter(hasSamples);
}

/** Returns the series whose names do not pass all tests. */
async function notMatching(
  vector: readonly StepSeries[],
  tests: readonly ValueTest[],
  { scheduler }: Env,
): Promise<StepSeries[]> {
  const rest: StepSeries[] = [];
  await scheduler.each(vector, SERIES_WORK, (series) => {
    const name = series.labels.get(METRIC_NAME);
    const passes = tests.every((test) => {
      scheduler.spend(test.work ?? PLAIN_WORK);
      return test(name);
    });
    if (!passes) rest.push(series);
  });
  return rest;
}

function nameMatchers(matchers: readonly LabelMatcher[]): LabelMatcher[] {
  const names = matchers.filter(({ name }) => name === METRIC_NAME);
  if (names.length === 0) return [DEFAULT_INFO];
  return names.every(({ op }) => op === '!=' || op === '!~') ? [...names, ANY_INFO] : names;
}

/** Reads the info series of a vector, grouped by their identifying labels. */
async function infoSeries(
  expr: FunctionCall,
  vector: readonly StepSeries[],
  matchers: readonly LabelMatcher[],
  env: Env,
): Promise<Map<string, InfoSeries[]>> {
  const byKey = new Map<string, InfoSeries[]>();
  const identifying = [...IDENTIFYING].flatMap((name): LabelMatcher[] => {
    const values = new Set(vector.map(({ labels }) => labels.get(name)).filter((value) => value !== ''));
    return values.size === 0 ? [] : [{ name, op: '=~', value: [...values].map((it) => RE2JS.quote(it)).join('|') }];
  });
  if (identifying.length === 0) return byKey;
  // The info series are read at the time of the samples that they describe.
  const { offsetMs, atMs } = commonReference(expr.args[0]) ?? { offsetMs: 0, atMs: undefined };
  const selector: VectorSelector = {
    kind: 'vectorSelector',
    name: '',
    matchers: [...matchers, ...identifying],
    start: expr.start,
    end: expr.end,
    offsetMs,
    offsetExpr: undefined,
    atMs,
    startOrEnd: undefined,
    isAnchored: false,
    isSmoothed: false,
  };
  const samples = await loadInstant(selector, env);
  const times = await instantSeconds(samples, selector, env, (one) => one.times);
  const vectors = await instantVector(samples, selector, env);
  await env.scheduler.each(vectors.entries(), SERIES_WORK, ([i, series]) => {
    if (series.kinds.includes(HISTOGRAM_SAMPLE)) {
      const text = `this should be an info metric, with float samples: ${printLabels(series.labels)}`;
      throw new AlmanacError('execute_query', text);
    }
    const { key } = series.labels.only(IDENTIFYING);
    const others = byKey.get(key);
    const info = { series, times: times[i].values, name: series.labels.get(METRIC_NAME) };
    if (others === undefined) byKey.set(key, [info]);
    else others.push(info);
  });
  return byKey;
}

/** Returns the labels with those of the info series at a step; undefined if there is no info series and one is required. */
function enriched(
  labels: Labels,
  infos: readonly InfoSeries[],
  step: number,
  copied: ReadonlySet<string> | undefined,
  isOptional: boolean,
): Labels | undefined {
  const newest = newestByName(infos, step);
  if (newest.size === 0) return isOptional ? labels : undefined;
  const added = new Map<string, string>();
  for (const { series } of newest.values()) {
    for (const [name, value] of series.labels.pairs()) {
      if (name === METRIC_NAME || IDENTIFYING.has(name) || copied?.has(name) === false) continue;
      if (labels.get(name) !== '') continue;
      if ((added.get(name) ?? value) !== value) throw new AlmanacError('execute_query', `conflicting label: ${name}`);
      added.set(name, value);
    }
  }
  let result = labels;
  for (const [name, value] of added) result = result.with(name, value);
  return result;
}

function newestByName(infos: readonly InfoSeries[], step: number): Map<string, InfoSeries> {
  const newest = new Map<string, InfoSeries>();
  for (const info of infos) {
    if (info.series.kinds[step] === NO_SAMPLE) continue;
    const before = newest.get(info.name);
    if (before?.times[step] === info.times[step]) {
      const at = ` @ ${info.times[step] * 1000}`;
      const both = `existing ${printLabels(before.series.labels)}${at}, new ${printLabels(info.series.labels)}${at}`;
      throw new AlmanacError('execute_query', `found duplicate series for info metric: ${both}`);
    }
    if (before === undefined || before.times[step] < info.times[step]) newest.set(info.name, info);
  }
  return newest;
}

const infoBody: ExpressionFunction = {
  kind: 'expression',
  async run(expr, env, evaluator) {
    const vector = vectorOf(await evaluator.evaluate(expr.args[0], env));
    return { kind: 'vector', series: await addInfo(expr, vector, env) };
  },
};

/** `info`. */
export const INFO_FUNCTIONS: readonly FunctionDefinition[] = [
  {
    name: 'info',
    args: { v: 'vector', selector: 'vector' },
    variadic: 1,
    matchersArg: 1,
    isExperimental: true,
    dependsOnRange: true,
    dropsLabels: true,
    keepsName: true,
    doc:
      'Adds the labels of the info series with the same `instance` and `job`: of `target_info`, or those that `selector`, ' +
      'label matchers in braces, selects. They are read at the time of the samples in `v`.',
    body: infoBody,
  },
];
