import { createHash } from 'node:crypto';

import { freeBuffer } from '#shared/bytes/free-buffer';
import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import { Slices } from '#shared/clock/slices';
import { callError, checkCall, unlessAborted, type Call } from '#shared/contracts/call';
import type { RegionInfo } from '#shared/contracts/gen/common';
import type { RefusedSeries, WriteRequest } from '#shared/contracts/gen/ingester';
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
import { selectRows } from '#shared/rowbatch/select-rows';
import { haveNames } from '#shared/rowbatch/series-key';
import type { Metrics } from '#shared/telemetry/metrics';
import { RegionLinks, type RegionLink } from './known-series.js';
import type { TableIndex } from './table-index.js';
import type { RegionRows } from './write-plan.js';
import type { WriteCatalog } from './writer-types.js';

/** Delay before the second attempt; doubles with each further one. */
const RETRY_MS = 10;
const RETRY_MS_MAX = 1_000;
/** Largest size of a request without its batch and its definitions. */
const HEADER_BYTES_MAX = 256;
/** Largest size of a definition without its tags, and of a tag without its value. */
const DEFINITION_BYTES = 12;
const TAG_BYTES_MAX = 10;
/** New series between two readings of the clock; each takes 2 to 20 us. */
export const SERIES_PER_LOOK = 64;
/** Series that a batch defines only after batches before it: they probably define the same ones. */
const MANY_SERIES = 256;
/** From this size on, the steps for a batch yield to the event loop in between. */
export const LARGE_ROWS = 20_000;

/** Dependencies of a `RegionSender`. */
export interface SenderOptions {
  readonly catalog: WriteCatalog;
  readonly ingesters: Ingesters;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  /** Largest request; default: no limit. */
  readonly messageBytesMax?: number | undefined;
}

/** Options of one `send`. */
export interface SendOptions {
  /** The client's name for the request; without one, each batch gets a unique ID. */
  readonly idempotencyKey?: string | undefined;
  /** Whether a part fails if a row of it would be left out. */
  readonly refusesPartly?: boolean | undefined;
  /** For deletions, by region: the last row that was read. The owner refuses deletions of rows that are newer. */
  readonly asOf?: ReadonlyMap<number, bigint>;
}

/** An encoded batch. */
interface Encoded {
  readonly part: RegionRows;
  readonly bytes: Uint8Array;
}

/** Rows that a region refused because the table has no room for further series; none of them are stored. */
export interface RefusedRows {
  readonly rowCount: number;
  readonly reason: string;
}

/** The delivery of one batch to one region. */
interface Delivery {
  part: RegionRows;
  readonly batchId: Uint8Array;
  bytes: Uint8Array;
  /** Zero for writes. */
  readonly asOf: bigint;
  /** Positions of the series whose definitions are sent. */
  defined: Set<number>;
  refused: RefusedRows | undefined;
  readonly refusesPartly: boolean;
  /** The region at the last attempt. */
  region: RegionInfo;
  /** Epoch of the first attempt that got no reply, so that its rows may be stored. */
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
      help: 'batches sent again to a region, by cause',
      labelNames: ['cause'],
    });
  }

  /**
   * Sends the parts of a request at once; resolves when the outcome of each is known.
   *
   * An owner that is not ready or does not reply is tried again within the deadline of the call, with the same batch ID.
   * Rows of new series that a table has no room for are left out, and returned.
   * A part fails with `region_not_found` or `table_not_found` if its table is gone: none of its rows are stored. After
   * all other errors with `retry`, its outcome is unknown.
   *
   * @throws `invalid_arguments` if a part is larger than a message may be; then no part was sent.
   */
  async send(
    parts: readonly RegionRows[],
    call: Call,
    options: SendOptions = {},
  ): Promise<PromiseSettledResult<RefusedRows | undefined>[]> {
    const encoded: Encoded[] = [];
    for (const part of parts) {
      await this.#yieldIfLarge(part);
      const bytes = encodeBorrowedBatch(part.batch);
      await this.#yieldIfLarge(part);
      this.#checkSize(part, bytes);
      encoded.push({ part, bytes });
    }
    return Promise.allSettled(encoded.map((it) => this.#send(it, call, options)));
  }

  #checkSize({ index, batch, series }: RegionRows, bytes: Uint8Array): void {
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

  async #send(
    { part, bytes }: Encoded,
    call: Call,
    { idempotencyKey, refusesPartly = false, asOf }: SendOptions,
  ): Promise<RefusedRows | undefined> {
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
      refused: undefined,
      refusesPartly,
      region,
      uncertainEpoch: undefined,
    };
    for (let attempt = 0; ; attempt++) {
      checkCall(call);
      try {
        await this.#deliver(delivery, call);
        // The owner has logged and copied the rows. After a failure it may still be about to.
        freeBuffer(Buffer.from(delivery.bytes.buffer as ArrayBuffer));
        return delivery.refused;
      } catch (error) {
        const failure = AlmanacError.from(error);
        if (failure.code !== 'region_not_ready' && failure.code !== 'external') throw failure;
        if (failure.code === 'external') delivery.uncertainEpoch ??= delivery.region.epoch;
        this.#retries.inc({ cause: failure.code });
        await this.#delay(attempt, failure, call);
        this.#refresh(delivery, failure);
      }
    }
  }

  /** Makes one attempt, after other batches that define many series if this one would. */
  async #deliver(delivery: Delivery, call: Call): Promise<void> {
    const { region } = delivery;
    const link = this.#links.link(region);
    addUndefined(delivery, link.tokenAt(region.epoch));
    if (delivery.defined.size >= MANY_SERIES && link.defining !== undefined) {
      // When senders start, their first requests have the same series: without this, each would define all of them. Those
      // with other series do not wait for each other again.
      await unlessAborted(call, link.defining);
      delivery.defined.clear();
      addUndefined(delivery, link.tokenAt(region.epoch));
    }
    const isDefining = delivery.defined.size >= MANY_SERIES;
    await (isDefining ? link.define(() => this.#write(delivery, link, call)) : this.#write(delivery, link, call));
  }

  /** Calls the owner, and once more if it lacks definitions, or refuses series. */
  async #write(delivery: Delivery, link: RegionLink, call: Call): Promise<void> {
    const { region } = delivery;
    const owner = this.#options.ingesters.ownerOf(region);
    while (delivery.part.batch.rowCount > 0) {
      const { part, defined } = delivery;
      const request = writeRequest(delivery, await this.#definitions(part, defined), call);
      await this.#yieldIfLarge(part);
      const response = await owner.write(request, call);
      const current = link.tokenOf(response.incarnation);
      if (response.refused !== undefined) {
        const refused = leaveOut(delivery, response.refused);
        if (delivery.refusesPartly) throw new AlmanacError('invalid_arguments', refused.reason);
        continue;
      }
      if (response.unknownSeries.length === 0) {
        if (part.knownBy === current) return;
        // Most are known: a comparison is cheaper than a write to an old object.
        for (const series of part.series) if (series.knownBy !== current) series.knownBy = current;
        return;
      }
      this.#retries.inc({ cause: 'unknown_series' });
      // The definitions that were sent were not stored either, so they are sent again.
      const before = defined.size;
      for (const position of response.unknownSeries) defined.add(position);
      invariant(defined.size > before, `region ${region.regionId} does not take the definitions of its series`);
    }
  }

  async #definitions({ index, series }: RegionRows, positions: ReadonlySet<number>): Promise<Uint8Array> {
    if (positions.size === 0) return NO_DEFINITIONS;
    const slices = new Slices(this.#options.clock, { workPerLook: SERIES_PER_LOOK });
    const definitions: SeriesDefinition[] = [];
    const encoder = new TagEncoder(index);
    for (const position of positions) {
      definitions.push({ tsid: series[position].tsid, tags: encoder.encode(series[position]) });
      if (slices.isOver(1)) await slices.yield();
    }
    return encodeDefinitions(definitions);
  }

  /** Yields between the steps for a large batch, each of which takes tens of milliseconds. */
  async #yieldIfLarge({ batch }: RegionRows): Promise<void> {
    if (batch.rowCount >= LARGE_ROWS) await this.#options.clock.yield();
  }

  async #delay(attempt: number, failure: AlmanacError, call: Call): Promise<void> {
    const { clock, random } = this.#options;
    const delayMs = Math.min(RETRY_MS * 2 ** attempt, RETRY_MS_MAX) * (0.5 + random.fraction());
    if (clock.nowMs() + delayMs >= call.deadlineMs) throw failure;
    await clock.sleep(delayMs, call.signal);
    if (call.signal.aborted) throw callError(call.signal);
  }

  /** Finds the present owner of the region. */
  #refresh(delivery: Delivery, failure: AlmanacError): void {
    const { name, tableId } = delivery.part.index.table;
    // By ID: a table that was renamed still exists, and may have stored the rows already.
    const table = this.#options.catalog.knownById(tableId);
    const region = table?.regions.find((it) => it.regionId === delivery.region.regionId);
    if (region === undefined) {
      throw new AlmanacError('region_not_found', `region ${delivery.region.regionId} of table "${name}" is gone`);
    }
    // An owner that does not know which batches an earlier owner applied could apply this one again.
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

/** Returns the batch ID for a key, table and region; it differs from all IDs with a counter. */
function keyedBatchId(key: string, tableId: number, regionId: number): Uint8Array {
  const batchId = createHash('sha256').update(`${tableId}\0${regionId}\0${key}`).digest().subarray(0, 16);
  batchId[7] |= 0x80;
  return batchId;
}

/** Adds the series that the owner with this token is not known to have. */
function addUndefined({ part, defined }: Delivery, token: object): void {
  if (part.knownBy === token) return;
  for (const [position, series] of part.series.entries()) if (series.knownBy !== token) defined.add(position);
}

/** Removes the rows of refused series from a delivery. Nothing was applied, so the rest keeps the batch ID. */
function leaveOut(delivery: Delivery, { positions, seriesMax }: RefusedSeries): RefusedRows {
  const { part, defined } = delivery;
  const { batch, index } = part;
  const isRefused = new Uint8Array(part.series.length);
  for (const position of positions) isRefused[position] = 1;
  const rest = Uint32Array.from(
    Array.from(batch.seriesIndex.keys()).filter((row) => isRefused[batch.seriesIndex[row]] === 0),
  );
  invariant(rest.length < batch.rowCount, 'a region refuses series that have no rows');
  const { seriesFrom, batch: selected } = selectRows(batch, rest);
  const series = Array.from(seriesFrom, (position) => part.series[position]);
  const rowCount = (delivery.refused?.rowCount ?? 0) + batch.rowCount - rest.length;
  const reason = `table "${index.table.name}" has the ${seriesMax} series that limits.max_series_per_table allows`;
  delivery.part = { ...part, batch: selected, series };
  delivery.bytes = encodeBorrowedBatch(selected);
  delivery.defined = new Set([...seriesFrom.keys()].filter((i) => defined.has(seriesFrom[i])));
  delivery.refused = { rowCount, reason };
  return delivery.refused;
}

function writeRequest(
  { part, batchId, bytes, asOf, region }: Delivery,
  definitions: Uint8Array,
  { flow }: Call,
): WriteRequest {
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
    flow,
  };
}

/** Returns the largest size of the definitions of all series. */
function definitionBytesMax(all: readonly SeriesEntry[]): number {
  let bytes = 0;
  for (const series of all) {
    if (series.definitionBytesMax === 0) {
      let own = DEFINITION_BYTES;
      for (const { value } of series.tags) own += TAG_BYTES_MAX + value.length;
      series.definitionBytesMax = own;
    }
    bytes += series.definitionBytesMax;
  }
  return bytes;
}

/** Encodes the tags of successive series, which mostly have the same names. */
class TagEncoder {
  readonly #index: TableIndex;
  #names: readonly string[] | undefined = undefined;
  /** By ascending column ID. */
  #columns: readonly { readonly columnId: number; readonly position: number }[] = [];

  constructor(index: TableIndex) {
    this.#index = index;
  }

  encode({ tags }: SeriesEntry): Uint8Array {
    if (this.#names === undefined || !haveNames(tags, this.#names)) this.#setNames(tags.map(({ name }) => name));
    const sorted: SeriesTag[] = [];
    for (const { columnId, position } of this.#columns) sorted.push({ columnId, value: tags[position].value });
    return encodeTags(sorted);
  }

  #setNames(names: readonly string[]): void {
    const { byName, table } = this.#index;
    const columns = names.map((name, position) => {
      const column = byName.get(name);
      invariant(column !== undefined, `table "${table.name}" has no column for a tag of its series`);
      return { columnId: column.id, position };
    });
    this.#names = names;
    this.#columns = columns.sort((a, b) => a.columnId - b.columnId);
  }
}
