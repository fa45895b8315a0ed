import type { Clock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import type { Segment } from '#shared/contracts/gen/common';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { dataType, UNIT_NS } from '#shared/schema/data-type';
import { isAppendOnly, timeIndexOf } from '#shared/schema/table-schema';
import { expiryNs } from '#shared/schema/ttl';
import type { Logger } from '#shared/telemetry/log';

import type { Compactor } from './compactor.js';
import type { IngesterMetrics } from '../metrics.js';
import type { Region } from './region.js';
import type { Regions } from './regions.js';

/** What expiring segments needs. */
export interface RetentionOptions {
  readonly regions: Pick<Regions, 'open'>;
  readonly compactor: Pick<Compactor, 'without'>;
  readonly metadata: Pick<MetadataService, 'expireSegments'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<IngesterMetrics, 'expiredSegments'>;
}

/**
 * Removes segments whose rows have all expired from the manifest. Queries already ignore those rows.
 *
 * @throws the first region's error after all regions were tried.
 */
export async function expireRegionSegments(options: RetentionOptions): Promise<void> {
  const { regions, clock, log, metrics } = options;
  const nowNs = clock.nowNs();
  let failure: AlmanacError | undefined;
  for (const region of [...regions.open]) {
    if (region.isEnded || region.isSealing || expiredPaths(region, nowNs).length === 0) continue;
    const of = { table: region.table.name, regionId: region.regionId };
    try {
      const segments = await expireOneRegion(region, nowNs, options);
      metrics.expiredSegments.inc(segments);
      log.info({ ...of, segments }, 'expired segments removed');
    } catch (error) {
      failure ??= AlmanacError.from(error);
      log.error({ ...of, error }, 'expired segments could not be removed');
    }
  }
  if (failure !== undefined) throw failure;
}

/** @returns the number of expired segments. */
function expireOneRegion(region: Region, nowNs: bigint, { compactor, metadata }: RetentionOptions): Promise<number> {
  return compactor.without([region], async () => {
    // Segments that were merged meanwhile have other names.
    const paths = expiredPaths(region, nowNs);
    const { regionId, epoch } = region;
    region.replaceManifest(await metadata.expireSegments({ regionId, epoch, paths }, ownCall(`expire-${regionId}`)));
    return paths.length;
  });
}

/**
 * A segment is kept while an older one with rows of the same times is: otherwise a longer `ttl` would show old versions
 * and deleted rows again.
 */
function expiredPaths({ table, manifest }: Region, nowNs: bigint): string[] {
  const expiry = expiryNs(table, nowNs);
  if (expiry === undefined) return [];
  const unitNs = UNIT_NS[dataType(timeIndexOf(table).type).timeUnit ?? 'ns'];
  const paths: string[] = [];
  /** Kept segments that contain expired rows. */
  const kept: Segment[] = [];
  for (const segment of manifest.segments) {
    const isOver = segment.timeLast * unitNs < expiry;
    if (isOver && (isAppendOnly(table) || !kept.some((older) => mayHide(segment, older)))) paths.push(segment.path);
    else if (segment.timeFirst * unitNs < expiry) kept.push(segment);
  }
  return paths;
}

/** Segments are in version order. */
function mayHide(segment: Segment, older: Segment): boolean {
  if (older.sequenceTo > segment.sequenceFrom) return false;
  return older.timeFirst <= segment.timeLast && older.timeLast >= segment.timeFirst;
}
