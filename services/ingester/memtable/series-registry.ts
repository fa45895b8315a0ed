import { invariant } from '#shared/errors/invariant';
import type { SeriesDefinition } from '#shared/rowbatch/definitions';

import { MetricNumbers } from './metric-numbers.js';
import { SeriesIds } from './series-ids.js';
import { TagBlocks, type TagRun } from './tag-blocks.js';

const FIRST_CAPACITY = 16;

/**
 * The series of one region: id -> number, and the greatest time of each series.
 *
 * Uses typed arrays, 32 to 60 bytes a series. Tags are kept only until a flush publishes them to a series file.
 */
export class SeriesRegistry {
  /** Metric numbers, in a metric table. */
  readonly metrics: MetricNumbers | undefined;
  readonly #ids = new SeriesIds();
  /** Greatest time that was put, as a double; rounding never makes a late row look in order. */
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

  /** Number of series; series numbers are dense below it. */
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
   * Returns the number of a series, or -1.
   *
   * @param guess checked first; usually the one after the last found.
   */
  find(low: number, high: number, guess = 0): number {
    return this.#ids.find(low, high, guess);
  }

  /**
   * Adds a series that does not exist yet and returns its number.
   * @param tags encoded; copied.
   */
  define(low: number, high: number, tags: Uint8Array): number {
    const sid = this.#add(low, high, -Infinity);
    this.#unpublishedTags.add(sid, tags);
    this.metrics?.define(sid, tags);
    return sid;
  }

  /** Adds a series from a series file. Files must be loaded in the order of their numbers, before anything else. */
  load(low: number, high: number, lastTime: number): void {
    invariant(this.#publishedCount === this.count, 'series registry: loaded after new series');
    this.#add(low, high, lastTime);
    this.#publishedCount = this.count;
  }

  tsidOf(sid: number): bigint {
    return this.#ids.tsidOf(sid);
  }

  tsidsOf(sids: Uint32Array): BigUint64Array<ArrayBuffer> {
    return this.#ids.tsidsOf(sids);
  }

  /** Returns the encoded tags of a series that is not published yet. */
  tagsOf(sid: number): Uint8Array {
    return this.#unpublishedTags.at(sid);
  }

  /** Returns the tags of unpublished series in a range of numbers; the result does not change afterwards. */
  tagsBetween(from: number, to: number): TagRun {
    return this.#unpublishedTags.run(from, to);
  }

  /** Records that series below `count` are in series files. */
  published(count: number): void {
    if (count <= this.#publishedCount) return;
    this.#unpublishedTags.discardBelow(count);
    this.#publishedCount = count;
  }

  /** Records that a generation was frozen: everything put so far is flushed before what comes later. */
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

/**
 * Finds definitions by series id. Lookups usually come in the order of the definitions, which takes one comparison each
 * instead of a map of thousands.
 */
export class DefinitionLookup {
  readonly #definitions: readonly SeriesDefinition[];
  #byTsid: ReadonlyMap<bigint, SeriesDefinition> | undefined = undefined;
  #next = 0;

  constructor(definitions: readonly SeriesDefinition[]) {
    this.#definitions = definitions;
  }

  find(tsid: bigint): SeriesDefinition | undefined {
    const { length } = this.#definitions;
    if (length === 0) return undefined;
    if (this.#next === length) this.#next = 0;
    const expected = this.#definitions[this.#next];
    if (expected.tsid === tsid) {
      this.#next++;
      return expected;
    }
    this.#byTsid ??= new Map(this.#definitions.map((it) => [it.tsid, it]));
    return this.#byTsid.get(tsid);
  }
}
