import { IntegerBlocks } from './blocks.js';
import { Postings } from './postings.js';

/** Size at which the single map is split, and the number of maps after that. */
const SINGLE_MAX = 1 << 16;
const MAPS = 64;

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

/** Memory of a value beside its characters: the text, its entries in the array and in the map, about. */
const VALUE_BYTES = 72;
/** Memory of a label without values, about. */
const LABEL_BYTES = 2560;

/** Dictionary of one tag's values, with the series that have each value. */
export class LabelValues {
  /** Position of the label in its index. */
  readonly position: number;
  readonly name: string;
  /** Values by number. A value may have no series: while a file is read, or after reading it failed. */
  readonly values: string[] = [];
  /** Series by value. They are read from the index at the first query for the label. */
  readonly postings: Postings;
  readonly #numbers = new TextNumbers();
  /** By value number: count of the series that have it, and the first of them. */
  readonly #counts = new IntegerBlocks();
  readonly #firsts = new IntegerBlocks();
  readonly #onGrowth: (bytes: number) => void;
  #characters = 0;

  /**
   * @param valueOf returns the value number of a series; -1: it lacks the label
   * @param onGrowth called with the memory of each new value; may throw, and then the value has a number all the same
   */
  constructor(
    position: number,
    name: string,
    valueOf: (sid: number) => number,
    onGrowth: (bytes: number) => void = () => undefined,
  ) {
    this.position = position;
    this.name = name;
    this.postings = new Postings(valueOf);
    this.#onGrowth = onGrowth;
  }

  /** Memory in bytes. */
  get bytes(): number {
    const { capacity } = this.#counts;
    return LABEL_BYTES + this.values.length * VALUE_BYTES + this.#characters + 8 * capacity + this.postings.bytes;
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
    this.#characters += value.length;
    this.#counts.extend(number + 1);
    this.#firsts.extend(number + 1);
    this.#onGrowth(VALUE_BYTES + value.length);
    return number;
  }

  /** Counts a series that has a value. Series must be counted in ascending order. */
  add(number: number, sid: number): void {
    const count = this.#counts.get(number);
    if (count === 0) this.#firsts.set(number, sid);
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
}
