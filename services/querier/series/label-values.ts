import { IntegerBlocks } from './blocks.js';
import type { Integers } from './growing.js';

/** Size at which the single map is split, and the number of maps after that. */
const SINGLE_MAX = 1 << 16;
const MAPS = 64;
/** Initial length of a value's list of series: most values with several series have few. */
const FIRST_LIST = 4;

/**
 * Numbers of texts, sharded over many maps once there are many texts: a single map of a million texts takes 0.1 s to grow,
 * during which the event loop is blocked, and a JavaScript map holds at most 16.7 million entries.
 */
class TextNumbers {
  #maps: Map<string, number>[] = [new Map<string, number>()];

  get(text: string): number | undefined {
    return this.#mapOf(text).get(text);
  }

  set(text: string, number: number): void {
    if (this.#maps.length === 1 && this.#maps[0].size === SINGLE_MAX) this.#split();
    this.#mapOf(text).set(text, number);
  }

  #mapOf(text: string): Map<string, number> {
    if (this.#maps.length === 1) return this.#maps[0];
    let hash = 0;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    return this.#maps[(hash ^ (hash >>> 15)) & (MAPS - 1)];
  }

  #split(): void {
    const [single] = this.#maps;
    this.#maps = Array.from({ length: MAPS }, () => new Map<string, number>());
    for (const [text, number] of single) this.#mapOf(text).set(text, number);
  }
}

/** Dictionary of one tag's values, with the series that have each value. */
export class LabelValues {
  /** Position of the label in its index. */
  readonly position: number;
  readonly name: string;
  /** Values by number. A value may have no series: while a file is read, or after reading it failed. */
  readonly values: string[] = [];
  readonly #numbers = new TextNumbers();
  /** By value number: count of the series that have it, and the first of them. */
  readonly #counts = new IntegerBlocks();
  readonly #firsts = new IntegerBlocks();
  /** All series of a value, ascending, if there is more than one: a list for each value would dominate the memory used. */
  readonly #lists: (Int32Array<ArrayBuffer> | undefined)[] = [];

  constructor(position: number, name: string) {
    this.position = position;
    this.name = name;
  }

  numberOf(value: string): number | undefined {
    return this.#numbers.get(value);
  }

  /** Returns the number of a value, assigning the next one to a new value. */
  numberFor(value: string): number {
    const known = this.#numbers.get(value);
    if (known !== undefined) return known;
    const number = this.values.length;
    this.#numbers.set(value, number);
    this.values.push(value);
    this.#lists.push(undefined);
    this.#counts.extend(number + 1);
    this.#firsts.extend(number + 1);
    return number;
  }

  /** Records that a series has a value. Series must be added in ascending order. */
  add(number: number, sid: number): void {
    const count = this.#counts.get(number);
    if (count === 0) this.#firsts.set(number, sid);
    else this.#listFor(number, count)[count] = sid;
    this.#counts.set(number, count + 1);
  }

  /** Returns the number of series that have a value. */
  countOf(number: number): number {
    return this.#counts.get(number);
  }

  /** Returns the lowest series that has a value. */
  firstOf(number: number): number {
    return this.#firsts.get(number);
  }

  /** Returns the series below `end` that have a value, ascending. Later series are not part of the snapshot. */
  seriesOf(number: number, end: number): Int32Array {
    const list = this.#lists[number] ?? Int32Array.of(this.#firsts.get(number));
    let to = this.#counts.get(number);
    while (to > 0 && list[to - 1] >= end) to--;
    return list.subarray(0, to);
  }

  /** Appends the same series to `others`, without an array for each value: a million of them would take 400 MB. */
  addSeriesOf(number: number, end: number, others: Integers): void {
    const list = this.#lists[number];
    const count = this.#counts.get(number);
    if (list === undefined) {
      const first = this.#firsts.get(number);
      if (count > 0 && first < end) others.push(first);
      return;
    }
    for (let i = 0; i < count && list[i] < end; i++) others.push(list[i]);
  }

  /** Returns the list of a value, with room for one more series. */
  #listFor(number: number, count: number): Int32Array {
    const list = this.#lists[number];
    if (list !== undefined && count < list.length) return list;
    const longer = new Int32Array(list === undefined ? FIRST_LIST : list.length * 2);
    if (list === undefined) longer[0] = this.#firsts.get(number);
    else longer.set(list);
    this.#lists[number] = longer;
    return longer;
  }
}
