import type { Clock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { dataType, UNIT_NS } from '#shared/schema/data-type';
import { timeIndexOf } from '#shared/schema/table-schema';
import { expiryNs } from '#shared/schema/ttl';
import type { Logger } from '#shared/telemetry/log';

import type { Compactor } from './compactor.js';
import type { IngesterMetrics } from '../metrics.js';
import type { Region } from './region.js';
import type { Regions } from './regions.js';

export interface RetentionOptions {
  readonly regions: Regions;
  readonly compactor: Compactor;
  readonly metadata: MetadataService;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: IngesterMetrics;
}

/** Takes segments out of the manifest whose rows have all expired; queries do not see those any more as it is. */
export async function expireSegments(options: RetentionOptions): Promise<void> {
  const { regions, compactor, metadata, clock, log, metrics } = options;
  const nowNs = clock.nowNs();
  for (const region of [...regions.open]) {
    if (region.isEnded || region.isSealing || expiredPaths(region, nowNs).length === 0) continue;
    const count = await compactor.without([region], async () => {
      // What was merged meanwhile has other names.
      const paths = expiredPaths(region, nowNs);
      const { regionId, epoch } = region;
      region.replaceManifest(await metadata.expireSegments({ regionId, epoch, paths }, ownCall(`expire-${regionId}`)));
      return paths.length;
    });
    metrics.expiredSegments.inc(count);
    log.info({ table: region.table.name, regionId: region.regionId, segments: count }, 'segments have expired');
  }
}

function expiredPaths({ table, manifest }: Region, nowNs: bigint): string[] {
  const expiry = expiryNs(table, nowNs);
  if (expiry === undefined) return [];
  const unitNs = UNIT_NS[dataType(timeIndexOf(table).type).timeUnit ?? 'ns'];
  return manifest.segments.filter(({ timeLast }) => timeLast * unitNs < expiry).map(({ path }) => path);
}
