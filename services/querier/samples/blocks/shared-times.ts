import type { Slices } from '#shared/clock/slices';

import type { SampleSeries } from '../../promql/runtime/samples.js';

/** Arrays with the same ends that are compared with another one; times beyond them are not shared. */
const SIMILAR_MAX = 16;

/** Finds equal arrays of times: all series of a target are scraped at the same times. */
export class SharedTimes {
  readonly #byEnds = new Map<string, Float64Array[]>();
  #last: Float64Array = new Float64Array(0);

  /** Returns an array with the same times that was passed before, or else `times`. */
  of(times: Float64Array): Float64Array {
    if (times.length === 0) return times;
    if (areEqual(this.#last, times)) return this.#last;
    const key = `${times.length} ${times[0]} ${times[times.length - 1]}`;
    const similar = this.#byEnds.get(key) ?? [];
    const known = similar.find((one) => areEqual(one, times));
    if (known === undefined && similar.length < SIMILAR_MAX) similar.push(times);
    if (similar.length === 1) this.#byEnds.set(key, similar);
    this.#last = known ?? times;
    return this.#last;
  }
}

function areEqual(one: Float64Array, other: Float64Array): boolean {
  if (one === other) return true;
  const { length } = one;
  if (length !== other.length || one[0] !== other[0] || one[length - 1] !== other[length - 1]) return false;
  for (let i = 0; i < length; i++) if (one[i] !== other[i]) return false;
  return true;
}

function areSameMarks(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  return one !== undefined && other !== undefined && Buffer.compare(one, other) === 0;
}

/** Series without further members all have the same hidden class, which the functions of PromQL read fastest. */
function withArrays(series: SampleSeries, times: Float64Array, stale: Uint8Array | undefined): SampleSeries {
  const { labels, values, histograms, startTimes } = series;
  if (histograms !== undefined || startTimes !== undefined) return { ...series, times };
  if (stale === undefined) return { labels, times, values, counter: undefined };
  return { labels, times, values, counter: undefined, stale };
}

/** Makes series with equal times share one array, and neighbours with the same staleness markers another one. */
export async function withSharedTimes(all: readonly SampleSeries[], slices: Slices): Promise<SampleSeries[]> {
  const shared = new SharedTimes();
  const results: SampleSeries[] = [];
  let lastStale: Uint8Array | undefined;
  for (const series of all) {
    const times = shared.of(series.times);
    const stale = areSameMarks(series.stale, lastStale) ? lastStale : series.stale;
    lastStale = stale ?? lastStale;
    results.push(withArrays(series, times, stale));
    if (slices.isOver(series.times.length)) await slices.yield();
  }
  return results;
}
