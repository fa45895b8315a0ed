import type { Clock } from '#shared/clock/clock';
import type { RegionManifest, Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import type { SeriesDefinition } from '#shared/rowbatch/definitions';
import { metricTagOf } from '#shared/schema/metric-table';
import { hasOps } from '#shared/schema/segment-columns';
import type { FlushJob } from '../flush/flush.js';
import { Generation } from '../memtable/generation.js';
import type { HeldBatch, TimeBand } from '../memtable/held-batch.js';
import { DefinitionLookup, SeriesRegistry } from '../memtable/series-registry.js';
import { AppliedIds, type KeyRetention } from './applied-ids.js';
import { RowKeys } from './row-keys.js';

/** Sequences of a batch's rows and numbers of its series, from `Region.assignSequences`. */
export interface SequenceGrant {
  readonly sequenceFrom: bigint;
  readonly sequenceTo: bigint;
  /** Series number of each entry of `batch.tsids`. */
  readonly sids: Uint32Array<ArrayBuffer>;
  /** Definitions that the record must contain, numbered from `firstSid`. */
  readonly newDefinitions: readonly SeriesDefinition[];
  readonly firstSid: number;
}

/** A batch as it is in the log. */
export interface LoggedBatch {
  readonly batch: RowBatch;
  readonly sequenceFrom: bigint;
  readonly firstSid: number;
  readonly definitions: readonly SeriesDefinition[];
}

/** Less is not returned to the memory budget: the allocator takes about as much for the arrays of a small batch. */
const SPARE_BYTES_MIN = 4096;

/**
 * Rows of one region that are in no segment yet, and the sequences and series numbers that it assigns.
 *
 * `assignSequences` and `put` are synchronous, with the log in between. Batches are put in the order of their
 * sequences.
 */
export class Region {
  readonly regionId: number;
  readonly epoch: number;
  readonly registry: SeriesRegistry;
  readonly applied: AppliedIds;
  /** Batches on their way through the log, by batch id. A copy that arrives meanwhile waits for the same outcome. */
  readonly pendingBatches = new Map<string, Promise<void>>();
  /** Oldest first. */
  readonly frozen: Generation[] = [];
  #table: Table;
  #manifest: RegionManifest;
  #open: Generation;
  #nextGeneration = 2;
  /** Last sequence that was assigned. */
  #lastSequence: bigint;
  /** First series whose definition is in no durable record because the log failed to write it. */
  #unloggedFrom = Infinity;
  #load: Promise<void> | undefined;
  #end: 'table dropped' | 'granted to another node' | undefined;
  /** Whether its seal has begun: batches are refused. */
  isSealing = false;
  /** Whether a seal was sent and its outcome is unknown. Another node may own the region, so reads are refused. */
  isInDoubt = false;
  /** Metadata's id for the opening of this region by this process. */
  opening: bigint;
  /** Whether this process has searched the region's folder for orphaned files. */
  isSearchedForOrphans = false;
  /** Batches on their way through the log, in order. */
  readonly #pending: PendingBatch[] = [];
  readonly #clock: Pick<Clock, 'nowMs'>;
  /** Bytes that the memory budget holds for requests, by generation. */
  readonly #admitted = new Map<Generation, number>();

  constructor(table: Table, manifest: RegionManifest, opening: bigint, keys: KeyRetention) {
    this.opening = opening;
    this.#clock = keys.clock;
    this.applied = new AppliedIds(keys);
    this.registry = new SeriesRegistry(metricTagOf(table)?.id);
    this.#table = table;
    this.#manifest = manifest;
    this.regionId = manifest.regionId;
    this.epoch = manifest.epoch;
    const start = BigInt(manifest.epoch) << 40n;
    this.#lastSequence = manifest.watermark > start ? manifest.watermark : start;
    this.#open = new Generation(1, this.#lastSequence, keys.clock.nowMs());
  }

  get table(): Table {
    return this.#table;
  }

  /** Whether this node has lost the region: batches are refused and its rows are discarded. */
  get isEnded(): boolean {
    return this.#end !== undefined;
  }

  end(reason: 'table dropped' | 'granted to another node'): void {
    this.#end ??= reason;
  }

  /** Returns the error for callers of a region that this node has lost. */
  endedError(): AlmanacError {
    return this.#end === 'table dropped' ? tableDroppedError(this.#table.tableId) : regionNotServed(this.regionId);
  }

  get manifest(): RegionManifest {
    return this.#manifest;
  }

  /** Number of its series, whether they are in memory or not. */
  get seriesCount(): number {
    const last = this.#manifest.seriesFiles.at(-1);
    return Math.max(this.registry.count, last === undefined ? 0 : last.sidLast + 1);
  }

  get open(): Generation {
    return this.#open;
  }

  /** All generations with rows, oldest first. */
  get generations(): readonly Generation[] {
    return this.#open.rowCount > 0 ? [...this.frozen, this.#open] : this.frozen;
  }

  /** Last sequence that scans may see: everything up to here is put. */
  get visibleTo(): bigint {
    return this.#open.sequenceTo;
  }

  /** Applies a newer schema version of the table. */
  updateTable(table: Table): void {
    if (table.schemaVersion > this.#table.schemaVersion) this.#table = table;
  }

  /** Loads the registry once, at the first call. */
  loaded(load: (region: Region) => Promise<void>): Promise<void> {
    this.#load ??= load(this).catch((error: unknown) => {
      this.#load = undefined;
      throw error;
    });
    return this.#load;
  }

  /**
   * Assigns sequences to a batch's rows and numbers to its new series, or returns the series that have no definition.
   *
   * @throws `invalid_arguments` if a definition contradicts the existing one.
   */
  assignSequences(
    batch: RowBatch,
    definitions: readonly SeriesDefinition[],
    seriesMax = Infinity,
  ): SequenceGrant | { readonly unknown: number[] } | { readonly refused: number[] } {
    const halves = new Uint32Array(batch.tsids.buffer, batch.tsids.byteOffset, batch.tsids.length * 2);
    const defined = new DefinitionLookup(definitions);
    const sids = new Uint32Array(batch.tsids.length);
    const unknown: number[] = [];
    const fresh: number[] = [];
    let next = 0;
    for (let i = 0; i < sids.length; i++) {
      const sid = this.registry.find(halves[2 * i], halves[2 * i + 1], next);
      if (sid >= 0) {
        sids[i] = sid;
        next = sid + 1;
      } else if (defined.find(batch.tsids[i]) !== undefined) {
        fresh.push(i);
      } else {
        unknown.push(i);
      }
    }
    if (unknown.length > 0) return { unknown };
    const room = Math.max(0, seriesMax - this.registry.count);
    if (fresh.length > room) return { refused: fresh.slice(room) };
    const firstSid = Math.min(this.#unloggedFrom, this.registry.count);
    const newDefinitions = this.#unloggedDefinitions(firstSid);
    this.#unloggedFrom = Infinity;
    for (const i of fresh) {
      const definition = defined.find(batch.tsids[i]);
      invariant(definition !== undefined, 'definition of a new series is missing');
      sids[i] = this.#define(definition, newDefinitions);
    }
    const sequenceFrom = this.#lastSequence;
    this.#lastSequence += BigInt(batch.rowCount);
    if (batch.rowCount > 0) this.#pending.push({ batch, sids, sequenceTo: this.#lastSequence });
    return { sequenceFrom, sequenceTo: this.#lastSequence, sids, newDefinitions, firstSid };
  }

  /**
   * Undoes `assignSequences` for a batch that the log could not write. Every later batch has to be withdrawn too.
   *
   * Series keep their numbers, which later batches may already use: the next record has their definitions.
   */
  withdrawSequences({ sequenceFrom, firstSid }: SequenceGrant): void {
    if (sequenceFrom < this.#lastSequence) this.#lastSequence = sequenceFrom;
    while ((this.#pending.at(-1)?.sequenceTo ?? sequenceFrom) > sequenceFrom) this.#pending.pop();
    this.#unloggedFrom = Math.min(this.#unloggedFrom, firstSid);
  }

  /**
   * Assigns a batch from the log the sequences that it had.
   *
   * @param isWhole false if earlier records may be missing: then its series may get other numbers, and some may be
   *   unknown.
   * @throws `storage_unavailable` if the log should be whole and earlier records are missing.
   */
  restore(
    { batch, sequenceFrom, firstSid, definitions }: LoggedBatch,
    isWhole: boolean,
  ): SequenceGrant | { readonly unknown: readonly number[] } {
    invariant(sequenceFrom >= this.#lastSequence, `log of region ${this.regionId} goes back to ${sequenceFrom}`);
    if (sequenceFrom > this.#lastSequence && isWhole) throw this.#incomplete(sequenceFrom);
    for (const [i, { tsid, tags }] of definitions.entries()) {
      const low = Number(tsid & 0xffffffffn);
      const high = Number(tsid >> 32n);
      const known = this.registry.find(low, high);
      // A flush after this record may have published the definition already.
      const sid = known >= 0 ? known : this.registry.define(low, high, tags);
      if (known < 0) this.#open.noteDefinition(sid, tags.length);
      invariant(
        sid === firstSid + i || !isWhole,
        `series ${firstSid + i} of region ${this.regionId} came back as ${sid}`,
      );
    }
    this.#lastSequence = sequenceFrom;
    const grant = this.assignSequences(batch, []);
    invariant(!('refused' in grant), 'the log defines all of its series');
    invariant('sids' in grant || !isWhole, `log of region ${this.regionId} names a series that it does not define`);
    return grant;
  }

  #incomplete(sequenceFrom: bigint): AlmanacError {
    const lost = `lacks the rows ${this.#lastSequence} to ${sequenceFrom} of region ${this.regionId}, which are in no segment`;
    const remedy = 'restore its missing files, or start with wal.recover = "skip-corrupt" to lose these rows';
    return new AlmanacError('storage_unavailable', `the write-ahead log ${lost}: ${remedy}`);
  }

  /**
   * Makes a durable batch visible.
   *
   * After a field changed its type, rows of both types arrive for a while. Each generation has one type.
   *
   * @param bytes that the memory budget admitted, those of them that are for the batch, and those of its record in the
   *   log
   * @returns admitted bytes that are not needed any more, since the copy of the rows is smaller.
   */
  put(
    batch: RowBatch,
    grant: SequenceGrant,
    bytes: { readonly admitted: number; readonly decoded: number; readonly logged: number },
  ): number {
    invariant(
      grant.sequenceFrom >= this.#open.sequenceTo,
      `region ${this.regionId}: batch ${grant.sequenceFrom} put after ${this.#open.sequenceTo}`,
    );
    if (!this.#open.accepts(batch)) this.freeze(this.#clock.nowMs());
    const held = this.#open.put(batch, grant.sids, grant.sequenceFrom, this.registry);
    this.#open.logBytes += bytes.logged;
    this.#open.firstPutMs ??= this.#clock.nowMs();
    // Definitions stay in memory until they are in a series file, as rows do.
    for (const [i, { tags }] of grant.newDefinitions.entries()) {
      this.#open.noteDefinition(grant.firstSid + i, tags.length);
    }
    this.#pending.shift();
    const freed = bytes.decoded - held.bytes;
    const spare = freed < SPARE_BYTES_MIN ? 0 : freed;
    this.#admitted.set(this.#open, (this.#admitted.get(this.#open) ?? 0) + bytes.admitted - spare);
    return spare;
  }

  /**
   * Returns whether a row with one of the batch's keys got a sequence after `sequence`, or whether that is unknown.
   * Deletions do not count: deleting twice changes nothing.
   */
  hasNewer(batch: RowBatch, sequence: bigint): boolean {
    const { watermark, truncatedSequence } = this.#manifest;
    if (watermark > sequence || truncatedSequence > sequence) return true;
    const times = endsOf(batch.times);
    const held = this.generations.flatMap(({ batches }) => {
      return batches.filter(({ columns, sequenceTo, times: own }) => {
        return sequenceTo > sequence && !hasOps(columns) && own.first <= times.last && own.last >= times.first;
      });
    });
    const pending = this.#pending.filter((it) => it.sequenceTo > sequence && !hasOps(it.batch.columns));
    if (held.length === 0 && pending.length === 0) return false;
    const keys = new RowKeys(batch, this.registry);
    return (
      held.some((it) => keys.intersects(rowSidsOf(it), it.rowTimes.all())) ||
      pending.some(({ batch: { seriesIndex, times: own }, sids }) => {
        return keys.intersects(
          seriesIndex.map((series) => sids[series]),
          own,
        );
      })
    );
  }

  /** Ends the open generation if it has rows; later rows go to the next one. */
  freeze(nowMs: number): void {
    if (this.#open.rowCount === 0) return;
    this.frozen.push(this.#open);
    this.registry.sealTimes();
    this.#open = new Generation(this.#nextGeneration++, this.#open.sequenceTo, nowMs);
  }

  /** Returns the oldest frozen generation with what its flush needs. */
  nextFlush(): FlushJob {
    const [generation] = this.frozen;
    const { table, regionId, epoch, registry } = this;
    const { watermark } = this.#manifest;
    // The manifest may already contain a commit of this generation whose reply was lost. Such a commit must be refused,
    // not repeated.
    const from = watermark < generation.sequenceFrom ? watermark : generation.sequenceFrom;
    return { table, regionId, epoch, watermark: from, registry, generation };
  }

  /**
   * Records that the oldest frozen generation is in segments.
   * @returns the bytes that its requests held.
   */
  committed(manifest: RegionManifest, seriesCount: number): number {
    // A truncation may have been applied since the commit.
    this.replaceManifest(manifest);
    this.registry.published(seriesCount);
    const generation = this.frozen.shift();
    if (generation === undefined) return 0;
    const bytes = this.#admitted.get(generation) ?? 0;
    this.#admitted.delete(generation);
    return bytes;
  }

  /** Releases and returns the bytes that requests hold for all generations. */
  releaseAll(): number {
    let bytes = 0;
    for (const held of this.#admitted.values()) bytes += held;
    this.#admitted.clear();
    return bytes;
  }

  /** Applies a manifest unless a newer one is known. */
  replaceManifest(manifest: RegionManifest): void {
    if (manifest.version > this.#manifest.version) this.#manifest = manifest;
  }

  #unloggedDefinitions(from: number): SeriesDefinition[] {
    const definitions: SeriesDefinition[] = [];
    let bytes = 0;
    for (let sid = from; sid < this.registry.count; sid++) {
      const tags = this.registry.tagsOf(sid);
      bytes += tags.length;
      definitions.push({ tsid: this.registry.tsidOf(sid), tags });
    }
    invariant(bytes < UNLOGGED_BYTES_MAX, `region ${this.regionId} has too many series that the log lost: restart`);
    return definitions;
  }

  #define(definition: SeriesDefinition, added: SeriesDefinition[]): number {
    const low = Number(definition.tsid & 0xffffffffn);
    const high = Number(definition.tsid >> 32n);
    // The batch may list an id twice.
    const known = this.registry.find(low, high);
    if (known >= 0) return known;
    added.push(definition);
    return this.registry.define(low, high, definition.tags);
  }
}

/** Limit of definitions of failed records that a new record can contain besides its own; a record has at most 1 GiB. */
const UNLOGGED_BYTES_MAX = 1 << 29;

/** A batch that has sequences. */
interface PendingBatch {
  readonly batch: RowBatch;
  readonly sids: Uint32Array<ArrayBuffer>;
  readonly sequenceTo: bigint;
}

function rowSidsOf(held: HeldBatch): Uint32Array {
  const sids = new Uint32Array(held.rowCount);
  held.readSids(0, held.rowCount, sids);
  return sids;
}

function endsOf(times: BigInt64Array): TimeBand {
  let [first] = times;
  let last = first;
  for (const time of times) {
    if (time < first) first = time;
    if (time > last) last = time;
  }
  return { first, last };
}

/** Error for a region that this node does not serve, or no longer serves. */
export function regionNotServed(regionId: number): AlmanacError {
  return new AlmanacError('region_not_ready', `region ${regionId} is not served here`, { retryAfterSeconds: 1 });
}

/** Error for a region whose table was dropped. */
export function tableDroppedError(tableId: number): AlmanacError {
  return new AlmanacError('table_not_found', `table ${tableId} was dropped`);
}
