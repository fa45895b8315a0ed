import { isUtf8 } from 'node:buffer';

import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { withSpan, type Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { WriteRequest, WriteResponse } from '#shared/contracts/gen/ingester';
import { AlmanacError } from '#shared/errors/almanac-error';
import { decodedBytes, decodeRowBatch } from '#shared/rowbatch/arrow';
import {
  decodeDefinitions,
  decodeTags,
  encodeDefinitions,
  NO_DEFINITIONS,
  type SeriesDefinition,
} from '#shared/rowbatch/definitions';
import type { FixedValues } from '#shared/rowbatch/column';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { dataType } from '#shared/schema/data-type';
import { typesFrom } from '#shared/schema/former-types';
import { DELETED, hasOps, OP } from '#shared/schema/segment-columns';
import { isAppendOnly, tagsOf, timeIndexOf } from '#shared/schema/table-schema';
import { DELETIONS_MAX, OUTRUN } from '#shared/write/outrun';
import { rowsOutside } from '#shared/write/times';

import type { Ingester } from '../ingester.js';
import { objectCharge } from '../memtable/generation.js';
import { regionNotServed, type Region, type SequenceGrant } from '../region/region.js';
import { encodeRecord } from '../wal/record.js';

/** Longest wait for memory in milliseconds; then the write fails with `region_busy`. */
const ADMISSION_MS_MAX = 10_000;

/**
 * Ingester.Write: makes one batch durable, then visible. A batch id that was applied before is acknowledged again.
 *
 * Everything from the last check to the log's queue is synchronous, so that no flush, drop or move comes in between. A
 * batch is never refused after it was appended, unless the log fails.
 */
export function write(ingester: Ingester, request: WriteRequest, call: Call): Promise<WriteResponse> {
  const attributes = { 'almanac.region_id': request.regionId };
  return withSpan(call, 'log and keep rows', attributes, (own) => writeBatch(ingester, request, own));
}

async function writeBatch(ingester: Ingester, request: WriteRequest, call: Call): Promise<WriteResponse> {
  checkFormat(request);
  const region = await ingester.regions.serving(request, call);
  let bytes = request.batch.length + request.definitions.length;
  const waitMs = Math.min(ADMISSION_MS_MAX, call.deadlineMs - ingester.clock.nowMs());
  await ingester.memory.admit(bytes, call.signal, Math.max(0, waitMs));
  let isKept = false;
  try {
    const { definitions, failure } = await readDefinitions(region, request.definitions, ingester.clock);
    if (region.isEnded) throw region.endedError();
    if (region.isSealing) throw regionNotServed(request.regionId);
    const id = Buffer.from(request.batchId).toString('latin1');
    const sameUnderWay = region.pendingBatches.get(id);
    if (sameUnderWay !== undefined) {
      await sameUnderWay;
      return ingester.acknowledgement;
    }
    if (isRepeated(ingester, region, request)) return ingester.acknowledgement;
    // Checked before sequences are assigned: a full disk may stay full for hours.
    ingester.wal.checkWritable();
    const batch = decodeRowBatch(request.batch);
    const decoded = decodedBytes(request.batch, batch);
    const charge = objectCharge(batch, ingester.memory.limitBytes) + decoded - request.batch.length;
    ingester.memory.charge(charge);
    bytes += charge;
    checkBatch(region, batch);
    checkOutrun(region, batch, request);
    if (request.flow !== undefined) ingester.flowFences.check(request.flow);
    if (failure !== undefined) throw failure;
    const grant = region.assignSequences(batch, definitions, seriesMaxOf(region, ingester));
    if ('unknown' in grant) return { ...ingester.acknowledgement, unknownSeries: grant.unknown };
    if ('refused' in grant) return refuseSeries(ingester, grant.refused);
    isKept = true;
    const durable = logAndPut(ingester, region, { request, batch, grant, bytes, decoded });
    region.pendingBatches.set(id, durable);
    try {
      await durable;
    } finally {
      region.pendingBatches.delete(id);
    }
    return ingester.acknowledgement;
  } finally {
    if (!isKept) ingester.memory.release(bytes);
  }
}

/** A table's series are distributed evenly over its regions, by their hashes. */
function seriesMaxOf({ table }: Region, { seriesMax }: Ingester): number {
  return seriesMax === 0 ? Infinity : Math.ceil(seriesMax / table.regions.length);
}

function refuseSeries({ acknowledgement, metrics, seriesMax }: Ingester, positions: number[]): WriteResponse {
  metrics.refusedSeries.inc(positions.length);
  return { ...acknowledgement, refused: { positions, seriesMax } };
}

const BATCH_ID_BYTES = 16;

/** What the log cannot store must be refused before sequences are assigned. */
function checkFormat({ batchId, batch }: WriteRequest): void {
  if (batchId.length !== BATCH_ID_BYTES || batch.length % 8 !== 0) {
    throw new AlmanacError(
      'invalid_arguments',
      'a batch id must have 16 bytes, and a batch a length that is a multiple of 8',
    );
  }
}

/** What the table cannot store must be refused before it is in the log: it would fail every flush. */
function checkBatch({ table, regionId }: Region, { rowCount, columns, times }: RowBatch): void {
  if (rowCount === 0) throw new AlmanacError('invalid_arguments', `a batch for region ${regionId} has no rows`);
  const { timeUnit } = dataType(timeIndexOf(table).type);
  if (timeUnit !== undefined && rowsOutside(times, timeUnit).length > 0) {
    throw new AlmanacError('invalid_arguments', `a batch for table "${table.name}" has times out of range`);
  }
  const byId = new Map(table.columns.map((column) => [column.id, column]));
  if (hasOps(columns)) {
    checkDeletions(table, { rowCount, columns });
    return;
  }
  for (const { columnId, type } of columns) {
    const column = byId.get(columnId);
    // The sender does not know of the drop yet. As with a dropped table, it refreshes its catalog and retries.
    if (column === undefined) {
      throw new AlmanacError('table_not_found', `column ${columnId} of table "${table.name}" was dropped`);
    }
    // The sender does not know of the new type yet. Rows of a former type are accepted, as other regions may already
    // have accepted theirs.
    if (typesFrom(column, type) !== undefined) continue;
    throw new AlmanacError('invalid_arguments', `table "${table.name}" has no column ${columnId} of type ${type}`);
  }
}

/** Deletions come in batches of their own, small enough to be compared with rows that were written meanwhile. */
function checkDeletions(table: Table, { rowCount, columns }: Pick<RowBatch, 'rowCount' | 'columns'>): void {
  if (isAppendOnly(table)) throw new AlmanacError('invalid_arguments', 'DELETE is not allowed under append mode');
  const [column] = columns;
  const areAll = columns.length === 1 && column.type === OP.type && column.nullCount === 0 && column.kind === 'fixed';
  if (areAll && isEach(column.values, DELETED) && rowCount <= DELETIONS_MAX) return;
  const text = `a batch of deletions for table "${table.name}" must contain only deletions, at most ${DELETIONS_MAX} rows`;
  throw new AlmanacError('invalid_arguments', text);
}

function isEach(values: FixedValues, wanted: number): boolean {
  for (const value of values) if (Number(value) !== wanted) return false;
  return true;
}

/**
 * Refuses deletions if rows were written since the read that chose them. A reader that does not know a new tag could
 * mistake a row of one series for that of another.
 */
function checkOutrun(region: Region, batch: RowBatch, { asOf, schemaVersion }: WriteRequest): void {
  if (asOf === 0n) return;
  if (schemaVersion >= region.table.schemaVersion && !region.hasNewer(batch, asOf)) return;
  throw new AlmanacError('illegal_state', `rows of region ${region.regionId} were written after they were read`, {
    details: OUTRUN,
  });
}

function isRepeated(ingester: Ingester, region: Region, request: WriteRequest): boolean {
  const state = region.applied.state(request.batchId);
  if (state === 'outdated') {
    throw new AlmanacError(
      'request_outdated',
      'the write is older than wal.retry_window: it may have been applied or not',
    );
  }
  if (state === 'applied') ingester.metrics.repeatedBatches.inc();
  return state === 'applied';
}

interface SequencedBatch {
  readonly request: WriteRequest;
  readonly batch: RowBatch;
  readonly grant: SequenceGrant;
  /** What the memory budget admitted. */
  readonly bytes: number;
  /** Those of them that are for the batch. */
  readonly decoded: number;
}

/** Appends the batch to the log and makes it visible once it is durable. */
function logAndPut(
  ingester: Ingester,
  region: Region,
  { request, batch, grant, bytes, decoded }: SequencedBatch,
): Promise<void> {
  const header = {
    batchId: request.batchId,
    tableId: request.tableId,
    regionId: request.regionId,
    epoch: region.epoch,
    schemaVersion: request.schemaVersion,
    sequenceFrom: grant.sequenceFrom,
    rowCount: batch.rowCount,
    firstSid: grant.firstSid,
  };
  const parts = encodeRecord(header, encodeDefinitions(grant.newDefinitions), request.batch);
  return new Promise((resolve, reject) => {
    ingester.wal.append({
      regionId: region.regionId,
      sequenceTo: grant.sequenceTo,
      parts,
      onDurable() {
        // No query reads the rows of a closed region, and recovery will not restore them.
        if (region.isEnded) {
          ingester.memory.release(bytes);
          reject(region.endedError());
          return;
        }
        // What a query can see must survive a crash, so rows become visible only now. The log calls in append order.
        const logged = parts.reduce((sum, part) => sum + part.length, 0);
        ingester.memory.release(region.put(batch, grant, { admitted: bytes, decoded, logged }));
        region.applied.add(request.batchId);
        ingester.metrics.writtenRows.inc(batch.rowCount);
        ingester.triggers.onPut(region);
        resolve();
      },
      onFailed(error) {
        region.withdrawSequences(grant);
        ingester.memory.release(bytes);
        reject(error);
      },
    });
  });
}

/** Definitions checked between two looks at the clock, of some microseconds each. */
const DEFINITIONS_PER_LOOK = 64;

/** Definitions of a batch, and what is wrong with them. */
interface CheckedDefinitions {
  readonly definitions: readonly SeriesDefinition[];
  readonly failure: AlmanacError | undefined;
}

/**
 * Decodes and checks the definitions of a batch, in slices, because there may be as many as rows. Returns a failure
 * instead of throwing it: a batch that was already applied is acknowledged whatever its table accepts now.
 */
async function readDefinitions(region: Region, bytes: Uint8Array, clock: Clock): Promise<CheckedDefinitions> {
  // True for nearly all batches.
  if (Buffer.compare(bytes, NO_DEFINITIONS) === 0) return { definitions: [], failure: undefined };
  for (;;) {
    const { table } = region;
    const read = await readFor(table, bytes, new Slices(clock, { workPerLook: DEFINITIONS_PER_LOOK }));
    if (region.table === table) return read;
  }
}

async function readFor(table: Table, bytes: Uint8Array, slices: Slices): Promise<CheckedDefinitions> {
  try {
    const definitions = decodeDefinitions(bytes);
    await checkDefinitions(table, definitions, slices);
    return { definitions, failure: undefined };
  } catch (error) {
    return { definitions: [], failure: AlmanacError.from(error) };
  }
}

/**
 * Series are kept forever, so a definition that a series file could not hold, or would change, is refused before
 * anything of its batch is kept.
 *
 * @throws `invalid_arguments` unless all tags are columns of the table, in order, with values of their types.
 */
async function checkDefinitions(table: Table, definitions: readonly SeriesDefinition[], slices: Slices): Promise<void> {
  const isText = new Map(tagsOf(table).map(({ id, type }) => [id, dataType(type).storage !== 'binary']));
  for (const { tsid, tags } of definitions) {
    let before = -1;
    for (const { columnId, value } of decodeTags(tags)) {
      const isTextTag = isText.get(columnId);
      if (isTextTag === undefined) throw malformed(table, tsid, `has no tag column ${columnId}`);
      if (columnId <= before) throw malformed(table, tsid, `has its tag columns in another order`);
      if (isTextTag && !isUtf8(value)) throw malformed(table, tsid, `takes only UTF-8 in tag column ${columnId}`);
      before = columnId;
    }
    if (slices.isOver(1)) await slices.yield();
  }
}

function malformed({ name }: Table, tsid: bigint, reason: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `definition of series ${tsid.toString(16)}: table "${name}" ${reason}`);
}
