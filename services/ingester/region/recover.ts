import { ownCall } from '#shared/contracts/call';
import type { Clock } from '#shared/clock/clock';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import type { FileSystem } from '#shared/fs/file-system';
import type { MemoryBudget } from '#shared/limits/memory-budget';
import { decodeRowBatch } from '#shared/rowbatch/arrow';
import { decodeDefinitions } from '#shared/rowbatch/definitions';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { selectRows } from '#shared/rowbatch/select-rows';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import type { Logger } from '#shared/telemetry/log';

import { objectCharge } from '../memtable/object-bytes.js';
import type { LogRecord } from '../wal/record.js';
import { replayWal } from '../wal/replay.js';
import type { WalFile } from '../wal/wal-files.js';
import type { Flusher } from './flusher.js';
import type { AppliedIdsFile } from './applied-ids-file.js';
import type { Region, SequenceGrant } from './region.js';
import type { Regions } from './regions.js';
import type { Triggers } from './triggers.js';

/** A flush that takes longer, with all its repetitions, ends the start. */
const FLUSH_MS_MAX = 300_000;

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

export interface Recovered {
  readonly files: WalFile[];
  readonly rowCount: number;
  readonly bytes: number;
}

/**
 * Puts every row of the log back that no segment has.
 *
 * Memory stays within its budget: where the rows are more than that, they are flushed on the way. Rows of tables that
 * were dropped and of grants that were closed meanwhile are passed over.
 */
export async function recover(options: RecoverOptions): Promise<Recovered> {
  const { metadata, nodeId } = options;
  const granted = await metadata.listGrants({ nodeId }, ownCall('recover'));
  await options.appliedIds.load(granted.regionIds);
  const watermarks = new Map(granted.regionIds.map((regionId, i) => [regionId, granted.watermarks[i]]));
  let rowCount = 0;
  const passedOver = new Map<SkippedOwner, number>();
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
      passedOver.set(put, (passedOver.get(put) ?? 0) + record.rowCount);
    },
  });
  for (const [whose, count] of passedOver) options.log.info({ rowCount: count }, `log rows of ${whose} passed over`);
  return { files, rowCount, bytes };
}

/** Whose rows are not wanted any more. */
type SkippedOwner = 'other nodes and dropped tables' | 'closed grants';

/**
 * @param watermark of the record's region, when its grant was listed.
 * @returns the rows that were put, or why all of its region are passed over.
 */
async function restore(record: LogRecord, watermark: bigint, options: RecoverOptions): Promise<number | SkippedOwner> {
  const { triggers, regions, appliedIds } = options;
  const { epoch } = record;
  // Opening a region loads its series, of which there may be millions, and fails if a file of it is damaged: not for rows
  // that segments have.
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
  // The bytes of the log are read in blocks that are given back; the rows stay for long.
  const { batch, turn } = restoreBatch(region, record, options);
  if (batch.rowCount === 0) return 0;
  const charge = objectCharge(batch, options.memory.limitBytes);
  const bytes = record.batch.length + record.definitions.length + charge;
  await admit(bytes, options);
  region.put(batch, turn, bytes);
  triggers.onPut(region);
  return batch.rowCount;
}

/** @throws `storage_unavailable` if a file of the region is damaged: rows of the record are in no segment. */
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

/** Its rows could neither be read nor be kept in the log, which forgets what no region needs. */
function unopenable(regionId: number): AlmanacError {
  const text = `region ${regionId} cannot be opened, and has rows in the log that are in no segment: restore its files`;
  return new AlmanacError('storage_unavailable', text);
}

/** The table may be dropped while its log is read, and a seal of an earlier life, which comes late, closes the grant. */
function skippedOrThrow(error: unknown): SkippedOwner {
  const { code } = AlmanacError.from(error);
  if (code === 'table_not_found') return 'other nodes and dropped tables';
  if (code === 'region_not_ready') return 'closed grants';
  throw error;
}

/** Whether segments have its rows; a commit of an earlier life may have come after the grants were listed. */
function isCommitted(record: LogRecord, watermark: bigint, region: Region): boolean {
  return sequenceEnd(record) <= watermark || sequenceEnd(record) <= region.manifest.watermark;
}

function sequenceEnd({ sequenceFrom, rowCount }: LogRecord): bigint {
  return sequenceFrom + BigInt(rowCount);
}

/** Gives the batch its numbers again. Rows of series whose definitions were lost with a damaged record are left out. */
function restoreBatch(
  region: Region,
  record: LogRecord,
  { log, mode }: RecoverOptions,
): { batch: RowBatch; turn: SequenceGrant } {
  const { sequenceFrom, firstSid } = record;
  const definitions = decodeDefinitions(record.definitions);
  const batch = decodeRowBatch(record.batch.slice());
  const turn = region.restore({ batch, sequenceFrom, firstSid, definitions }, mode === 'strict');
  if ('sids' in turn) return { batch, turn };
  const unknown = new Set(turn.unknown);
  const rows = Uint32Array.from(batch.seriesIndex.keys()).filter((row) => !unknown.has(batch.seriesIndex[row]));
  const lostRows = batch.rowCount - rows.length;
  log.error({ regionId: region.regionId, lostRows }, 'log rows of unknown series left out');
  const kept = selectRows(batch, rows).batch;
  const again = region.restore({ batch: kept, sequenceFrom, firstSid, definitions }, false);
  invariant('sids' in again, 'rows of unknown series are still there');
  return { batch: kept, turn: again };
}

/** Takes memory for rows of the log. Where there is none, it waits for the next flush to end, and sees that there is one. */
async function admit(bytes: number, { memory, regions, flusher }: RecoverOptions): Promise<void> {
  if (memory.usedBytes + bytes > memory.limitBytes && flusher.busy === 0) {
    const greatest = [...regions.open].sort((a, b) => b.open.heldBytes - a.open.heldBytes).at(0);
    if (greatest !== undefined) flusher.start(greatest);
  }
  await memory.admit(bytes, undefined, FLUSH_MS_MAX);
}
