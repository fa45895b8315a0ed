import { invariant } from '#shared/errors/invariant';

import { MetricNumbers } from './metric-numbers.js';

const FIRST_CAPACITY = 16;
const EMPTY = 0;

/**
 * The series of one region: id -> number, and how far each series has come.
 *
 * Typed arrays and open addressing, about 32 bytes a series; tags are kept only until the flush that publishes them,
 * because after it the series file has them.
 */
export class SeriesRegistry {
  /** Of a metric table's series. */
  readonly metrics: MetricNumbers | undefined;
  #count = 0;
  #lows = new Uint32Array(FIRST_CAPACITY);
  #highs = new Uint32Array(FIRST_CAPACITY);
  /** Greatest time that was put, as a double; rounding never makes a late row look in time. */
  #putTimes = new Float64Array(FIRST_CAPACITY);
  /** The same as of the last frozen generation. */
  #sealedTimes = new Float64Array(FIRST_CAPACITY);
  /** Open addressing: series number + 1, 0 = free. Length is a power of two, at most half full. */
  #slots = new Uint32Array(FIRST_CAPACITY * 2);
  /** Encoded tags of the series from `#publishedCount` on. */
  #unpublishedTags: Uint8Array[] = [];
  #publishedCount = 0;

  /** @param metricTagId column of the metric's name, in a metric table. */
  constructor(metricTagId?: number) {
    this.metrics = metricTagId === undefined ? undefined : new MetricNumbers(metricTagId);
  }

  /** How many series there are; numbers are dense below it. */
  get count(): number {
    return this.#count;
  }

  /** Series below this number are in a series file. */
  get publishedCount(): number {
    return this.#publishedCount;
  }

  get bytes(): number {
    let bytes = this.#lows.byteLength * 2 + this.#putTimes.byteLength * 2 + this.#slots.byteLength;
    bytes += this.metrics?.bytes ?? 0;
    for (const tags of this.#unpublishedTags) bytes += tags.length + 64;
    return bytes;
  }

  /**
   * The number of a series, or -1.
   *
   * @param guess looked at first. Senders repeat their order, in which numbers were given: mostly it is the one behind
   *   the last found.
   */
  find(low: number, high: number, guess = 0): number {
    if (guess < this.#count && this.#lows[guess] === low && this.#highs[guess] === high) return guess;
    const mask = this.#slots.length - 1;
    for (let slot = (low ^ Math.imul(high, 0x9e3779b1)) & mask; ; slot = (slot + 1) & mask) {
      const entry = this.#slots[slot];
      if (entry === EMPTY) return -1;
      if (this.#lows[entry - 1] === low && this.#highs[entry - 1] === high) return entry - 1;
    }
  }

  /** Adds a series and returns its number; it must not be there yet. @param tags encoded; kept. */
  define(low: number, high: number, tags: Uint8Array): number {
    const sid = this.#add(low, high, -Infinity);
    this.#unpublishedTags.push(tags);
    this.metrics?.define(sid, tags);
    return sid;
  }

  /** Adds a series that a series file has. Files must be loaded in order of their numbers, before all else. */
  load(low: number, high: number, lastTime: number): void {
    invariant(this.#publishedCount === this.#count, 'series registry: loaded behind new series');
    this.#add(low, high, lastTime);
    this.#publishedCount = this.#count;
  }

  tsidOf(sid: number): bigint {
    return (BigInt(this.#highs[sid]) << 32n) | BigInt(this.#lows[sid]);
  }

  /** Encoded tags of a series that is not published yet. */
  tagsOf(sid: number): Uint8Array {
    return this.#unpublishedTags[sid - this.#publishedCount];
  }

  /** The same of all that are not published yet, from one number up to another; it stays as it is. */
  tagsBetween(from: number, to: number): readonly Uint8Array[] {
    return this.#unpublishedTags.slice(from - this.#publishedCount, Math.max(from, to) - this.#publishedCount);
  }

  /** Notes that series below `count` are in series files now. */
  published(count: number): void {
    if (count <= this.#publishedCount) return;
    this.#unpublishedTags = this.#unpublishedTags.slice(count - this.#publishedCount);
    this.#publishedCount = count;
  }

  /** Notes that a generation was frozen: what was put so far will be flushed before all that comes. */
  sealTimes(): void {
    this.#sealedTimes.set(this.#putTimes.subarray(0, this.#count));
  }

  get putTimes(): Float64Array {
    return this.#putTimes;
  }

  get sealedTimes(): Float64Array {
    return this.#sealedTimes;
  }

  #add(low: number, high: number, lastTime: number): number {
    if (this.#count === this.#lows.length) this.#grow();
    const sid = this.#count++;
    this.#lows[sid] = low;
    this.#highs[sid] = high;
    this.#putTimes[sid] = lastTime;
    this.#sealedTimes[sid] = lastTime;
    this.#insert(sid);
    return sid;
  }

  #insert(sid: number): void {
    const mask = this.#slots.length - 1;
    let slot = (this.#lows[sid] ^ Math.imul(this.#highs[sid], 0x9e3779b1)) & mask;
    while (this.#slots[slot] !== EMPTY) slot = (slot + 1) & mask;
    this.#slots[slot] = sid + 1;
  }

  #grow(): void {
    const capacity = this.#lows.length * 2;
    this.#lows = extend(this.#lows, new Uint32Array(capacity));
    this.#highs = extend(this.#highs, new Uint32Array(capacity));
    this.#putTimes = extend(this.#putTimes, new Float64Array(capacity));
    this.#sealedTimes = extend(this.#sealedTimes, new Float64Array(capacity));
    this.#slots = new Uint32Array(capacity * 2);
    for (let sid = 0; sid < this.#count; sid++) this.#insert(sid);
  }
}

function extend<T extends Uint32Array | Float64Array>(source: T, target: T): T {
  target.set(source);
  return target;
}
