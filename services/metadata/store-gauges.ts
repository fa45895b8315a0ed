import type { Clock } from '#shared/clock/clock';
import type { StorageStatus } from '#shared/contracts/gen/admin';
import type { Gauge, Metrics } from '#shared/telemetry/metrics';

import type { MetadataCatalog } from './catalog.js';

/** Time for which sums are cached: one over 100,000 segments takes 10 to 16 ms, in which nothing else runs. */
const KEPT_MS = 10_000;

/** Databases with their own label value. */
const DATABASES_MAX = 100;

/** Sums over the catalog. */
interface StoreSums {
  readonly total: ReturnType<MetadataCatalog['segments']['total']>;
  readonly garbage: ReturnType<MetadataCatalog['segments']['garbageTotal']>;
  readonly databaseCount: number;
  /** The largest ones. */
  readonly databases: ReturnType<MetadataCatalog['segments']['byDatabase']>;
}

/** Sizes of what the catalog lists, in metrics and in the status of the process. */
export class StoreSizes {
  readonly #catalog: MetadataCatalog;
  readonly #clock: Clock;
  #sums: StoreSums | undefined;
  #summedMs = Number.NEGATIVE_INFINITY;

  constructor(catalog: MetadataCatalog, clock: Clock) {
    this.#catalog = catalog;
    this.#clock = clock;
  }

  /** Returns the sizes of live and replaced files; empty if the catalog cannot be read. */
  storage(): StorageStatus {
    const sums = this.#read();
    if (sums === undefined) return {};
    const { total, garbage } = sums;
    return {
      segments: total.segments,
      segmentBytes: total.bytes,
      garbageFiles: garbage.files,
      garbageBytes: garbage.bytes,
    };
  }

  /** Exports totals of the manifest whenever metrics are read. Returns a function that ends the export. */
  export(metrics: Metrics): () => void {
    const gauges = storeGauges(metrics);
    const { databaseBytes, databaseSegments, ...totals } = gauges;
    // Names and texts are those that dashboards for GreptimeDB know.
    metrics.gauge({ name: 'catalog_catalog_count', help: 'catalog catalog count' }).set(1);
    return metrics.beforePrint(() => {
      const sums = this.#read();
      for (const it of [databaseBytes, databaseSegments]) it.reset();
      if (sums === undefined) {
        // Both zero and the last values would be wrong.
        for (const it of Object.values<Gauge>(totals)) it.remove();
        return;
      }
      const { total, garbage, databaseCount, databases } = sums;
      gauges.segments.set(total.segments);
      gauges.rows.set(total.rows);
      gauges.bytes.set(total.bytes);
      gauges.garbageFiles.set(garbage.files);
      gauges.garbageBytes.set(garbage.bytes);
      gauges.schemas.set(databaseCount);
      for (const { name, bytes, segments } of databases) {
        databaseBytes.set({ db: name }, bytes);
        databaseSegments.set({ db: name }, segments);
      }
    });
  }

  #read(): StoreSums | undefined {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#summedMs < KEPT_MS) return this.#sums;
    const catalog = this.#catalog;
    try {
      this.#sums = catalog.run(() => ({
        total: catalog.segments.total(),
        garbage: catalog.segments.garbageTotal(),
        databaseCount: catalog.databases.list().length,
        databases: catalog.segments.byDatabase(DATABASES_MAX),
      }));
    } catch {
      return undefined;
    }
    this.#summedMs = nowMs;
    return this.#sums;
  }
}

function storeGauges(metrics: Metrics) {
  return {
    segments: metrics.gauge({ name: 'metadata_store_segments', help: 'live segments of all tables' }),
    rows: metrics.gauge({
      name: 'metadata_store_rows',
      help: 'rows in live segments, including unmerged versions and expired rows',
    }),
    bytes: metrics.gauge({
      name: 'metadata_store_bytes',
      help: 'bytes of live segments and series files, without replaced files that are not deleted yet',
    }),
    garbageFiles: metrics.gauge({
      name: 'metadata_store_garbage_files',
      help: 'replaced files that are not deleted yet',
    }),
    garbageBytes: metrics.gauge({
      name: 'metadata_store_garbage_bytes',
      help: 'bytes of replaced files that are not deleted yet; files replaced by an earlier release count as 0',
    }),
    databaseBytes: metrics.gauge({
      name: 'metadata_database_bytes',
      help: 'bytes of live segments and series files of the largest databases',
      labelNames: ['db'],
    }),
    databaseSegments: metrics.gauge({
      name: 'metadata_database_segments',
      help: 'live segments of the largest databases',
      labelNames: ['db'],
    }),
    schemas: metrics.gauge({ name: 'catalog_schema_count', help: 'catalog schema count' }),
  };
}
