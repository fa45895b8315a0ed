import { AlmanacError } from '#shared/errors/almanac-error';

import { SERIES_WORK } from '../runtime/env.js';
import { after, type QueryLimits } from '../runtime/limits.js';
import { FLOAT_SAMPLE, HISTOGRAM_SAMPLE, NO_SAMPLE, type StepSeries } from '../runtime/samples.js';
import { sortedInSlices } from '../runtime/sort.js';
import type { AggregationCall, Group } from './aggregation.js';
import type { Labels } from '../../series/labels.js';

/** An aggregation that gives some of its series as they are. */
export type GroupPicker = (group: Group, call: AggregationCall) => Promise<StepSeries[]>;

const INT64_MAX = 9223372036854774784;
const INT64_MIN = -(2 ** 63);

/** The k greatest values of each step; numbers before NaN. */
export const topk: GroupPicker = (group, call) => byRank(group, call, (a, b) => compareNumbers(b, a));
/** The k smallest values of each step; numbers before NaN. */
export const bottomk: GroupPicker = (group, call) => byRank(group, call, compareNumbers);

/** Some k series of each step, the same ones as long as they are there. */
export const limitk: GroupPicker = async (group, call) => {
  const counts = countsOf(call);
  return kept(group.series, call, (step) => {
    const present = indexesAt(group.series, step);
    return present.slice(0, Math.max(0, counts[step]));
  });
};

/** The share of the series whose labels hash below a bound; a negative share gives those that the positive rest leaves. */
export const limitRatio: GroupPicker = async (group, call) => {
  const { expr, env, param } = call;
  const shares: number[] = [];
  for (const { labels } of group.series) {
    env.limits.spend(SERIES_WORK);
    if (env.limits.isDue) await env.limits.yield();
    shares.push(hashLabels(labels));
  }
  const at = expr.param ?? expr;
  return kept(group.series, call, (step) => {
    const asked = param?.[step] ?? 0;
    if (Number.isNaN(asked)) throw new AlmanacError('execute_query', 'Ratio value is NaN');
    const ratio = Math.max(-1, Math.min(1, asked));
    if (ratio !== asked) {
      env.annotations.warn(`ratio value should be between -1 and 1, got ${asked}, capping to ${ratio}`, at);
    }
    return indexesAt(group.series, step).filter((i) => (ratio >= 0 ? shares[i] < ratio : shares[i] >= 1 + ratio));
  });
};

async function byRank(
  group: Group,
  call: AggregationCall,
  compare: (a: number, b: number) => number,
): Promise<StepSeries[]> {
  const { expr, env } = call;
  const counts = countsOf(call);
  const { series } = group;
  const withHistograms = series.filter(({ histograms }) => histograms !== undefined);
  const picked = await kept(series, call, (step) => {
    if (withHistograms.some(({ kinds }) => kinds[step] === HISTOGRAM_SAMPLE)) {
      env.annotations.info(`ignored histogram in ${expr.op} aggregation`, expr);
    }
    return firstRanked(series, step, { count: counts[step], compare }, env.limits);
  });
  if (env.steps > 1) return picked;
  // All are of one step, and equal ones are in the order in which they were.
  return sortedInSlices(picked, (a, b) => compareWithNan(a.values[0], b.values[0], compare), env.limits);
}

/** How many are wanted, and in which order. */
interface Ranking {
  readonly count: number;
  readonly compare: (a: number, b: number) => number;
}

/** Up to so many that are wanted are kept in order while the others are looked at; more are taken from all in order. */
const INSERTED_MAX = 256;

/** The first so many numbers of a step; of equal ones the earlier come first. */
function firstRanked(
  series: readonly StepSeries[],
  step: number,
  { count, compare }: Ranking,
  limits: QueryLimits,
): readonly number[] | Promise<readonly number[]> {
  const ranked: number[] = [];
  if (count < 1) return ranked;
  const order = (one: number, other: number): number => {
    return compareWithNan(series[one].values[step], series[other].values[step], compare);
  };
  if (Math.min(count, series.length) > INSERTED_MAX) {
    return rankedOfMany(series, step, { count, compare: order }, limits);
  }
  const looked = limits.inSlices(series.length, (from, to) => {
    for (let i = from; i < to; i++) if (series[i].kinds[step] === FLOAT_SAMPLE) insert(ranked, i, count, order);
  });
  return after(looked, () => ranked);
}

async function rankedOfMany(
  series: readonly StepSeries[],
  step: number,
  { count, compare }: Ranking,
  limits: QueryLimits,
): Promise<readonly number[]> {
  const numbers = indexesAt(series, step).filter((i) => series[i].kinds[step] === FLOAT_SAMPLE);
  return (await sortedInSlices(numbers, compare, limits)).slice(0, count);
}

/** Puts an item among those that are ranked, if it belongs there. */
function insert(ranked: number[], item: number, count: number, order: (one: number, other: number) => number): void {
  const isFull = ranked.length >= count;
  if (isFull && order(ranked[ranked.length - 1], item) <= 0) return;
  if (isFull) ranked.pop();
  // Few are wanted as a rule, and fewer are found to be among them.
  let low = 0;
  for (let high = ranked.length; low < high;) {
    const middle = (low + high) >> 1;
    if (order(ranked[middle], item) <= 0) low = middle + 1;
    else high = middle;
  }
  ranked.splice(low, 0, item);
}

/** Of equal infinities, whose difference is no number, too. */
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

/** The series at the steps at which they are chosen. */
async function kept(
  series: readonly StepSeries[],
  { env }: AggregationCall,
  choose: (step: number) => readonly number[] | Promise<readonly number[]>,
): Promise<StepSeries[]> {
  const masks = new Map<number, Uint8Array>();
  for (let step = 0; step < env.steps; step++) {
    env.limits.spend(series.length);
    if (env.limits.isDue) await env.limits.yield();
    const choosing = choose(step);
    for (const i of choosing instanceof Promise ? await choosing : choosing) {
      let mask = masks.get(i);
      if (mask === undefined) {
        mask = new Uint8Array(env.steps);
        masks.set(i, mask);
      }
      mask[step] = series[i].kinds[step];
    }
  }
  const chosen = [...masks.keys()].sort((a, b) => a - b);
  return chosen.map((i): StepSeries => ({ ...series[i], kinds: masks.get(i) ?? series[i].kinds }));
}

/** How many are wanted at each step. */
function countsOf({ env, param }: AggregationCall): Float64Array {
  const counts = new Float64Array(env.steps);
  const values = param ?? counts;
  // Nothing is asked of a parameter that never wants any.
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

/**
 * A number in [0, 1) that follows from the labels: their FNV-1a hash of 64 bits over 2^64, mixed so that names that differ
 * in one character are far apart.
 */
export function hashLabels(labels: Labels): number {
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

/** Murmur's finaliser of 32 bits. */
function mixed(value: number): number {
  let bits = value >>> 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
