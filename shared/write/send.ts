import { createHash } from 'node:crypto';

import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import { Slices } from '#shared/clock/slices';
import { callError, checkCall, type Call } from '#shared/contracts/call';
import type { RegionInfo } from '#shared/contracts/gen/common';
import type { WriteRequest } from '#shared/contracts/gen/ingester';
import type { Ingesters } from '#shared/discovery/ingesters';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import { encodeBorrowedBatch } from '#shared/rowbatch/arrow';
import type { SeriesEntry } from '#shared/rowbatch/builder';
import {
  encodeDefinitions,
  encodeTags,
  NO_DEFINITIONS,
  type SeriesDefinition,
  type SeriesTag,
} from '#shared/rowbatch/definitions';
import type { Metrics } from '#shared/telemetry/metrics';
import { RegionLinks } from './known-series.js';
import type { RegionPart } from './split.js';
import type { TableIndex } from './table-index.js';
import { SERIES_PER_LOOK, type WriteCatalog } from './tables.js';

/** Rest before the second attempt; doubled at each one after it. */
const RETRY_MS = 10;
const RETRY_MS_MAX = 1_000;
/** What a request has besides its batch and its definitions, at most. */
const HEADER_BYTES_MAX = 256;
/** What a definition has besides its tags, and a tag besides its value, at most. */
const DEFINITION_BYTES = 12;
const TAG_BYTES_MAX = 10;
/** Rows from which on a batch is worked on in several turns of the event loop. */
export const LARGE_ROWS = 20_000;

export interface SenderOptions {
  readonly catalog: WriteCatalog;
  readonly ingesters: Ingesters;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  /** Bound of one request; none if not given. */
  readonly messageBytesMax?: number | undefined;
}

/** How parts are sent. */
export interface SendOptions {
  /** The client's name for the request; without one, each batch gets an id of its own. */
  readonly idempotencyKey?: string | undefined;
  /** Of deletions, by region: the last row that was read to decide on them. A part that rows have outrun is refused. */
  readonly asOf?: ReadonlyMap<number, bigint>;
}

/** A batch as it is sent. */
interface Encoded {
  readonly part: RegionPart;
  readonly bytes: Uint8Array;
}

/** One batch on its way to one region. */
interface Delivery {
  readonly part: RegionPart;
  readonly batchId: Uint8Array;
  readonly bytes: Uint8Array;
  /** Zero: none. */
  readonly asOf: bigint;
  /** Positions of series whose definitions go with it. */
  readonly defined: Set<number>;
  /** The region as it was at the last attempt. */
  region: RegionInfo;
  /** Epoch of the first attempt that ended without an answer, so that its rows may be kept. */
  uncertainEpoch: number | undefined;
}

/** Brings batches to the owners of their regions, each exactly once while owners answer. */
export class RegionSender {
  readonly #links = new RegionLinks();
  readonly #options: SenderOptions;
  readonly #incarnation: Uint8Array;
  readonly #retries;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#incarnation = options.random.bytes(8);
    // The highest bit marks ids that are made from a key.
    this.#incarnation[7] &= 0x7f;
    options.catalog.onDropped(({ regionIds }) => this.#links.forget(regionIds));
    this.#retries = options.metrics.counter({
      name: 'writer_retries_total',
      help: 'batches that were sent to a region again, by cause',
      labelNames: ['cause'],
    });
  }

  /**
   * Sends the parts of a request at once; resolves when it is known for each whether its region keeps the rows.
   *
   * An owner that is not ready or does not answer is tried again within the call's deadline, under the same batch id.
   * A part fails with `region_not_found` or `table_not_found` if its table is gone: nothing of it is kept. With all
   * other errors that have `retry` its outcome is unknown.
   *
   * @throws `invalid_arguments` if a part is more than a message may have: then none was sent.
   */
  async send(
    parts: readonly RegionPart[],
    call: Call,
    options: SendOptions = {},
  ): Promise<PromiseSettledResult<void>[]> {
    const encoded: Encoded[] = [];
    for (const part of parts) {
      await this.#turn(part);
      const bytes = encodeBorrowedBatch(part.batch);
      await this.#turn(part);
      this.#checkSize(part, bytes);
      encoded.push({ part, bytes });
    }
    return Promise.allSettled(encoded.map((it) => this.#send(it, call, options)));
  }

  #checkSize({ index, batch, series }: RegionPart, bytes: Uint8Array): void {
    const { messageBytesMax } = this.#options;
    if (messageBytesMax === undefined) return;
    const total = bytes.length + definitionBytesMax(series) + HEADER_BYTES_MAX;
    if (total <= messageBytesMax) return;
    const what = `${batch.rowCount} rows of table "${index.table.name}" for one region`;
    throw new AlmanacError(
      'invalid_arguments',
      `${what} take ${total} bytes, more than the ${messageBytesMax} that a message may have: send fewer at once`,
    );
  }

  async #send({ part, bytes }: Encoded, call: Call, { idempotencyKey, asOf }: SendOptions): Promise<void> {
    const { region } = part;
    const batchId =
      idempotencyKey === undefined
        ? this.#batchId(this.#links.link(region).nextCounter())
        : keyedBatchId(idempotencyKey, part.index.table.tableId, region.regionId);
    const delivery: Delivery = {
      part,
      batchId,
      bytes,
      asOf: asOf?.get(region.regionId) ?? 0n,
      defined: new Set(),
      region,
      uncertainEpoch: undefined,
    };
    for (let attempt = 0; ; attempt++) {
      checkCall(call);
      try {
        await this.#deliver(delivery, call);
        return;
      } catch (error) {
        const failure = AlmanacError.from(error);
        if (failure.code !== 'region_not_ready' && failure.code !== 'external') throw failure;
        if (failure.code === 'external') delivery.uncertainEpoch ??= delivery.region.epoch;
        this.#retries.inc({ cause: failure.code });
        await this.#rest(attempt, failure, call);
        this.#refresh(delivery, failure);
      }
    }
  }

  /** One attempt; once more if the owner lacks definitions. */
  async #deliver(delivery: Delivery, call: Call): Promise<void> {
    const { part, defined, region } = delivery;
    const link = this.#links.link(region);
    const token = link.tokenAt(region.epoch);
    if (part.knownBy !== token) {
      for (const [position, series] of part.series.entries()) if (series.knownBy !== token) defined.add(position);
    }
    const owner = this.#options.ingesters.ownerOf(region);
    for (;;) {
      const request = writeRequest(delivery, await this.#definitions(part, defined));
      await this.#turn(part);
      const response = await owner.write(request, call);
      const answered = link.tokenOf(response.incarnation);
      if (response.unknownSeries.length === 0) {
        if (part.knownBy === answered) return;
        // Most are known: a test is cheaper than a write to an old object.
        for (const series of part.series) if (series.knownBy !== answered) series.knownBy = answered;
        return;
      }
      this.#retries.inc({ cause: 'unknown_series' });
      // The definitions that were sent were not taken over either, so they go along again.
      const before = defined.size;
      for (const position of response.unknownSeries) defined.add(position);
      invariant(defined.size > before, `region ${region.regionId} does not take the definitions of its series`);
    }
  }

  async #definitions({ index, series }: RegionPart, positions: ReadonlySet<number>): Promise<Uint8Array> {
    if (positions.size === 0) return NO_DEFINITIONS;
    const slices = new Slices(this.#options.clock, { workPerLook: SERIES_PER_LOOK });
    const definitions: SeriesDefinition[] = [];
    for (const position of positions) {
      definitions.push({ tsid: series[position].tsid, tags: tagBytes(series[position], index) });
      if (slices.isOver(1)) await slices.yield();
    }
    return encodeDefinitions(definitions);
  }

  /** Lets others be served between the steps of a large batch, each of which takes tens of milliseconds. */
  async #turn({ batch }: RegionPart): Promise<void> {
    if (batch.rowCount >= LARGE_ROWS) await this.#options.clock.yield();
  }

  async #rest(attempt: number, failure: AlmanacError, call: Call): Promise<void> {
    const { clock, random } = this.#options;
    const restMs = Math.min(RETRY_MS * 2 ** attempt, RETRY_MS_MAX) * (0.5 + random.fraction());
    if (clock.nowMs() + restMs >= call.deadlineMs) throw failure;
    await clock.sleep(restMs, call.signal);
    if (call.signal.aborted) throw callError(call.signal);
  }

  /** Looks whether the region has another owner by now. */
  #refresh(delivery: Delivery, failure: AlmanacError): void {
    const { name, tableId } = delivery.part.index.table;
    // By number: a table that was renamed is still there, and may have taken the rows already.
    const table = this.#options.catalog.knownById(tableId);
    const region = table?.regions.find((it) => it.regionId === delivery.region.regionId);
    if (region === undefined) {
      throw new AlmanacError('region_not_found', `region ${delivery.region.regionId} of table "${name}" is gone`);
    }
    // An owner that does not know which batches an earlier one applied could apply this one again.
    if (delivery.uncertainEpoch !== undefined && delivery.uncertainEpoch < region.idsSinceEpoch) throw failure;
    delivery.region = region;
  }

  #batchId(counter: number): Uint8Array {
    const batchId = new Uint8Array(16);
    batchId.set(this.#incarnation, 0);
    new DataView(batchId.buffer).setBigUint64(8, BigInt(counter), true);
    return batchId;
  }
}

/** The same for the same key, table and region, and unlike any id with a counter. */
function keyedBatchId(key: string, tableId: number, regionId: number): Uint8Array {
  const batchId = createHash('sha256').update(`${tableId}\0${regionId}\0${key}`).digest().subarray(0, 16);
  batchId[7] |= 0x80;
  return batchId;
}

function writeRequest({ part, batchId, bytes, asOf, region }: Delivery, definitions: Uint8Array): WriteRequest {
  const { table } = part.index;
  return {
    tableId: table.tableId,
    regionId: region.regionId,
    epoch: region.epoch,
    schemaVersion: table.schemaVersion,
    batchId,
    batch: bytes,
    definitions,
    asOf,
  };
}

/** How much the definitions of all series take, at most. */
function definitionBytesMax(series: readonly SeriesEntry[]): number {
  let bytes = 0;
  for (const { tags } of series) {
    bytes += DEFINITION_BYTES;
    for (const { value } of tags) bytes += TAG_BYTES_MAX + value.length;
  }
  return bytes;
}

function tagBytes(series: SeriesEntry, index: TableIndex): Uint8Array {
  const tags: SeriesTag[] = series.tags.map(({ name, value }) => {
    const column = index.byName.get(name);
    invariant(column !== undefined, `table "${index.table.name}" has no column for a tag of its series`);
    return { columnId: column.id, value };
  });
  return encodeTags(tags.sort((a, b) => a.columnId - b.columnId));
}
