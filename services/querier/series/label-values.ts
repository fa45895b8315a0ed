import { IntegerBlocks } from './blocks.js';
import type { Integers } from './growing.js';

/** Texts of one map before there are many maps, and how many then. */
const SINGLE_MAX = 1 << 16;
const MAPS = 64;
/** Series of a value that is found for the second time: most that are have few. */
const FIRST_LIST = 4;

/**
 * Numbers of texts. They are in many maps as soon as there are many: a map of a million texts takes a tenth of a second to
 * grow, in which nobody else is served, and no map takes more than 16.7 million.
 */
class TextNumbers {
  #maps: Map<string, number>[] = [new Map<string, number>()];

  get(text: string): number | undefined {
    return this.#mapOf(text).get(text);
  }

  set(text: string, number: number): void {
    if (this.#maps.length === 1 && this.#maps[0].size === SINGLE_MAX) this.#part();
    this.#mapOf(text).set(text, number);
  }

  #mapOf(text: string): Map<string, number> {
    if (this.#maps.length === 1) return this.#maps[0];
    let hash = 0;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    return this.#maps[(hash ^ (hash >>> 15)) & (MAPS - 1)];
  }

  #part(): void {
    const [single] = this.#maps;
    this.#maps = Array.from({ length: MAPS }, () => new Map<string, number>());
    for (const [text, number] of single) this.#mapOf(text).set(text, number);
  }
}

/** One tag of a table: its values by number, and which series have each. */
export class LabelValues {
  /** Among the labels of its index. */
  readonly position: number;
  readonly name: string;
  /** No series has one yet while series are read from a file, and after that has failed. */
  readonly values: string[] = [];
  readonly #numbers = new TextNumbers();
  /** By number of the value: how many series have it, and the first that does. */
  readonly #counts = new IntegerBlocks();
  readonly #firsts = new IntegerBlocks();
  /** All of them, ascending, where there is more than one: a list for each would be most of what a value takes. */
  readonly #lists: (Int32Array<ArrayBuffer> | undefined)[] = [];

  constructor(position: number, name: string) {
    this.position = position;
    this.name = name;
  }

  numberOf(value: string): number | undefined {
    return this.#numbers.get(value);
  }

  /** The number of a value; a new one if it has none. */
  numbered(value: string): number {
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

  /** Notes that a series, later than all others, has a value. */
  add(number: number, sid: number): void {
    const count = this.#counts.get(number);
    if (count === 0) this.#firsts.set(number, sid);
    else this.#listFor(number, count)[count] = sid;
    this.#counts.set(number, count + 1);
  }

  /** How many series have a value. */
  countOf(number: number): number {
    return this.#counts.get(number);
  }

  /** The least of them. */
  firstOf(number: number): number {
    return this.#firsts.get(number);
  }

  /** Those of them below `end`, ascending: later ones are not in the snapshot. */
  seriesOf(number: number, end: number): Int32Array {
    const list = this.#lists[number] ?? Int32Array.of(this.#firsts.get(number));
    let to = this.#counts.get(number);
    while (to > 0 && list[to - 1] >= end) to--;
    return list.subarray(0, to);
  }

  /** Adds the same to others. To have a list of each of a million values would take 400 MB. */
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

  /** Its list, with room for one more. */
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
