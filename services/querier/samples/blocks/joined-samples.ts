import type { Slices } from '#shared/clock/slices';

import type { SampleSlice } from '../sample-slice.js';

/** Samples of one series, ascending by time. */
export interface SeriesSamples {
  /** Milliseconds. Successive series may have the same array. */
  readonly times: Float64Array;
  readonly values: Float64Array;
}

/** Values that share a buffer: a buffer for each series would cost a microsecond. */
const SLAB_VALUES = 1 << 17;
/** Cost of joining the slices of a series, in units of reading one number. */
const SERIES_WORK = 32;

/** Collects the slices of many series in the order of time, and joins those of each. */
export class JoinedSamples {
  readonly #sids: Int32Array;
  /** Slices in the order in which they were added, and the next one of the same series; -1 for none. */
  readonly #slices: SeriesSamples[] = [];
  readonly #next: number[] = [];
  /** First and last slice of each series; -1 for none. */
  readonly #first: Int32Array;
  readonly #last: Int32Array;
  #count = 0;
  /** Position of the series of the last slice. */
  #at = 0;
  #isPlain = true;
  #slab = new Float64Array(0);
  #slabUsed = 0;
  #lastTimes: Float64Array[] = [];
  #lastJoined: Float64Array = new Float64Array(0);

  /** @param sids ascending. */
  constructor(sids: Int32Array) {
    this.#sids = sids;
    this.#first = new Int32Array(sids.length).fill(-1);
    this.#last = new Int32Array(sids.length).fill(-1);
  }

  /**
   * Whether all slices are floats in the order of time, without marks and start times. Otherwise they must be merged in
   * another way.
   */
  get isPlain(): boolean {
    return this.#isPlain;
  }

  /** Adds rows of a series. */
  add(sid: number, slice: SampleSlice): void {
    const { missing, histograms, starts, isAscending } = slice;
    if (missing !== undefined || histograms !== undefined || starts !== undefined || !isAscending) {
      this.#isPlain = false;
    } else this.addSamples(sid, slice);
  }

  /** Adds samples of a series. */
  addSamples(sid: number, samples: SeriesSamples): void {
    const { times } = samples;
    if (times.length === 0) return;
    const at = this.#positionOf(sid);
    if (at < 0) return;
    const own = this.#slices.length;
    this.#slices.push(samples);
    this.#next.push(-1);
    const before = this.#last[at];
    if (before < 0) {
      this.#first[at] = own;
    } else {
      const { times: earlier } = this.#slices[before];
      if (times[0] <= earlier[earlier.length - 1]) this.#isPlain = false;
      this.#next[before] = own;
    }
    this.#last[at] = own;
    this.#count += times.length;
  }

  /** Calls `visit` with the samples of each series that has some, in the order of the series. Must be called once. */
  async each(slices: Slices, visit: (sid: number, samples: SeriesSamples) => void): Promise<void> {
    for (let at = 0; at < this.#sids.length; at++) {
      if (this.#first[at] < 0) continue;
      const samples = this.#joined(this.#first[at]);
      visit(this.#sids[at], samples);
      if (slices.isOver(SERIES_WORK + samples.values.length)) await slices.yield();
    }
  }

  #positionOf(sid: number): number {
    const sids = this.#sids;
    // Most often it is the next one.
    if (sids[this.#at + 1] === sid) return ++this.#at;
    let low = 0;
    let high = sids.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (sids[middle] < sid) low = middle + 1;
      else high = middle;
    }
    if (sids[low] !== sid) return -1;
    this.#at = low;
    return low;
  }

  #joined(first: number): SeriesSamples {
    const parts: SeriesSamples[] = [];
    let length = 0;
    for (let next = first; next >= 0; next = this.#next[next]) {
      parts.push(this.#slices[next]);
      length += this.#slices[next].times.length;
    }
    const values = this.#take(length);
    let at = 0;
    for (const part of parts) {
      values.set(part.values, at);
      at += part.values.length;
    }
    return { times: this.#timesOf(parts, length), values };
  }

  #take(length: number): Float64Array {
    if (this.#slabUsed + length > this.#slab.length) {
      this.#slab = new Float64Array(Math.max(length, Math.min(this.#count, SLAB_VALUES)));
      this.#slabUsed = 0;
    }
    const from = this.#slabUsed;
    this.#slabUsed += length;
    this.#count -= length;
    return this.#slab.subarray(from, this.#slabUsed);
  }

  /** Joins times; series after series they are most often the same arrays. */
  #timesOf(parts: readonly SeriesSamples[], length: number): Float64Array {
    const last = this.#lastTimes;
    if (last.length === parts.length && parts.every(({ times }, i) => times === last[i])) return this.#lastJoined;
    const joined = new Float64Array(length);
    let at = 0;
    this.#lastTimes = [];
    for (const { times } of parts) {
      joined.set(times, at);
      at += times.length;
      this.#lastTimes.push(times);
    }
    this.#lastJoined = joined;
    return joined;
  }
}
