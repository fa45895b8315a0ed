import { ownCall } from '#shared/contracts/call';
import type { Clock } from '#shared/clock/clock';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import type { FileSystem } from '#shared/fs/file-system';
import type { MemoryBudget } from '#shared/limits/memory-budget';
import { decodedBytes, decodeRowBatch } from '#shared/rowbatch/arrow';
import { decodeDefinitions } from '#shared/rowbatch/definitions';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { selectRows } from '#shared/rowbatch/select-rows';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import type { Logger } from '#shared/telemetry/log';

import { objectCharge } from '../memtable/generation.js';
import { recordBytes, type LogRecord } from '../wal/record.js';
import { replayWal } from '../wal/replay.js';
import type { WalFile } from '../wal/wal-files.js';
import type { Flusher } from './flusher.js';
import type { AppliedIdsFile } from './applied-ids-file.js';
import type { Region, SequenceGrant } from './region.js';
import type { Regions } from './regions.js';
import type { Triggers } from './triggers.js';

/** A flush that takes longer, including retries, fails the start. Milliseconds. */
const FLUSH_MS_MAX = 300_000;

/** What recovery reads, and the parts that it fills. */
export interface RecoverOptions {
  readonly nodeId: number;
  readonly folder: string;
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly metadata: MetadataService;
  readonly regions: Regions;
  readonly appliedIds: AppliedIdsFile;
  readonly memory: MemoryBudget;
  readonly flusher: Flusher;
  readonly triggers: Triggers;
  readonly log: Logger;
  readonly mode: 'strict' | 'skip-corrupt';
  readonly onProgress: (fraction: number) => void;
}

/** Result of a recovery. */
export interface Recovered {
  readonly files: WalFile[];
  readonly rowCount: number;
  readonly bytes: number;
}

/**
 * Restores every row of the log that is in no segment.
 *
 * Memory stays within its budget: more rows than that are flushed on the way. Rows of dropped tables and of closed
 * grants are skipped.
 */
export async function recover(options: RecoverOptions): Promise<Recovered> {
  const { metadata, nodeId } = options;
  const granted = await metadata.listGrants({ nodeId }, ownCall('recover'));
  await options.appliedIds.load(granted.regionIds);
  const watermarks = new Map(granted.regionIds.map((regionId, i) => [regionId, granted.watermarks[i]]));
  let rowCount = 0;
  const skipped = new Map<SkippedOwner, number>();
  let bytes = 0;
  const files = await replayWal({
    ...options,
    recover: options.mode,
    onProgress: (done, total) => {
      bytes = total;
      options.onProgress(total === 0 ? 1 : done / total);
    },
    onRecord: async (record) => {
      const watermark = watermarks.get(record.regionId);
      const put =
        watermark === undefined ? 'other nodes and dropped tables' : await restore(record, watermark, options);
      if (typeof put === 'number') {
        rowCount += put;
        return;
      }
      skipped.set(put, (skipped.get(put) ?? 0) + record.rowCount);
    },
  });
  for (const [whose, count] of skipped) options.log.info({ rowCount: count }, `log rows of ${whose} skipped`);
  return { files, rowCount, bytes };
}

/** Why rows of a region are not restored. */
type SkippedOwner = 'other nodes and dropped tables' | 'regions that have moved to other nodes';

/**
 * @param watermark of the record's region when its grant was listed.
 * @returns the number of restored rows, or why the region's rows are skipped.
 */
async function restore(record: LogRecord, watermark: bigint, options: RecoverOptions): Promise<number | SkippedOwner> {
  const { triggers, regions, appliedIds } = options;
  const { epoch } = record;
  // Opening a region loads its series, possibly millions, and fails if one of its files is damaged. That is not worth
  // it for rows that segments have.
  if (sequenceEnd(record) <= watermark && regions.find(record.regionId) === undefined) {
    appliedIds.addLogged(record);
    return 0;
  }
  const region = await openedFor(record, options);
  if (typeof region === 'string') return region;
  // Ids of earlier grants came with the seal, unless the grant was closed without this log, and then the rows are lost.
  if (epoch !== region.epoch) return 0;
  region.applied.add(record.batchId);
  if (isCommitted(record, watermark, region)) return 0;
  // Buffers of the log are reused, while the rows stay.
  const { batch, grant, decoded } = restoreBatch(region, record, options);
  if (batch.rowCount === 0) return 0;
  const charge = objectCharge(batch, options.memory.limitBytes);
  const bytes = decoded + record.definitions.length + charge;
  await admit(bytes, options);
  const sizes = { admitted: bytes, decoded, logged: recordBytes(record) };
  options.memory.release(region.put(batch, grant, sizes));
  triggers.onPut(region);
  return batch.rowCount;
}

/** @throws `storage_unavailable` if a file of the region is damaged and the record's rows are in no segment. */
async function openedFor(
  { tableId, regionId, schemaVersion }: LogRecord,
  options: RecoverOptions,
): Promise<Region | SkippedOwner> {
  const { regions, log } = options;
  try {
    const address = { tableId, regionId, epoch: 0, schemaVersion };
    return await regions.serving(address, ownCall('recover'), { isPatient: true }).catch(skippedOrThrow);
  } catch (error) {
    const { code, message } = AlmanacError.from(error);
    if (code !== 'storage_unavailable') throw error;
    log.error({ regionId, reason: message }, 'region cannot be opened');
    throw unopenable(regionId);
  }
}

/** Its rows could neither be read nor stay in the log, which deletes files that no open region needs. */
function unopenable(regionId: number): AlmanacError {
  const text = `region ${regionId} cannot be opened, and has rows in the log that are in no segment: restore its files`;
  return new AlmanacError('storage_unavailable', text);
}

/** The table may be dropped while its log is read, and a delayed seal of an earlier run closes the grant. */
function skippedOrThrow(error: unknown): SkippedOwner {
  const { code } = AlmanacError.from(error);
  if (code === 'table_not_found') return 'other nodes and dropped tables';
  if (code === 'region_not_ready') return 'regions that have moved to other nodes';
  throw error;
}

/** Returns whether segments have the rows; a commit of an earlier run may have arrived after the grants were listed. */
function isCommitted(record: LogRecord, watermark: bigint, region: Region): boolean {
  return sequenceEnd(record) <= watermark || sequenceEnd(record) <= region.manifest.watermark;
}

function sequenceEnd({ sequenceFrom, rowCount }: LogRecord): bigint {
  return sequenceFrom + BigInt(rowCount);
}

/** Assigns the batch its logged sequences. Rows of series whose definitions were in a damaged record are left out. */
function restoreBatch(
  region: Region,
  record: LogRecord,
  { log, mode }: RecoverOptions,
): { batch: RowBatch; grant: SequenceGrant; decoded: number } {
  const { sequenceFrom, firstSid } = record;
  const definitions = decodeDefinitions(record.definitions);
  const bytes = record.batch.slice();
  const batch = decodeRowBatch(bytes);
  const decoded = decodedBytes(bytes, batch);
  const grant = region.restore({ batch, sequenceFrom, firstSid, definitions }, mode === 'strict');
  if ('sids' in grant) return { batch, grant, decoded };
  const unknown = new Set(grant.unknown);
  const rows = Uint32Array.from(batch.seriesIndex.keys()).filter((row) => !unknown.has(batch.seriesIndex[row]));
  const lostRows = batch.rowCount - rows.length;
  log.error(
    { regionId: region.regionId, lostRows },
    'log rows lost: the definitions of their series were in a damaged record',
  );
  const kept = selectRows(batch, rows).batch;
  const again = region.restore({ batch: kept, sequenceFrom, firstSid, definitions }, false);
  invariant('sids' in again, 'rows of unknown series are still there');
  return { batch: kept, grant: again, decoded };
}

/** Reserves memory for rows of the log. If there is none, starts a flush unless one runs, and waits for its end. */
async function admit(bytes: number, { memory, regions, flusher }: RecoverOptions): Promise<void> {
  if (memory.usedBytes + bytes > memory.limitBytes && flusher.busy === 0) {
    const greatest = [...regions.open].sort((a, b) => b.open.heldBytes - a.open.heldBytes).at(0);
    if (greatest !== undefined) flusher.start(greatest);
  }
  await memory.admit(bytes, undefined, FLUSH_MS_MAX);
}
