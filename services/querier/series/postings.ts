import type { Slices } from '#shared/clock/slices';

import type { Integers } from './growing.js';
import { lowerBound } from './series-sets.js';

/** Series that are added one by one. Above this number, and this part of all, all are sorted again. */
const TAIL_MIN = 1024;
const TAIL_PART = 8;
/** Cost of reading the value of a series, in units of reading one number. */
const SERIES_WORK = 8;
/** Memory of a series in the tail, with its share of lists and map, about. */
const TAIL_BYTES = 48;

/**
 * The series of each value of one label: a flat array, sorted by value and series, and lists of the series that were added
 * since it was sorted.
 */
export class Postings {
  /** `#sids[#offsets[value] .. #offsets[value + 1])` are the series of a value, ascending. */
  #offsets = new Int32Array(1);
  #sids = new Int32Array(0);
  /** Series below this number are in the flat array, if they have the label. */
  #sortedTo = 0;
  /** Series below this number are in the flat array or in the tail. */
  #knownTo = 0;
  readonly #tail = new Map<number, number[]>();
  #tailCount = 0;
  #extended: Promise<void> = Promise.resolve();
  readonly #valueOf: (sid: number) => number;

  /** @param valueOf returns the value number of a series; -1: it lacks the label. */
  constructor(valueOf: (sid: number) => number) {
    this.#valueOf = valueOf;
  }

  /** Memory in bytes. */
  get bytes(): number {
    return this.#offsets.byteLength + this.#sids.byteLength + this.#tailCount * TAIL_BYTES;
  }

  /** Reports whether the series below `count` were added. */
  has(count: number): boolean {
    return count <= this.#knownTo;
  }

  /** Returns the memory in bytes, about, that `extendTo` takes for a while, and of which some remains; 0: all series are known. */
  bytesToExtend(count: number, valueCount: number): number {
    if (count <= this.#knownTo) return 0;
    return this.#isSortDue(count) ? 8 * (count + valueCount) : (count - this.#knownTo) * TAIL_BYTES;
  }

  /**
   * Adds the series below `count`.
   *
   * @param valueCount values have lower numbers
   * @returns undefined if all were known
   */
  extendTo(count: number, valueCount: number, slices: Slices): Promise<void> | undefined {
    if (count <= this.#knownTo) return undefined;
    const extended = this.#extended.then(() => this.#extend(count, valueCount, slices));
    // The query that failed reports the error; others continue from what was there before.
    this.#extended = extended.catch(() => undefined);
    return extended;
  }

  /** Returns the series below `end` that have a value, ascending; a view that must not be changed. */
  of(value: number, end: number): Int32Array {
    const sorted = this.#sorted(value);
    const tail = this.#tail.get(value);
    if (tail === undefined) return sorted.subarray(0, countBelow(sorted, end));
    const all = new Int32Array(sorted.length + tail.length);
    all.set(sorted);
    all.set(tail, sorted.length);
    return all.subarray(0, countBelow(all, end));
  }

  /** Appends the same series to `others`, without an array for each value: a million of them would take 400 MB. */
  addTo(others: Integers, value: number, end: number): void {
    if (value + 1 < this.#offsets.length) {
      for (let at = this.#offsets[value]; at < this.#offsets[value + 1]; at++) {
        if (this.#sids[at] >= end) return;
        others.push(this.#sids[at]);
      }
    }
    for (const sid of this.#tail.get(value) ?? []) if (sid < end) others.push(sid);
  }

  #sorted(value: number): Int32Array {
    if (value + 1 >= this.#offsets.length) return this.#sids.subarray(0, 0);
    return this.#sids.subarray(this.#offsets[value], this.#offsets[value + 1]);
  }

  async #extend(count: number, valueCount: number, slices: Slices): Promise<void> {
    if (count <= this.#knownTo) return;
    if (this.#isSortDue(count)) {
      await this.#sort(count, valueCount, slices);
      return;
    }
    while (this.#knownTo < count) {
      const sid = this.#knownTo++;
      const value = this.#valueOf(sid);
      if (value >= 0) {
        const list = this.#tail.get(value);
        if (list === undefined) this.#tail.set(value, [sid]);
        else list.push(sid);
        this.#tailCount++;
      }
      if (slices.isOver(SERIES_WORK)) await slices.yield();
    }
  }

  #isSortDue(count: number): boolean {
    return count - this.#sortedTo > Math.max(TAIL_MIN, this.#sortedTo / TAIL_PART);
  }

  /** Sorts all series below `count` by their values, by counting. */
  async #sort(count: number, valueCount: number, slices: Slices): Promise<void> {
    const values = new Int32Array(count);
    const offsets = new Int32Array(valueCount + 1);
    for (let sid = 0; sid < count; sid++) {
      const value = this.#valueOf(sid);
      values[sid] = value;
      if (value >= 0) offsets[value + 1]++;
      if (slices.isOver(SERIES_WORK)) await slices.yield();
    }
    for (let value = 0; value < valueCount; value++) {
      offsets[value + 1] += offsets[value];
      if (slices.isOver(1)) await slices.yield();
    }
    const ends = offsets.slice(0, valueCount);
    const sids = new Int32Array(offsets[valueCount]);
    for (let sid = 0; sid < count; sid++) {
      if (values[sid] >= 0) sids[ends[values[sid]]++] = sid;
      if (slices.isOver(1)) await slices.yield();
    }
    this.#offsets = offsets;
    this.#sids = sids;
    this.#sortedTo = this.#knownTo = count;
    this.#tail.clear();
    this.#tailCount = 0;
  }
}

/** Returns the number of ascending series below `end`; in most cases all are. */
function countBelow(sids: Int32Array, end: number): number {
  return sids.length === 0 || sids[sids.length - 1] < end ? sids.length : lowerBound(sids, end);
}
