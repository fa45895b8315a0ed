import { NeumaierSum } from '../common/compensated-sum.js';
import {
  coarserIndex,
  compacted,
  isCustom,
  NO_BUCKETS,
  reduced,
  widerZero,
  withZero,
  type Buckets,
  type CounterHint,
  type Histogram,
} from './histogram.js';

/** Reports whether two histograms can be added: both have exponential buckets or both have custom ones. */
export function areCompatible(one: Histogram, other: Histogram): boolean {
  return isCustom(one) === isCustom(other);
}

/**
 * A sum of histograms, with compensation of rounding errors in every field.
 *
 * Layouts are reconciled: the sum has the widest zero bucket, the coarsest schema and the common custom bounds.
 */
export class HistogramSum {
  #schema: number;
  #zeroThreshold: number;
  #custom: readonly number[];
  #hint: CounterHint;
  readonly #count = new NeumaierSum();
  readonly #sum = new NeumaierSum();
  readonly #zeroCount = new NeumaierSum();
  #positive = new Map<number, NeumaierSum>();
  #negative = new Map<number, NeumaierSum>();
  #hasReset = false;
  #hasNoReset = false;
  #isReconciled = false;

  constructor(first: Histogram) {
    this.#schema = first.schema;
    this.#zeroThreshold = first.zeroThreshold;
    this.#custom = first.custom;
    this.#hint = first.hint;
    this.#noteHint(first.hint);
    this.#addCounts(first, 1, 1);
  }

  /** Whether some histograms followed a counter reset and others did not, so that no hint applies to the sum. */
  get hasResetCollision(): boolean {
    return this.#hasReset && this.#hasNoReset;
  }

  /** Whether custom bounds differed. */
  get hasReconciledBounds(): boolean {
    return this.#isReconciled;
  }

  /** Adds a compatible histogram, multiplied by a factor and divided by a divisor; -1 subtracts it. */
  add(histogram: Histogram, factor = 1, divisor = 1): void {
    this.#joinHint(histogram.hint);
    let other = histogram;
    if (isCustom(other)) {
      if (!areSame(this.#custom, other.custom)) other = this.#reconcileBounds(other);
    } else {
      other = this.#reconcileZero(other);
      if (other.schema < this.#schema) this.#reduceTo(other.schema);
      other = reduced(other, this.#schema);
    }
    this.#addCounts(other, factor, divisor);
  }

  /** Multiplies the sum. */
  scale(factor: number): void {
    for (const field of this.#fields()) field.scale(factor);
  }

  /** Whether a field overflowed. */
  get isInfinite(): boolean {
    for (const field of this.#fields()) if (Math.abs(field.value) === Infinity) return true;
    return false;
  }

  /** Returns the sum without empty buckets. */
  result(): Histogram {
    return compacted(this.#snapshot(this.#hint));
  }

  *#fields(): Iterable<NeumaierSum> {
    yield this.#count;
    yield this.#sum;
    yield this.#zeroCount;
    yield* this.#positive.values();
    yield* this.#negative.values();
  }

  #snapshot(hint: CounterHint): Histogram {
    return {
      schema: this.#schema,
      zeroThreshold: this.#zeroThreshold,
      custom: this.#custom,
      hint,
      count: this.#count.value,
      sum: this.#sum.value,
      zeroCount: this.#zeroCount.value,
      positive: bucketsOf(this.#positive),
      negative: bucketsOf(this.#negative),
    };
  }

  #addCounts({ count, sum, zeroCount, positive, negative }: Histogram, factor: number, divisor: number): void {
    this.#count.add((factor * count) / divisor);
    this.#sum.add((factor * sum) / divisor);
    this.#zeroCount.add((factor * zeroCount) / divisor);
    addBuckets(this.#positive, positive, factor, divisor);
    addBuckets(this.#negative, negative, factor, divisor);
  }

  #noteHint(hint: CounterHint): void {
    this.#hasReset ||= hint === 'reset';
    this.#hasNoReset ||= hint === 'not_reset';
  }

  #joinHint(hint: CounterHint): void {
    this.#noteHint(hint);
    if (hint === this.#hint || this.#hint === 'gauge') return;
    this.#hint = hint === 'gauge' ? 'gauge' : 'unknown';
  }

  /** Widens the zero buckets of the sum and the histogram until they are equal. */
  #reconcileZero(histogram: Histogram): Histogram {
    let other = histogram;
    while (other.zeroThreshold !== this.#zeroThreshold) {
      if (this.#zeroThreshold > other.zeroThreshold) {
        const { count, threshold } = widerZero(other, this.#zeroThreshold);
        other = withZero(other, count, threshold);
      }
      if (other.zeroThreshold > this.#zeroThreshold) this.#widen(other.zeroThreshold);
    }
    return other;
  }

  #widen(zeroThreshold: number): void {
    const now = this.#snapshot('unknown');
    const { threshold } = widerZero(now, zeroThreshold);
    const { positive, negative } = withZero(now, 0, threshold);
    for (const [side, kept] of [[this.#positive, positive] as const, [this.#negative, negative] as const]) {
      const isKept = new Set(kept.indexes);
      for (const [index, field] of side) {
        if (isKept.has(index)) continue;
        this.#zeroCount.addSum(field);
        side.delete(index);
      }
    }
    this.#zeroThreshold = threshold;
  }

  #reduceTo(schema: number): void {
    const shift = this.#schema - schema;
    const toCoarser = (index: number): number => coarserIndex(index, shift);
    this.#positive = merged(this.#positive, toCoarser);
    this.#negative = merged(this.#negative, toCoarser);
    this.#schema = schema;
  }

  /** Reduces the sum to the common bounds. @returns the histogram with these bounds. */
  #reconcileBounds(other: Histogram): Histogram {
    const theirs = new Set(other.custom);
    const common = this.#custom.filter((bound) => theirs.has(bound));
    const own = this.#custom;
    this.#isReconciled = true;
    this.#positive = merged(this.#positive, (index) => commonIndex(common, own[index]));
    this.#custom = common;
    return { ...other, custom: common, positive: reboundBuckets(other, common) };
  }
}

/** Merges custom buckets to a subset of their bounds. */
export function reboundBuckets({ custom, positive }: Histogram, bounds: readonly number[]): Buckets {
  const sums = new Map<number, NeumaierSum>();
  positive.indexes.forEach((index, i) => fieldOf(sums, commonIndex(bounds, custom[index])).add(positive.counts[i]));
  return bucketsOf(sums);
}

/** Returns the common bounds. */
export function commonBounds(one: readonly number[], other: readonly number[]): number[] {
  const theirs = new Set(other);
  return one.filter((bound) => theirs.has(bound));
}

/** Returns the index of the first bound at or above another; of the last bucket if there is none. */
function commonIndex(bounds: readonly number[], upper: number | undefined): number {
  if (upper === undefined) return bounds.length;
  const index = bounds.findIndex((bound) => bound >= upper);
  return index < 0 ? bounds.length : index;
}

function addBuckets(
  sums: Map<number, NeumaierSum>,
  { indexes, counts }: Buckets,
  factor: number,
  divisor: number,
): void {
  for (let i = 0; i < indexes.length; i++) fieldOf(sums, indexes[i]).add((factor * counts[i]) / divisor);
}

function fieldOf(sums: Map<number, NeumaierSum>, index: number): NeumaierSum {
  let field = sums.get(index);
  if (field === undefined) {
    field = new NeumaierSum();
    sums.set(index, field);
  }
  return field;
}

function merged(sums: ReadonlyMap<number, NeumaierSum>, target: (index: number) => number): Map<number, NeumaierSum> {
  const result = new Map<number, NeumaierSum>();
  for (const [index, field] of sums) fieldOf(result, target(index)).addSum(field);
  return result;
}

function bucketsOf(sums: ReadonlyMap<number, NeumaierSum>): Buckets {
  if (sums.size === 0) return NO_BUCKETS;
  const indexes = [...sums.keys()].sort((a, b) => a - b);
  return { indexes, counts: indexes.map((index) => sums.get(index)?.value ?? 0) };
}

function areSame(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((bound, i) => bound === other[i]);
}
