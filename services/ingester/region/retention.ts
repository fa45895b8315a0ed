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

export interface RetentionOptions {
  readonly regions: Pick<Regions, 'open'>;
  readonly compactor: Pick<Compactor, 'without'>;
  readonly metadata: Pick<MetadataService, 'expireSegments'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<IngesterMetrics, 'expiredSegments'>;
}

/**
 * Takes segments out of the manifest whose rows have all expired; queries do not see those any more as it is.
 *
 * @throws what went wrong with the first region, once all others had their turn.
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
      log.info({ ...of, segments }, 'segments have expired');
    } catch (error) {
      failure ??= AlmanacError.from(error);
      log.error({ ...of, error }, 'segments could not be expired');
    }
  }
  if (failure !== undefined) throw failure;
}

/** @returns how many there were. */
function expireOneRegion(region: Region, nowNs: bigint, { compactor, metadata }: RetentionOptions): Promise<number> {
  return compactor.without([region], async () => {
    // What was merged meanwhile has other names.
    const paths = expiredPaths(region, nowNs);
    const { regionId, epoch } = region;
    region.replaceManifest(await metadata.expireSegments({ regionId, epoch, paths }, ownCall(`expire-${regionId}`)));
    return paths.length;
  });
}

/**
 * A segment stays while an older one does that has rows of the same times: a longer `ttl` would show these again, the
 * deleted ones too.
 */
function expiredPaths({ table, manifest }: Region, nowNs: bigint): string[] {
  const expiry = expiryNs(table, nowNs);
  if (expiry === undefined) return [];
  const unitNs = UNIT_NS[dataType(timeIndexOf(table).type).timeUnit ?? 'ns'];
  const paths: string[] = [];
  /** With expired rows. */
  const kept: Segment[] = [];
  for (const segment of manifest.segments) {
    const isOver = segment.timeLast * unitNs < expiry;
    if (isOver && (isAppendOnly(table) || !kept.some((older) => mayHide(segment, older)))) paths.push(segment.path);
    else if (segment.timeFirst * unitNs < expiry) kept.push(segment);
  }
  return paths;
}

/** Segments come in the order of versions. */
function mayHide(segment: Segment, older: Segment): boolean {
  if (older.sequenceTo > segment.sequenceFrom) return false;
  return older.timeFirst <= segment.timeLast && older.timeLast >= segment.timeFirst;
}
