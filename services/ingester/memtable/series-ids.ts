import { systemRandom } from '#shared/clock/random';

const FIRST_CAPACITY = 16;
const EMPTY = 0;
/** Entries up to which there is a single table. */
const SINGLE_MAX = 1 << 16;
/** Tables above that; the topmost bits of the hash select one. */
const TABLES = 256;
const TABLE_SHIFT = 24;

/** Open addressing: series number + 1, 0 = free. The length is a power of two, at most half full. */
class HashTable {
  slots: Uint32Array<ArrayBuffer>;
  count = 0;

  constructor(capacity: number) {
    this.slots = new Uint32Array(capacity * 2);
  }

  get isFull(): boolean {
    return this.count * 2 >= this.slots.length;
  }

  add(hash: number, sid: number): void {
    const { slots } = this;
    const mask = slots.length - 1;
    let slot = hash & mask;
    while (slots[slot] !== EMPTY) slot = (slot + 1) & mask;
    slots[slot] = sid + 1;
    this.count++;
  }
}

/**
 * Maps series ids to dense numbers and back.
 *
 * Uses typed arrays because a `Map` ends at 16.7 million entries. Large indexes use many tables, of which one grows at
 * a time: rehashing millions of ids at once would block the process for a second.
 */
export class SeriesIds {
  count = 0;
  #lows = new Uint32Array(FIRST_CAPACITY);
  #highs = new Uint32Array(FIRST_CAPACITY);
  #tables: HashTable[] = [new HashTable(FIRST_CAPACITY)];
  /** Mask of the index in `#tables`. */
  #tableMask = 0;

  get bytes(): number {
    let bytes = this.#lows.byteLength * 2;
    for (const { slots } of this.#tables) bytes += slots.byteLength;
    return bytes;
  }

  /**
   * Returns the number of a series, or -1.
   *
   * @param guess checked first: senders repeat the order in which numbers were assigned, so it is usually the one
   *   after the last found.
   */
  find(low: number, high: number, guess = 0): number {
    if (guess < this.count && this.#lows[guess] === low && this.#highs[guess] === high) return guess;
    const hash = hashOf(low, high);
    const { slots } = this.#tables[(hash >>> TABLE_SHIFT) & this.#tableMask];
    const mask = slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const entry = slots[slot];
      if (entry === EMPTY) return -1;
      if (this.#lows[entry - 1] === low && this.#highs[entry - 1] === high) return entry - 1;
    }
  }

  /** Assigns a number to an id that has none. */
  add(low: number, high: number): number {
    const sid = this.count;
    if (sid === this.#lows.length) {
      this.#lows = extended(this.#lows);
      this.#highs = extended(this.#highs);
    }
    this.#lows[sid] = low;
    this.#highs[sid] = high;
    if (sid === SINGLE_MAX) this.#part();
    const hash = hashOf(low, high);
    const at = (hash >>> TABLE_SHIFT) & this.#tableMask;
    if (this.#tables[at].isFull) this.#tables[at] = this.#grown(this.#tables[at]);
    this.#tables[at].add(hash, sid);
    this.count++;
    return sid;
  }

  /** Returns the IDs of series by number, without a BigInt for each. */
  tsidsOf(sids: Uint32Array): BigUint64Array<ArrayBuffer> {
    const tsids = new BigUint64Array(sids.length);
    const words = new Uint32Array(tsids.buffer);
    const [lows, highs] = [this.#lows, this.#highs];
    for (let i = 0; i < sids.length; i++) {
      words[2 * i] = lows[sids[i]];
      words[2 * i + 1] = highs[sids[i]];
    }
    return tsids;
  }

  tsidOf(sid: number): bigint {
    return (BigInt(this.#highs[sid]) << 32n) | BigInt(this.#lows[sid]);
  }

  #grown({ slots }: HashTable): HashTable {
    const grown = new HashTable(slots.length);
    for (const entry of slots) if (entry !== EMPTY) grown.add(this.#hashOf(entry - 1), entry - 1);
    return grown;
  }

  #part(): void {
    this.#tables = Array.from({ length: TABLES }, () => new HashTable((2 * SINGLE_MAX) / TABLES));
    this.#tableMask = TABLES - 1;
    for (let sid = 0; sid < this.count; sid++) {
      const hash = this.#hashOf(sid);
      const at = hash >>> TABLE_SHIFT;
      if (this.#tables[at].isFull) this.#tables[at] = this.#grown(this.#tables[at]);
      this.#tables[at].add(hash, sid);
    }
  }

  #hashOf(sid: number): number {
    return hashOf(this.#lows[sid], this.#highs[sid]);
  }
}

/** Secret odd factors: a sender can choose ids, and could otherwise make all of them collide. */
const [LOW_FACTOR, HIGH_FACTOR] = new Uint32Array(systemRandom.bytes(8).buffer).map((word) => word | 1);

function hashOf(low: number, high: number): number {
  const mixed = Math.imul(low, LOW_FACTOR);
  const both = Math.imul(mixed ^ (mixed >>> 16) ^ high, HIGH_FACTOR);
  return both ^ (both >>> 16);
}

function extended(source: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const target = new Uint32Array(source.length * 2);
  target.set(source);
  return target;
}
