import type { Slices } from '#shared/clock/slices';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { Accumulator } from './accumulator.js';
import { emptySeries, type MetricSeries, type SeriesLabels, type Steps } from './series.js';

/** Numbers and series that a query holds at once. */
const HELD_MAX = 4_000_000;
const SERIES_MAX = 50_000;
const CELLS_MAX = 5_000_000;

/** Buckets of equal width, of which each window of a range aggregation is a whole number. */
export interface BucketLayout {
  /** Before the first bucket; bucket k has times in `(baseNs + (k - 1) * widthNs, baseNs + k * widthNs]`. */
  readonly baseNs: bigint;
  readonly widthNs: bigint;
  readonly perStep: number;
  readonly perWindow: number;
  /** End of the last bucket. */
  readonly endNs: bigint;
}

/** Lays out buckets for the windows of all steps. */
export function bucketLayout(steps: Steps, rangeNs: bigint, offsetNs: bigint): BucketLayout {
  const baseNs = steps.startNs - offsetNs - rangeNs;
  const widthNs = steps.count === 1 ? rangeNs : greatestDivisor(rangeNs, steps.stepNs);
  return {
    baseNs,
    widthNs,
    perStep: Number(steps.stepNs / widthNs),
    perWindow: Number(rangeNs / widthNs),
    endNs: steps.startNs - offsetNs + BigInt(steps.count - 1) * steps.stepNs,
  };
}

function greatestDivisor(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b];
  while (y > 0n) [x, y] = [y, x % y];
  return x;
}

interface BucketSeries {
  readonly labels: SeriesLabels;
  readonly buckets: Map<number, Accumulator>;
}

/** The values of all series by bucket. */
export class WindowBuckets {
  readonly #create: () => Accumulator;
  readonly #series = new Map<string, BucketSeries>();
  #held = 0;

  constructor(create: () => Accumulator) {
    this.#create = create;
  }

  /** Adds a value. @param labels called for the first value of a series. @throws `invalid_arguments` at a limit. */
  add(key: string, labels: () => SeriesLabels, bucket: number, [value, timeNs]: readonly [number, number]): void {
    let series = this.#series.get(key);
    if (series === undefined) {
      if (this.#series.size >= SERIES_MAX) throw tooManySeries(SERIES_MAX);
      series = { labels: labels(), buckets: new Map() };
      this.#series.set(key, series);
    }
    let accumulator = series.buckets.get(bucket);
    if (accumulator === undefined) {
      accumulator = this.#create();
      series.buckets.set(bucket, accumulator);
      this.#held++;
    }
    const before = accumulator.size;
    accumulator.add(value, timeNs);
    this.#held += accumulator.size - before;
    if (this.#held > HELD_MAX) {
      throw new AlmanacError(
        'invalid_arguments',
        'the query needs too much memory: use fewer series or a shorter range',
      );
    }
  }

  /** Computes the windows of all steps. */
  async windows(steps: Steps, layout: BucketLayout, slices: Slices): Promise<MetricSeries[]> {
    checkCells(this.#series.size, steps.count);
    const found: MetricSeries[] = [];
    for (const { labels, buckets } of this.#series.values()) {
      const series = emptySeries(labels, steps.count);
      const indexes = Float64Array.from(buckets.keys()).sort();
      let from = 0;
      let to = 0;
      for (let step = 0; step < steps.count; step++) {
        const after = step * layout.perStep;
        const last = after + layout.perWindow;
        while (to < indexes.length && indexes[to] <= last) to++;
        while (from < to && indexes[from] <= after) from++;
        if (from === to) continue;
        series.values[step] = this.#merged(indexes.subarray(from, to), buckets);
        series.present[step] = 1;
        if (slices.isOver(1 + to - from)) await slices.yield();
      }
      found.push(series);
      if (slices.isOver(steps.count)) await slices.yield();
    }
    return found;
  }

  #merged(indexes: Float64Array, buckets: ReadonlyMap<number, Accumulator>): number {
    if (indexes.length === 1) return buckets.get(indexes[0])!.result();
    const merged = this.#create();
    for (const index of indexes) merged.merge(buckets.get(index));
    return merged.result();
  }
}

/** @throws `invalid_arguments` if a result needs too much memory. */
export function checkCells(seriesCount: number, lokiStepCount: number): void {
  if (seriesCount * lokiStepCount <= CELLS_MAX) return;
  const text = `the query computes more than ${CELLS_MAX} values: use a larger step or fewer series`;
  throw new AlmanacError('invalid_arguments', text);
}

/** Makes the error of a query with too many series, in the words of Loki. */
export function tooManySeries(seriesMax: number): AlmanacError {
  return new AlmanacError(
    'invalid_arguments',
    `maximum number of series (${seriesMax}) reached for a single query; consider reducing query cardinality by adding ` +
      'more specific stream selectors, reducing the time range, or aggregating results with functions like sum(), count() or topk()',
  );
}
