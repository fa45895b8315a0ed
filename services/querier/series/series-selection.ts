import type { Slices } from '#shared/clock/slices';

import { Integers } from './growing.js';
import type { LabelValues } from './label-values.js';
import { PLAIN_WORK, type ValueTest } from './matcher.js';
import type { SeriesIndex } from './series-index.js';
import { intersectionOf, NO_SERIES, sidsBelow, sortSids } from './series-sets.js';

/** Condition on one label of a series; an absent label counts as an empty value. */
export interface LabelTest {
  readonly name: string;
  /** The only value that passes, if there is exactly one. */
  readonly equals: string | undefined;
  readonly passes: ValueTest;
}

/** A value's series are listed if they are fewer than this many times those that other conditions leave. */
const LIST_FACTOR = 64;

/** Finds the series of an index that pass tests of their labels. */
export class SeriesSelection {
  readonly #index: SeriesIndex;
  readonly #slices: Slices;
  /** Series below this number are selected: later ones are not part of the snapshot. */
  readonly #count: number;

  constructor(index: SeriesIndex, slices: Slices, count: number) {
    this.#index = index;
    this.#slices = slices;
    this.#count = count;
  }

  /** Returns the series that pass all tests, ascending. Yields between values, because one regular expression can be slow. */
  async matching(tests: readonly LabelTest[]): Promise<Int32Array> {
    let found: Int32Array | undefined;
    // Tests for one value first, that of the fewest series before others: they leave the fewest series for the others.
    const ordered = tests.map((test) => ({ test, rank: this.#rank(test) })).sort((a, b) => a.rank - b.rank);
    for (const { test, rank } of ordered) {
      const isListed = found === undefined || (rank >= 0 && rank < found.length * LIST_FACTOR && isOneValue(test));
      if (!isListed) found = await this.#filtered(found ?? NO_SERIES, test);
      else {
        const next = this.#passing(test);
        // A test for one value has a synchronous result, unless there are new series.
        const passing = next instanceof Int32Array ? next : await next;
        found = found === undefined ? passing : intersectionOf(found, passing);
      }
      if (found.length === 0) break;
    }
    return found ?? sidsBelow(this.#count);
  }

  /** Returns the number of series that a test for one value passes; larger numbers for other tests. */
  #rank(test: LabelTest): number {
    if (test.passes('')) return Infinity;
    if (!isOneValue(test)) return Number.MAX_SAFE_INTEGER;
    const label = this.#index.label(test.name);
    const number = label?.numberOf(test.equals);
    return label === undefined || number === undefined ? 0 : label.countOf(number);
  }

  #passing(test: LabelTest): Int32Array | Promise<Int32Array> {
    const label = this.#index.label(test.name);
    // Series without the label pass too, and the label's values do not list them.
    if (test.passes('')) return this.#without(label, test);
    if (label === undefined) return NO_SERIES;
    if (!isOneValue(test)) return this.#withValue(label, test);
    const number = label.numberOf(test.equals);
    if (number === undefined) return NO_SERIES;
    const indexed = this.#index.indexed(label, this.#count, this.#slices);
    if (indexed instanceof Promise) return indexed.then(({ postings }) => postings.of(number, this.#count));
    return indexed.postings.of(number, this.#count);
  }

  /** Returns the series that have a passing value. */
  async #withValue(label: LabelValues, { passes }: LabelTest): Promise<Int32Array> {
    const { work = PLAIN_WORK } = passes;
    await this.#index.indexed(label, this.#count, this.#slices);
    const found = new Integers();
    for (const [number, value] of label.values.entries()) {
      if (this.#slices.isOver(work)) await this.#slices.yield();
      if (passes(value)) label.postings.addTo(found, number, this.#count);
    }
    return sortSids(found.array.subarray(0, found.length), this.#count);
  }

  /** Returns the series that have no failing value. */
  async #without(label: LabelValues | undefined, { passes }: LabelTest): Promise<Int32Array> {
    const { work = PLAIN_WORK } = passes;
    const count = this.#count;
    const fails = new Uint8Array(count);
    if (label !== undefined) await this.#index.indexed(label, count, this.#slices);
    for (const [number, value] of label?.values.entries() ?? []) {
      if (this.#slices.isOver(work)) await this.#slices.yield();
      if (label === undefined || passes(value)) continue;
      for (const sid of label.postings.of(number, count)) fails[sid] = 1;
    }
    let passing = 0;
    for (let sid = 0; sid < count; sid++) if (fails[sid] === 0) passing++;
    const found = new Int32Array(passing);
    let at = 0;
    for (let sid = 0; sid < count; sid++) if (fails[sid] === 0) found[at++] = sid;
    return found;
  }

  /** Returns the series whose value has this number; undefined: no value has it. */
  async #withNumber(sids: Int32Array, { position }: LabelValues, number: number | undefined): Promise<Int32Array> {
    const found = new Int32Array(sids.length);
    let length = 0;
    for (const sid of sids) {
      if (this.#slices.isOver(VALUE_WORK)) await this.#slices.yield();
      if (this.#index.valueOf(sid, position) === number) found[length++] = sid;
    }
    return found.subarray(0, length);
  }

  async #filtered(sids: Int32Array, test: LabelTest): Promise<Int32Array> {
    const { name, passes } = test;
    const label = this.#index.label(name);
    if (label !== undefined && isOneValue(test)) return this.#withNumber(sids, label, label.numberOf(test.equals));
    const passesAbsent = passes('');
    const { work = PLAIN_WORK } = passes;
    if (label === undefined) return passesAbsent ? sids : NO_SERIES;
    // 0: not tested yet, 1: passes, 2: fails.
    const known = new Uint8Array(label.values.length);
    const found = new Int32Array(sids.length);
    let length = 0;
    for (const sid of sids) {
      if (this.#slices.isOver(VALUE_WORK)) await this.#slices.yield();
      const number = this.#index.valueOf(sid, label.position);
      if (number >= 0 && known[number] === 0) {
        if (this.#slices.isOver(work)) await this.#slices.yield();
        known[number] = passes(label.values[number]) ? 1 : 2;
      }
      if (number < 0 ? passesAbsent : known[number] === 1) found[length++] = sid;
    }
    return found.subarray(0, length);
  }
}

/** Cost of reading the value of a series, in units of reading one number. */
const VALUE_WORK = 8;

/** Reports whether exactly one value passes, which is not that of series without the label. */
function isOneValue(test: LabelTest): test is LabelTest & { readonly equals: string } {
  return test.equals !== undefined && test.equals !== '';
}
