import { invariant } from '#shared/errors/invariant';

import { MetricNumbers } from './metric-numbers.js';
import { SeriesIds } from './series-ids.js';
import { TagBlocks, type TagRun } from './tag-blocks.js';

const FIRST_CAPACITY = 16;

/**
 * The series of one region: id -> number, and how far each series has come.
 *
 * Typed arrays, 32 to 60 bytes a series; tags are kept only until the flush that publishes them, because after it the
 * series file has them.
 */
export class SeriesRegistry {
  /** Of a metric table's series. */
  readonly metrics: MetricNumbers | undefined;
  readonly #ids = new SeriesIds();
  /** Greatest time that was put, as a double; rounding never makes a late row look in time. */
  #putTimes = new Float64Array(FIRST_CAPACITY);
  /** The same as of the last frozen generation. */
  #sealedTimes = new Float64Array(FIRST_CAPACITY);
  /** Encoded tags of the series from `#publishedCount` on. */
  readonly #unpublishedTags = new TagBlocks();
  #publishedCount = 0;

  /** @param metricTagId column of the metric's name, in a metric table. */
  constructor(metricTagId?: number) {
    this.metrics = metricTagId === undefined ? undefined : new MetricNumbers(metricTagId);
  }

  /** How many series there are; numbers are dense below it. */
  get count(): number {
    return this.#ids.count;
  }

  /** Series below this number are in a series file. */
  get publishedCount(): number {
    return this.#publishedCount;
  }

  get bytes(): number {
    const tables = this.#ids.bytes + this.#putTimes.byteLength * 2 + (this.metrics?.bytes ?? 0);
    return tables + this.#unpublishedTags.bytes;
  }

  /**
   * The number of a series, or -1.
   *
   * @param guess looked at first; mostly it is the one behind the last found.
   */
  find(low: number, high: number, guess = 0): number {
    return this.#ids.find(low, high, guess);
  }

  /** Adds a series and returns its number; it must not be there yet. @param tags encoded; copied. */
  define(low: number, high: number, tags: Uint8Array): number {
    const sid = this.#add(low, high, -Infinity);
    this.#unpublishedTags.add(sid, tags);
    this.metrics?.define(sid, tags);
    return sid;
  }

  /** Adds a series that a series file has. Files must be loaded in order of their numbers, before all else. */
  load(low: number, high: number, lastTime: number): void {
    invariant(this.#publishedCount === this.count, 'series registry: loaded behind new series');
    this.#add(low, high, lastTime);
    this.#publishedCount = this.count;
  }

  tsidOf(sid: number): bigint {
    return this.#ids.tsidOf(sid);
  }

  /** Encoded tags of a series that is not published yet. */
  tagsOf(sid: number): Uint8Array {
    return this.#unpublishedTags.at(sid);
  }

  /** The same of all that are not published yet, from one number up to another; it stays as it is. */
  tagsBetween(from: number, to: number): TagRun {
    return this.#unpublishedTags.run(from, to);
  }

  /** Notes that series below `count` are in series files now. */
  published(count: number): void {
    if (count <= this.#publishedCount) return;
    this.#unpublishedTags.discardBelow(count);
    this.#publishedCount = count;
  }

  /** Notes that a generation was frozen: what was put so far will be flushed before all that comes. */
  sealTimes(): void {
    this.#sealedTimes.set(this.#putTimes.subarray(0, this.count));
  }

  get putTimes(): Float64Array {
    return this.#putTimes;
  }

  get sealedTimes(): Float64Array {
    return this.#sealedTimes;
  }

  #add(low: number, high: number, lastTime: number): number {
    const sid = this.#ids.add(low, high);
    if (sid === this.#putTimes.length) {
      this.#putTimes = extended(this.#putTimes);
      this.#sealedTimes = extended(this.#sealedTimes);
    }
    this.#putTimes[sid] = lastTime;
    this.#sealedTimes[sid] = lastTime;
    return sid;
  }
}

function extended(source: Float64Array): Float64Array<ArrayBuffer> {
  const target = new Float64Array(source.length * 2);
  target.set(source);
  return target;
}
