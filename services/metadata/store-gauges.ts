import type { Clock } from '#shared/clock/clock';
import type { Metrics } from '#shared/telemetry/metrics';

import type { MetadataCatalog } from './catalog.js';

/** Time for which sums are cached: one over 100,000 segments takes 10 to 16 ms, in which nothing else runs. */
const KEPT_MS = 10_000;

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
  let summedMs = Number.NEGATIVE_INFINITY;
  return metrics.beforePrint(() => {
    const nowMs = clock.monotonicMs();
    if (nowMs - summedMs < KEPT_MS) return;
    let total: ReturnType<typeof catalog.segments.total>;
    try {
      total = catalog.run(() => catalog.segments.total());
    } catch {
      // Both zero and the last values would be wrong.
      for (const it of [segments, rows, bytes]) it.remove();
      return;
    }
    segments.set(total.segments);
    rows.set(total.rows);
    bytes.set(total.bytes);
    summedMs = nowMs;
  });
}
