import type { CacheMemory } from '../../common/cache-memory.js';
import { ENTRY_OVERHEAD_BYTES, MetricSeriesCache } from '../../common/metric-series.js';
import type { MetricContext, OriginLabels } from './context.js';

/** Counts contexts of all caches, so that no number is used twice. */
let lastNumber = 0;

/** Returns a number for a new `MetricContext`. */
export function nextContextNumber(): number {
  return ++lastNumber;
}

/** Metrics and series that senders of OTLP sent before to one database and physical table. */
export class OtlpMetricsCache extends MetricSeriesCache {
  readonly #origins = new Map<string, OriginLabels>();
  readonly #contexts = new Map<OriginLabels, Map<string, MetricContext>>();

  constructor(memory: CacheMemory) {
    super(memory, () => 'series without a parser');
  }

  /** Returns the labels of a resource and scope by the bytes of both, as text. */
  origin(key: string, make: () => OriginLabels): OriginLabels {
    let origin = this.#origins.get(key);
    if (origin !== undefined) return origin;
    origin = make();
    this.#keep(key.length);
    this.#origins.set(key, origin);
    return origin;
  }

  /** Returns a metric by the bytes that identify it, as text. */
  context(origin: OriginLabels, key: string, make: () => MetricContext): MetricContext {
    const known = this.#contexts.get(origin)?.get(key);
    if (known !== undefined) return known;
    const context = make();
    this.#keep(key.length);
    let contexts = this.#contexts.get(origin);
    if (contexts === undefined) this.#contexts.set(origin, (contexts = new Map<string, MetricContext>()));
    contexts.set(key, context);
    return context;
  }

  override clear(): void {
    super.clear();
    this.#origins.clear();
    this.#contexts.clear();
  }

  #keep(keyLength: number): void {
    const bytes = 4 * keyLength + 2 * ENTRY_OVERHEAD_BYTES;
    this.makeRoom(bytes);
    this.reserve(bytes);
  }
}
