import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

/**
 * Ids of the batches that were applied to a region, so that a repeated batch is acknowledged and not applied twice.
 *
 * A batch id consists of the sender's incarnation (8 bytes) and a counter (8 bytes, below 2^53) that the sender
 * increments for each batch to a region. Applied batches are therefore a few ranges of counters. If an incarnation has
 * too many gaps, its oldest ranges are dropped, and counters up to there are refused from then on.
 *
 * An id derived from a client's idempotency key has the highest bit of its first 8 bytes set, and no counter. Such ids
 * are kept one by one, for a limited time and number. A dropped one counts as new, because its age is unknown.
 */
export class AppliedIds {
  readonly #incarnations = new Map<bigint, Ranges>();
  /** Key ids as Latin-1 text, oldest first, with the time at which this owner learned of them. */
  readonly #keyed = new Map<string, number>();
  readonly #keys: KeyRetention;

  constructor(keys: KeyRetention) {
    this.#keys = keys;
  }

  /** Returns `applied`, `new`, or `outdated` if the id is too old to know. */
  state(batchId: Uint8Array): 'applied' | 'new' | 'outdated' {
    if (isKeyed(batchId)) return this.#keyed.has(latin1(batchId)) ? 'applied' : 'new';
    const { incarnation, counter } = split(batchId);
    const ranges = this.#incarnations.get(incarnation);
    if (ranges === undefined) return 'new';
    if (ranges.has(counter)) return 'applied';
    return counter <= ranges.floor ? 'outdated' : 'new';
  }

  add(batchId: Uint8Array): void {
    if (isKeyed(batchId)) {
      this.#addKeyed(latin1(batchId));
      return;
    }
    const { incarnation, counter } = split(batchId);
    this.#rangesOf(incarnation).add(counter);
  }

  /**
   * Encodes all ids for the next owner of the region (docs/formats/applied-ids.md); at most 2.1 MiB.
   *
   * @param hasKeys whether key ids are included.
   */
  encode({ hasKeys = true } = {}): Uint8Array {
    const incarnations = this.#encoded();
    const rangeCount = incarnations.reduce((sum, [, ranges]) => sum + ranges.count, 0);
    const keyed = hasKeys ? [...this.#keyed.keys()] : [];
    const bytes = new Uint8Array(12 + incarnations.length * 20 + rangeCount * 16 + keyed.length * 16);
    const view = new DataView(bytes.buffer);
    view.setUint32(0, FORMAT, true);
    view.setUint32(4, incarnations.length, true);
    let at = 8;
    for (const [incarnation, ranges] of incarnations) {
      view.setBigUint64(at, incarnation, true);
      at = ranges.encode(view, at + 8);
    }
    view.setUint32(at, keyed.length, true);
    at += 4;
    for (const id of keyed) {
      bytes.set(Buffer.from(id, 'latin1'), at);
      at += 16;
    }
    return bytes;
  }

  /** Returns all senders, most of which have one range; without the least recently used ones if that is too much. */
  #encoded(): [bigint, Ranges][] {
    const newest = [...this.#incarnations].reverse();
    let rangeCount = 0;
    const end = newest.findIndex(([, ranges]) => (rangeCount += ranges.count) > ENCODED_RANGES_MAX);
    return (end === -1 ? newest : newest.slice(0, end)).reverse();
  }

  /**
   * Adds what an earlier owner encoded.
   * @throws `storage_unavailable` if it cannot be read.
   */
  merge(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    if (view.getUint32(0, true) !== FORMAT) {
      throw new AlmanacError(
        'storage_unavailable',
        'the IDs of applied batches have an unknown format, perhaps of a later version',
      );
    }
    const incarnationCount = view.getUint32(4, true);
    let at = 8;
    for (let i = 0; i < incarnationCount; i++) {
      const ranges = this.#rangesOf(view.getBigUint64(at, true));
      at = ranges.decode(view, at + 8);
    }
    const keyedCount = view.getUint32(at, true);
    at += 4;
    for (let i = 0; i < keyedCount; i++, at += 16) this.#addKeyed(latin1(bytes.subarray(at, at + 16)));
  }

  #rangesOf(incarnation: bigint): Ranges {
    let ranges = this.#incarnations.get(incarnation);
    if (ranges === undefined) {
      if (this.#incarnations.size >= INCARNATIONS_MAX) deleteFirst(this.#incarnations);
      ranges = new Ranges();
    } else {
      // Insertion order is the order of last use.
      this.#incarnations.delete(incarnation);
    }
    this.#incarnations.set(incarnation, ranges);
    return ranges;
  }

  /** Drops key ids that are too old. */
  discardOld(): void {
    const { clock, windowMs } = this.#keys;
    const beforeMs = clock.nowMs() - Math.max(windowMs, KEYED_MS);
    for (const [id, learntMs] of this.#keyed) {
      if (learntMs >= beforeMs) return;
      this.#keyed.delete(id);
    }
  }

  #addKeyed(id: string): void {
    if (this.#keyed.has(id)) return;
    if (this.#keyed.size >= KEYED_MAX) this.#makeRoom();
    this.#keyed.set(id, this.#keys.clock.nowMs());
  }

  #makeRoom(): void {
    const { clock, windowMs, onEarlyDiscard } = this.#keys;
    for (const [oldest, learntMs] of this.#keyed) {
      this.#keyed.delete(oldest);
      if (learntMs > clock.nowMs() - windowMs) onEarlyDiscard();
      return;
    }
  }
}

/** How long key ids are kept. */
export interface KeyRetention {
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Time for which a client may rely on a key, unless there are too many. */
  readonly windowMs: number;
  /** Called when a key id is dropped sooner than that. */
  readonly onEarlyDiscard: () => void;
}

/** Least time for which key ids are kept. */
const KEYED_MS = 3_600_000;

/** Senders that are kept; a sender gets a new incarnation at each start. */
const INCARNATIONS_MAX = 256;
const RANGES_MAX = 1024;
/** For all senders together: 1 MiB. */
const ENCODED_RANGES_MAX = 65_536;
/** Key ids that are kept. */
const KEYED_MAX = 65_536;
const FORMAT = 1;

function isKeyed(batchId: Uint8Array): boolean {
  return (batchId[7] & 0x80) !== 0;
}

function latin1(batchId: Uint8Array): string {
  return Buffer.from(batchId.buffer, batchId.byteOffset, batchId.length).toString('latin1');
}

function split(batchId: Uint8Array): { incarnation: bigint; counter: number } {
  const view = new DataView(batchId.buffer, batchId.byteOffset, 16);
  return { incarnation: view.getBigUint64(0, true), counter: Number(view.getBigUint64(8, true)) };
}

function deleteFirst<K>(collection: { keys(): IterableIterator<K>; delete(key: K): boolean }): void {
  const first = collection.keys().next();
  if (first.done !== true) collection.delete(first.value);
}

/** Disjoint closed ranges of counters, ascending. */
class Ranges {
  /** Counters up to here that are in no range are outdated. */
  floor = -1;
  #firsts: number[] = [];
  #lasts: number[] = [];

  get count(): number {
    return this.#firsts.length;
  }

  has(counter: number): boolean {
    for (let i = this.#firsts.length - 1; i >= 0; i--) {
      if (counter > this.#lasts[i]) return false;
      if (counter >= this.#firsts[i]) return true;
    }
    return false;
  }

  add(counter: number): void {
    this.#addRange(counter, counter);
  }

  /**
   * Writes floor, number of ranges, and their ends.
   * @returns the offset after them.
   */
  encode(view: DataView, from: number): number {
    view.setFloat64(from, this.floor, true);
    view.setUint32(from + 8, this.#firsts.length, true);
    let at = from + 12;
    for (const [i, first] of this.#firsts.entries()) {
      view.setFloat64(at, first, true);
      view.setFloat64(at + 8, this.#lasts[i], true);
      at += 16;
    }
    return at;
  }

  /**
   * Adds what `encode` wrote.
   * @returns the offset after it.
   */
  decode(view: DataView, from: number): number {
    this.floor = Math.max(this.floor, view.getFloat64(from, true));
    const count = view.getUint32(from + 8, true);
    let at = from + 12;
    for (let i = 0; i < count; i++, at += 16) this.#addRange(view.getFloat64(at, true), view.getFloat64(at + 8, true));
    return at;
  }

  #addRange(first: number, last: number): void {
    const end = this.#firsts.length - 1;
    if (end >= 0 && this.#lasts[end] === first - 1) {
      this.#lasts[end] = last;
      return;
    }
    let at = end + 1;
    while (at > 0 && this.#firsts[at - 1] > first) at--;
    this.#firsts.splice(at, 0, first);
    this.#lasts.splice(at, 0, last);
    while (this.#join(at));
    this.#join(at - 1);
    if (this.#firsts.length > RANGES_MAX) {
      this.floor = this.#lasts[0];
      this.#firsts.shift();
      this.#lasts.shift();
    }
  }

  /** Joins the ranges `at` and `at + 1` if they touch or overlap. */
  #join(at: number): boolean {
    if (at < 0 || at + 1 >= this.#firsts.length || this.#lasts[at] + 1 < this.#firsts[at + 1]) return false;
    this.#lasts[at] = Math.max(this.#lasts[at], this.#lasts[at + 1]);
    this.#firsts.splice(at + 1, 1);
    this.#lasts.splice(at + 1, 1);
    return true;
  }
}
