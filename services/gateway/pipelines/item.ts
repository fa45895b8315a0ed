import { AlmanacError } from '#shared/errors/almanac-error';

import { StateJournal } from './journal.js';
import { parseTree } from './values/parse-tree.js';
import { Timestamp } from './values/timestamp.js';
import { canonicalJson, type PipelineValue } from './values/value.js';

/** How a field of an item is held. */
export const Held = {
  absent: 0,
  null: 1,
  /** `low` is 0 or 1. */
  boolean: 2,
  /** `low` is the integer, exactly. */
  integer: 3,
  /** `other` is a bigint that a double does not hold. */
  bigint: 4,
  /** `low` is the float. */
  float: 5,
  /** `other` is a buffer, and `[low, high)` the UTF-8 text in it. */
  bytes: 6,
  /** `other` is a string. */
  text: 7,
  /** `low` are the seconds, `high` the nanoseconds. */
  timestamp: 8,
  /** `other` is an array or an object. */
  tree: 9,
  /** `other` is an array or an object as compact JSON with sorted keys. */
  json: 10,
} as const;
/** How a field of an item is held. */
export type Held = (typeof Held)[keyof typeof Held];

/** Keys of the fields of one item (spec: pipelines 17). */
const KEYS_MAX = 2_000;
/** Keys of all items of a request; they stay in memory until its end. */
const REQUEST_KEYS_MAX = 100_000;
const VALUE_BYTES_MAX = 16 * 1024 * 1024;

/** A field outside of an item. */
export interface HeldField {
  readonly kind: Held;
  readonly low: number;
  readonly high: number;
  readonly other: unknown;
}

/** Numbers the keys of the items of a request: the slot of a key is its position. */
export class KeySlots {
  readonly keys: string[];
  readonly #slots: Map<string, number>;

  /** @param keys those that a pipeline names, with the slots that it uses. */
  constructor(keys: readonly string[]) {
    this.keys = [...keys];
    this.#slots = new Map(keys.map((key, slot) => [key, slot]));
  }

  /** Returns the slot of a key, which it adds if it is new. @throws `invalid_arguments` if the request has too many. */
  slotOf(key: string): number {
    const known = this.#slots.get(key);
    if (known !== undefined) return known;
    if (this.keys.length >= REQUEST_KEYS_MAX) {
      const text = `request has more than ${REQUEST_KEYS_MAX} keys of items`;
      throw new AlmanacError('invalid_arguments', text, { http: 413 });
    }
    this.#slots.set(key, this.keys.length);
    return this.keys.push(key) - 1;
  }

  /** Returns the slot of a key if it has one. */
  find(key: string): number | undefined {
    return this.#slots.get(key);
  }
}

/**
 * The item that a pipeline works on: fields by slot, which are read and written without objects where a processor is fast.
 *
 * One object holds the items of a request one after the other.
 */
export class Item {
  readonly slots: KeySlots;
  /** Changes of the state of pipelines by the request. */
  readonly journal: StateJournal;
  readonly kinds: Held[] = [];
  readonly low: number[] = [];
  readonly high: number[] = [];
  readonly other: unknown[] = [];
  /** Slots that were set since `clear`, each once; some may be absent again. */
  readonly #used: number[] = [];
  readonly #isUsed: boolean[] = [];

  constructor(slots: KeySlots, journal = new StateJournal()) {
    this.slots = slots;
    this.journal = journal;
  }

  /** Removes all fields. */
  clear(): void {
    for (const slot of this.#used) {
      this.kinds[slot] = Held.absent;
      this.other[slot] = undefined;
      this.#isUsed[slot] = false;
    }
    this.#used.length = 0;
  }

  /** Returns the slots of all fields, in the order in which they were first set. */
  present(): number[] {
    return this.#used.filter((slot) => this.kinds[slot] !== Held.absent);
  }

  /** Whether `present` would return these slots. */
  hasExactly(slots: readonly number[]): boolean {
    let count = 0;
    for (const slot of this.#used) {
      if (this.kinds[slot] === Held.absent) continue;
      if (slot !== slots[count]) return false;
      count++;
    }
    return count === slots.length;
  }

  has(slot: number): boolean {
    return this.#kindAt(slot) !== Held.absent;
  }

  /** Whether the field is absent or null. */
  isMissing(slot: number): boolean {
    return this.#kindAt(slot) <= Held.null;
  }

  remove(slot: number): void {
    if (slot >= this.kinds.length) return;
    this.kinds[slot] = Held.absent;
    this.other[slot] = undefined;
  }

  /** Returns a field as it is held. */
  field(slot: number): HeldField {
    return { kind: this.#kindAt(slot), low: this.low[slot], high: this.high[slot], other: this.other[slot] };
  }

  /** Sets a field to one of another slot, or of another item. */
  setField(slot: number, { kind, low, high, other }: HeldField): void {
    this.#put(slot, kind, low, high, other);
  }

  /** Returns the value of a field; undefined if it is absent. */
  get(slot: number): PipelineValue | undefined {
    switch (this.#kindAt(slot)) {
      case Held.absent:
        return undefined;
      case Held.null:
        return null;
      case Held.boolean:
        return this.low[slot] === 1;
      case Held.integer:
        return BigInt(this.low[slot]);
      case Held.float:
        return this.low[slot];
      case Held.bytes:
      case Held.text:
        return this.text(slot);
      case Held.timestamp:
        return new Timestamp(this.low[slot], this.high[slot]);
      case Held.json:
        return this.#parsed(slot);
      default:
        return this.other[slot] as PipelineValue;
    }
  }

  /** Whether the field is a string. */
  isText(slot: number): boolean {
    const kind = this.#kindAt(slot);
    return kind === Held.bytes || kind === Held.text;
  }

  /** Returns a field that is a string. */
  text(slot: number): string {
    if (this.kinds[slot] === Held.text) return this.other[slot] as string;
    return (this.other[slot] as Buffer).toString('utf8', this.low[slot], this.high[slot]);
  }

  /** Makes the bytes of a field that is a string available in `other`, `low` and `high`. */
  toBytes(slot: number): Buffer {
    if (this.kinds[slot] === Held.bytes) return this.other[slot] as Buffer;
    const bytes = Buffer.from(this.other[slot] as string);
    this.setBytes(slot, bytes, 0, bytes.length);
    return bytes;
  }

  /** @throws `invalid_arguments` if the value is larger than 16 MiB. */
  set(slot: number, value: PipelineValue): void {
    switch (typeof value) {
      case 'boolean':
        return this.#put(slot, Held.boolean, value ? 1 : 0);
      case 'bigint':
        return this.setInteger(slot, value);
      case 'number':
        return this.setFloat(slot, value);
      case 'string':
        return this.setText(slot, value);
      default:
        if (value === null) this.#put(slot, Held.null, 0);
        else if (value instanceof Timestamp) this.setTimestamp(slot, value.seconds, value.nanos);
        else this.#put(slot, Held.tree, 0, 0, value);
    }
  }

  setInteger(slot: number, value: number | bigint): void {
    const near = Number(value);
    if (Number.isSafeInteger(near)) this.#put(slot, Held.integer, near);
    else this.#put(slot, Held.bigint, 0, 0, value);
  }

  setFloat(slot: number, value: number): void {
    this.#put(slot, Held.float, value);
  }

  /** Sets a string to `source[from, to)`, which must be UTF-8, and stay as it is until the item is done. */
  setBytes(slot: number, source: Uint8Array, from: number, to: number): void {
    if (to - from > VALUE_BYTES_MAX) throw tooLarge(this.slots.keys[slot]);
    this.#put(slot, Held.bytes, from, to, source);
  }

  setText(slot: number, text: string): void {
    if (text.length > VALUE_BYTES_MAX) throw tooLarge(this.slots.keys[slot]);
    this.#put(slot, Held.text, 0, 0, text);
  }

  setTimestamp(slot: number, seconds: number, nanos: number): void {
    this.#put(slot, Held.timestamp, seconds, nanos);
  }

  /** Sets an array or an object given as compact JSON with sorted keys. */
  setJson(slot: number, json: string): void {
    this.#put(slot, Held.json, 0, 0, json);
  }

  /** Returns an array or an object as compact JSON with sorted keys. */
  json(slot: number): string {
    if (this.kinds[slot] === Held.json) return this.other[slot] as string;
    return canonicalJson(this.other[slot] as PipelineValue);
  }

  /** Returns an integer field; a bigint if a double does not hold it. */
  integer(slot: number): number | bigint {
    return this.kinds[slot] === Held.bigint ? (this.other[slot] as bigint) : this.low[slot];
  }

  #kindAt(slot: number): Held {
    return this.kinds[slot] ?? Held.absent;
  }

  #parsed(slot: number): PipelineValue {
    const value = parseTree(this.other[slot] as string);
    this.set(slot, value);
    return value;
  }

  #put(slot: number, kind: Held, low: number, high = 0, other?: unknown): void {
    if (!this.#isUsed[slot]) this.#use(slot);
    this.kinds[slot] = kind;
    this.low[slot] = low;
    this.high[slot] = high;
    this.other[slot] = other;
  }

  #use(slot: number): void {
    while (this.kinds.length <= slot) {
      this.kinds.push(Held.absent);
      this.low.push(0);
      this.high.push(0);
      this.other.push(undefined);
      this.#isUsed.push(false);
    }
    if (this.#used.length >= KEYS_MAX) {
      throw new AlmanacError('invalid_arguments', `item has more than ${KEYS_MAX} keys`);
    }
    this.#used.push(slot);
    this.#isUsed[slot] = true;
  }
}

function tooLarge(key: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `value of "${key}" is larger than ${VALUE_BYTES_MAX} bytes`);
}
