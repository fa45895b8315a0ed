import { tagValue } from '#shared/rowbatch/definitions';
import { NO_METRIC } from '#shared/schema/metric-table';

const FIRST_CAPACITY = 16;
const NAME_BYTES = 100;

/** Metric numbers of a region's series, by which segments of metric tables are sorted. */
export class MetricNumbers {
  readonly #tagId: number;
  /** A byte order mark is part of the name. */
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #byName = new Map<string, number>();
  #bySeries = new Uint32Array(FIRST_CAPACITY);

  /** @param tagId column of the metric's name. */
  constructor(tagId: number) {
    this.#tagId = tagId;
  }

  get bytes(): number {
    return this.#bySeries.byteLength + this.#byName.size * NAME_BYTES;
  }

  /**
   * Adds a new series. The first series of a metric determines its number.
   * @param tags encoded.
   */
  define(sid: number, tags: Uint8Array): void {
    const value = tagValue(tags, this.#tagId);
    this.#set(sid, value === undefined ? NO_METRIC : this.#numberOf(this.#decoder.decode(value), sid));
  }

  /** Adds a series from a series file. */
  load(sid: number, metric: number): void {
    this.#set(sid, metric);
  }

  /** Adds the number of a name from series files. */
  loadName(name: string, metric: number): void {
    this.#byName.set(name, metric);
  }

  /** Returns the metric numbers of the series below `count`; they never change. */
  below(count: number): Uint32Array {
    return this.#bySeries.subarray(0, count);
  }

  #numberOf(name: string, sid: number): number {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    this.#byName.set(name, sid);
    return sid;
  }

  #set(sid: number, metric: number): void {
    if (sid >= this.#bySeries.length) {
      const grown = new Uint32Array(this.#bySeries.length * 2);
      grown.set(this.#bySeries);
      this.#bySeries = grown;
    }
    this.#bySeries[sid] = metric;
  }
}
