import type { Clock } from '#shared/clock/clock';
import type { Metrics } from '#shared/telemetry/metrics';

import type { MetadataCatalog } from './catalog.js';

/** Time for which sums are cached: one over 100,000 segments takes 10 to 16 ms, in which nothing else runs. */
const KEPT_MS = 10_000;

/** Databases with their own label value. */
const DATABASES_MAX = 100;

/** Exports totals of the manifest whenever metrics are read. Returns a function that ends the export. */
export function exportStoreGauges(catalog: MetadataCatalog, metrics: Metrics, clock: Clock): () => void {
  const segments = metrics.gauge({ name: 'metadata_store_segments', help: 'live segments of all tables' });
  const rows = metrics.gauge({
    name: 'metadata_store_rows',
    help: 'rows in live segments, including unmerged versions and expired rows',
  });
  const bytes = metrics.gauge({
    name: 'metadata_store_bytes',
    help: 'bytes of live segments and series files, without replaced files that are not deleted yet',
  });
  const garbage = metrics.gauge({
    name: 'metadata_store_garbage_files',
    help: 'replaced files that are not deleted yet',
  });
  const databaseBytes = metrics.gauge({
    name: 'metadata_database_bytes',
    help: 'bytes of live segments and series files of the largest databases',
    labelNames: ['db'],
  });
  const databaseSegments = metrics.gauge({
    name: 'metadata_database_segments',
    help: 'live segments of the largest databases',
    labelNames: ['db'],
  });
  // Names and texts are those that dashboards for GreptimeDB know.
  metrics.gauge({ name: 'catalog_catalog_count', help: 'catalog catalog count' }).set(1);
  const schemas = metrics.gauge({ name: 'catalog_schema_count', help: 'catalog schema count' });
  let summedMs = Number.NEGATIVE_INFINITY;
  return metrics.beforePrint(() => {
    const nowMs = clock.monotonicMs();
    if (nowMs - summedMs < KEPT_MS) return;
    try {
      catalog.run(() => {
        const total = catalog.segments.total();
        segments.set(total.segments);
        rows.set(total.rows);
        bytes.set(total.bytes);
        garbage.set(catalog.segments.garbageCount());
        schemas.set(catalog.databases.list().length);
        for (const it of [databaseBytes, databaseSegments]) it.reset();
        for (const { name, ...of } of catalog.segments.byDatabase(DATABASES_MAX)) {
          databaseBytes.set({ db: name }, of.bytes);
          databaseSegments.set({ db: name }, of.segments);
        }
      });
    } catch {
      // Both zero and the last values would be wrong.
      for (const it of [segments, rows, bytes, garbage, schemas]) it.remove();
      for (const it of [databaseBytes, databaseSegments]) it.reset();
      return;
    }
    summedMs = nowMs;
  });
}
