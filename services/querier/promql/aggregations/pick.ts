import { AlmanacError } from '#shared/errors/almanac-error';

import type { Labels } from '../../series/labels.js';
import { sortedInSlices } from '../../series/sliced-collections.js';
import { SERIES_WORK } from '../runtime/env.js';
import { FLOAT_SAMPLE, HISTOGRAM_SAMPLE, NO_SAMPLE, type StepSeries } from '../runtime/samples.js';
import type { Scheduler } from '../runtime/scheduler.js';
import type { AggregationCall, Group, GroupPicker, PromAggregation } from './aggregation.js';

const INT64_MAX = 9223372036854774784;
const INT64_MIN = -(2 ** 63);

/** Selects k series per step, the same ones as long as they have samples. */
const limitk: GroupPicker = async (group, call) => {
  const counts = countsOf(call);
  return selectedSeries(group.series, call, (step) => {
    const present = indexesAt(group.series, step);
    return present.slice(0, Math.max(0, counts[step]));
  });
};

/** Selects the series whose label hash is below the ratio; a negative ratio selects the complement of its positive rest. */
const limitRatio: GroupPicker = async (group, call) => {
  const { env, param } = call;
  const hashes: number[] = [];
  await env.scheduler.each(group.series, SERIES_WORK, ({ labels }) => hashes.push(hashLabels(labels)));
  return selectedSeries(group.series, call, (step) => {
    const ratio = param?.[step] ?? 0;
    return indexesAt(group.series, step).filter((i) => (ratio >= 0 ? hashes[i] < ratio : hashes[i] >= 1 + ratio));
  });
};

function checkRatio({ expr, env, param = new Float64Array(0) }: AggregationCall): void {
  for (const ratio of param) {
    if (Number.isNaN(ratio)) throw new AlmanacError('execute_query', 'Ratio value is NaN');
    if (Math.abs(ratio) <= 1) continue;
    const text = `ratio value should be between -1 and 1, got ${ratio}, capping to ${Math.sign(ratio)}`;
    env.annotations.warn(text, expr.param ?? expr);
  }
}

async function byRank(
  group: Group,
  call: AggregationCall,
  compare: (a: number, b: number) => number,
): Promise<StepSeries[]> {
  const { expr, env } = call;
  const counts = countsOf(call);
  const { series } = group;
  const withHistograms = series.filter(({ histograms }) => histograms !== undefined);
  const picked = await selectedSeries(series, call, (step) => {
    if (withHistograms.some(({ kinds }) => kinds[step] === HISTOGRAM_SAMPLE)) {
      env.annotations.info(`ignored histogram in ${expr.op} aggregation`, expr);
    }
    return firstRanked(series, step, { count: counts[step], compare }, env.scheduler);
  });
  if (env.steps > 1) return picked;
  // The sort is stable: equal values stay in the order of their series.
  return sortedInSlices(picked, (a, b) => compareWithNan(a.values[0], b.values[0], compare), env.scheduler);
}

/** How many series to select, and in which order. */
interface Ranking {
  readonly count: number;
  readonly compare: (a: number, b: number) => number;
}

/** Largest count for which a sorted list is kept up while the series are read; above, all are sorted. */
const INSERTED_MAX = 256;

/** Returns the indexes of the first `count` floats of a step in rank order; equal ones in order of appearance. */
async function firstRanked(
  series: readonly StepSeries[],
  step: number,
  { count, compare }: Ranking,
  scheduler: Scheduler,
): Promise<readonly number[]> {
  const ranked: number[] = [];
  if (count < 1) return ranked;
  const order = (one: number, other: number): number => {
    return compareWithNan(series[one].values[step], series[other].values[step], compare);
  };
  if (Math.min(count, series.length) > INSERTED_MAX) {
    const numbers = indexesAt(series, step).filter((i) => series[i].kinds[step] === FLOAT_SAMPLE);
    return (await sortedInSlices(numbers, order, scheduler)).slice(0, count);
  }
  for (let i = 0; i < series.length; i++) {
    if (series[i].kinds[step] === FLOAT_SAMPLE) insert(ranked, i, count, order);
  }
  return ranked;
}

/** Inserts an item into the ranked list, if it belongs there. */
function insert(ranked: number[], item: number, count: number, order: (one: number, other: number) => number): void {
  const isFull = ranked.length >= count;
  if (isFull && order(ranked[ranked.length - 1], item) <= 0) return;
  if (isFull) ranked.pop();
  let low = 0;
  for (let high = ranked.length; low < high;) {
    const middle = (low + high) >> 1;
    if (order(ranked[middle], item) <= 0) low = middle + 1;
    else high = middle;
  }
  ranked.splice(low, 0, item);
}

/** Compares without subtraction, which is NaN for equal infinities. */
function compareNumbers(a: number, b: number): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function compareWithNan(a: number, b: number, compare: (a: number, b: number) => number): number {
  if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : 1;
  return Number.isNaN(b) ? -1 : compare(a, b);
}

function indexesAt(series: readonly StepSeries[], step: number): number[] {
  const present: number[] = [];
  for (let i = 0; i < series.length; i++) if (series[i].kinds[step] !== NO_SAMPLE) present.push(i);
  return present;
}

/** Returns the series, each at the steps at which it is selected. */
async function selectedSeries(
  series: readonly StepSeries[],
  { env }: AggregationCall,
  select: (step: number) => readonly number[] | Promise<readonly number[]>,
): Promise<StepSeries[]> {
  const masks = new Map<number, Uint8Array>();
  for (let step = 0; step < env.steps; step++) {
    env.limits.spend(series.length);
    if (env.scheduler.isDue) await env.scheduler.yield();
    for (const i of await select(step)) {
      let mask = masks.get(i);
      if (mask === undefined) {
        mask = new Uint8Array(env.steps);
        masks.set(i, mask);
      }
      mask[step] = series[i].kinds[step];
    }
  }
  const indexes = [...masks.keys()].sort((a, b) => a - b);
  return indexes.map((i): StepSeries => ({ ...series[i], kinds: masks.get(i) ?? series[i].kinds }));
}

/** Returns the number of series to select at each step. @throws `execute_query` for a number that no integer is near. */
function countsOf({ env, param }: AggregationCall): Float64Array {
  const counts = new Float64Array(env.steps);
  const values = param ?? counts;
  // Prometheus does not check a parameter that is below 1 at every step.
  if (values.every((value) => value < 1)) return counts;
  for (let step = 0; step < env.steps; step++) {
    const value = values[step];
    if (Number.isNaN(value)) throw new AlmanacError('execute_query', 'Parameter value is NaN');
    if (value >= INT64_MAX) throw new AlmanacError('execute_query', `Scalar value ${value} overflows int64`);
    if (value <= INT64_MIN) throw new AlmanacError('execute_query', `Scalar value ${value} underflows int64`);
    counts[step] = Math.trunc(value);
  }
  return counts;
}

/** Hashes labels to [0, 1): 64-bit FNV-1a, mixed so that labels that differ in one character are far apart. */
function hashLabels(labels: Labels): number {
  const bytes = Buffer.from(labels.key);
  let low = 0x84222325;
  let high = 0xcbf29ce4;
  for (const byte of bytes) {
    low = (low ^ byte) >>> 0;
    // Times 2^40 + 0x1b3, in two halves.
    const product = low * 0x1b3;
    const carry = Math.floor(product / 2 ** 32);
    high = (Math.imul(high, 0x1b3) + carry + (low << 8)) >>> 0;
    low = product >>> 0;
  }
  return mixed(high ^ mixed(low)) / 2 ** 32;
}

/** The 32-bit finaliser of MurmurHash3. */
function mixed(value: number): number {
  let bits = value >>> 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

function ranking(name: string, doc: string, compare: (a: number, b: number) => number): PromAggregation {
  return {
    name,
    doc,
    param: { name: 'k', type: 'scalar' },
    selectsSeries: true,
    checkParam: countsOf,
    body: { kind: 'pick', run: (group, call) => byRank(group, call, compare) },
  };
}

/** Aggregations that select some series of each group and keep their labels. */
export const PICK_AGGREGATIONS: readonly PromAggregation[] = [
  ranking('topk', 'The `k` series with the greatest floats; NaN is the least.', (a, b) => compareNumbers(b, a)),
  ranking('bottomk', 'The `k` series with the least floats; NaN is the greatest.', compareNumbers),
  {
    name: 'limitk',
    param: { name: 'k', type: 'scalar' },
    isExperimental: true,
    selectsSeries: true,
    dependsOnRange: true,
    doc: 'Any `k` series.',
    checkParam: countsOf,
    body: { kind: 'pick', run: limitk },
  },
  {
    name: 'limit_ratio',
    param: { name: 'r', type: 'scalar' },
    isExperimental: true,
    selectsSeries: true,
    dependsOnRange: true,
    doc: 'About the fraction `r` of the series, -1 ≤ `r` ≤ 1; `limit_ratio(r - 1, v)` returns the others.',
    checkParam: checkRatio,
    body: { kind: 'pick', run: limitRatio },
  },
];
