import type { Clock } from '#shared/clock/clock';
import type { RegionManifest, Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import type { SeriesDefinition } from '#shared/rowbatch/definitions';
import { metricTagOf } from '#shared/schema/metric-table';
import { hasOps } from '#shared/schema/segment-columns';
import type { FlushJob } from '../flush/flush.js';
import { Generation, type TimeBand } from '../memtable/generation.js';
import { SeriesRegistry } from '../memtable/series-registry.js';
import { AppliedIds, type KeyRetention } from './applied-ids.js';
import { DefinitionLookup } from './definition-lookup.js';
import { RowKeys } from './row-keys.js';

/** What a batch got in `Region.take`: numbers for its rows and series. */
export interface SequenceGrant {
  readonly sequenceFrom: bigint;
  readonly sequenceTo: bigint;
  /** Series number of each entry of the batch's list. */
  readonly sids: Uint32Array<ArrayBuffer>;
  /** Definitions that became new series, numbered from `firstSid`. */
  readonly newDefinitions: readonly SeriesDefinition[];
  readonly firstSid: number;
}

/** A batch as the log has it. */
export interface LoggedBatch {
  readonly batch: RowBatch;
  readonly sequenceFrom: bigint;
  readonly firstSid: number;
  readonly definitions: readonly SeriesDefinition[];
}

/**
 * The rows of one region that are not in a segment yet, and the numbers that rows and series get.
 *
 * `take` and `put` are synchronous; between them stands the log. Batches are put in the order in which they were taken.
 */
export class Region {
  readonly regionId: number;
  readonly epoch: number;
  readonly registry: SeriesRegistry;
  readonly applied: AppliedIds;
  /** Batches between log and memtable, by id: a copy that arrives meanwhile waits for the same outcome. */
  readonly pendingBatches = new Map<string, Promise<void>>();
  /** Oldest first. */
  readonly frozen: Generation[] = [];
  #table: Table;
  #manifest: RegionManifest;
  #open: Generation;
  #nextGeneration = 2;
  /** Greatest sequence that was given away. */
  #lastTaken: bigint;
  /** First series whose definition is in no durable record, after the log failed to write some. */
  #unloggedFrom = Infinity;
  #load: Promise<void> | undefined;
  #end: 'table dropped' | 'granted anew' | undefined;
  /** Whether its seal has begun: no batch is taken any more. */
  isSealing = false;
  /** Whether its seal was sent and its outcome is not known: another node may own the region, so nothing is read here. */
  isInDoubt = false;
  /** As metadata named the opening of this region by this process. */
  opening: bigint;
  /** Whether files without an owner were looked for in this life. */
  isSearchedForOrphans = false;
  /** Batches between log and memtable, in order. */
  readonly #taken: PendingBatch[] = [];
  readonly #clock: Pick<Clock, 'nowMs'>;
  /** Bytes of requests that the memory budget holds for the open generation. */
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
    this.#lastTaken = manifest.watermark > start ? manifest.watermark : start;
    this.#open = new Generation(1, this.#lastTaken, keys.clock.nowMs());
  }

  get table(): Table {
    return this.#table;
  }

  /** Whether it is not this node's any more: nothing is put here, and nothing of it is kept. */
  get isEnded(): boolean {
    return this.#end !== undefined;
  }

  end(reason: 'table dropped' | 'granted anew'): void {
    this.#end ??= reason;
  }

  /** What callers of a region that has ended hear. */
  endedError(): AlmanacError {
    return this.#end === 'table dropped' ? tableDroppedError(this.#table.tableId) : regionNotServed(this.regionId);
  }

  get manifest(): RegionManifest {
    return this.#manifest;
  }

  get open(): Generation {
    return this.#open;
  }

  /** All generations with rows, oldest first. */
  get generations(): readonly Generation[] {
    return this.#open.rowCount > 0 ? [...this.frozen, this.#open] : this.frozen;
  }

  /** Everything up to here is put: what scans may see. */
  get visibleTo(): bigint {
    return this.#open.sequenceTo;
  }

  /** Takes over a newer form of the table. */
  updateTable(table: Table): void {
    if (table.schemaVersion > this.#table.schemaVersion) this.#table = table;
  }

  /** Loads the registry, once, whoever asks first. */
  loaded(load: (region: Region) => Promise<void>): Promise<void> {
    this.#load ??= load(this).catch((error: unknown) => {
      this.#load = undefined;
      throw error;
    });
    return this.#load;
  }

  /**
   * Gives a batch its sequence numbers and series numbers, or tells which series are not known.
   *
   * @throws `invalid_arguments` if a definition contradicts the one that is there.
   */
  assignSequences(
    batch: RowBatch,
    definitions: readonly SeriesDefinition[],
  ): SequenceGrant | { readonly unknown: number[] } {
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
    const firstSid = Math.min(this.#unloggedFrom, this.registry.count);
    const newDefinitions = this.#unloggedDefinitions(firstSid);
    this.#unloggedFrom = Infinity;
    for (const i of fresh) {
      const definition = defined.find(batch.tsids[i]);
      invariant(definition !== undefined, 'definition of a new series is missing');
      sids[i] = this.#define(definition, newDefinitions);
    }
    const sequenceFrom = this.#lastTaken;
    this.#lastTaken += BigInt(batch.rowCount);
    if (batch.rowCount > 0) this.#taken.push({ batch, sids, sequenceTo: this.#lastTaken });
    return { sequenceFrom, sequenceTo: this.#lastTaken, sids, newDefinitions, firstSid };
  }

  /**
   * Undoes `take` for a batch that the log could not write. Every batch that was taken later has to be withdrawn too.
   *
   * Series keep their numbers, which later batches already use: the next record has the definitions.
   */
  withdrawSequences({ sequenceFrom, firstSid }: SequenceGrant): void {
    if (sequenceFrom < this.#lastTaken) this.#lastTaken = sequenceFrom;
    while ((this.#taken.at(-1)?.sequenceTo ?? sequenceFrom) > sequenceFrom) this.#taken.pop();
    this.#unloggedFrom = Math.min(this.#unloggedFrom, firstSid);
  }

  /**
   * Takes a batch that the log gives back: its numbers are those of its first life.
   *
   * @param isWhole false if records before it may be missing: then its series may get other numbers, and it may name
   *   some that are not known.
   * @throws `storage_unavailable` if the log is to be whole and records before it are missing.
   */
  restore(
    { batch, sequenceFrom, firstSid, definitions }: LoggedBatch,
    isWhole: boolean,
  ): SequenceGrant | { readonly unknown: readonly number[] } {
    invariant(sequenceFrom >= this.#lastTaken, `log of region ${this.regionId} goes back to ${sequenceFrom}`);
    if (sequenceFrom > this.#lastTaken && isWhole) throw this.#incomplete(sequenceFrom);
    for (const [i, { tsid, tags }] of definitions.entries()) {
      const low = Number(tsid & 0xffffffffn);
      const high = Number(tsid >> 32n);
      const known = this.registry.find(low, high);
      // A flush after this record may have published the definition already.
      const sid = known >= 0 ? known : this.registry.define(low, high, tags);
      if (known < 0) this.#open.noteDefinition(tags.length);
      invariant(
        sid === firstSid + i || !isWhole,
        `series ${firstSid + i} of region ${this.regionId} came back as ${sid}`,
      );
    }
    this.#lastTaken = sequenceFrom;
    const turn = this.assignSequences(batch, []);
    invariant('sids' in turn || !isWhole, `log of region ${this.regionId} names a series that it does not define`);
    return turn;
  }

  #incomplete(sequenceFrom: bigint): AlmanacError {
    const lost = `lacks the rows ${this.#lastTaken} to ${sequenceFrom} of region ${this.regionId}, which are in no segment`;
    const remedy = 'restore its missing files, or start with wal.recover = "skip-corrupt" to lose these rows';
    return new AlmanacError('storage_unavailable', `the write-ahead log ${lost}: ${remedy}`);
  }

  /**
   * Makes a durable batch visible.
   *
   * Where a field has got another type, rows of both come for a while: those of each type are flushed by themselves.
   */
  put(batch: RowBatch, turn: SequenceGrant, admittedBytes: number): void {
    invariant(
      turn.sequenceFrom >= this.#open.sequenceTo,
      `region ${this.regionId}: batch ${turn.sequenceFrom} put behind ${this.#open.sequenceTo}`,
    );
    if (!this.#open.accepts(batch)) this.freeze(this.#clock.nowMs());
    this.#open.put(batch, turn.sids, turn.sequenceFrom, this.registry);
    // They stay in memory until they are in a series file, as rows do.
    for (const { tags } of turn.newDefinitions) this.#open.noteDefinition(tags.length);
    this.#taken.shift();
    this.#admitted.set(this.#open, (this.#admitted.get(this.#open) ?? 0) + admittedBytes);
  }

  /**
   * Whether a row of one of the batch's keys was taken after `sequence`, or whether that cannot be told any more.
   * Deletions do not count: to delete what is deleted changes nothing.
   */
  hasNewer(batch: RowBatch, sequence: bigint): boolean {
    const { watermark, truncatedSequence } = this.#manifest;
    if (watermark > sequence || truncatedSequence > sequence) return true;
    const taken: readonly PendingBatch[] = [...this.generations.flatMap(({ batches }) => batches), ...this.#taken];
    const times = endsOf(batch.times);
    const suspects = taken.filter(({ sequenceTo, batch: { columns }, times: own = times }) => {
      return sequenceTo > sequence && !hasOps(columns) && own.first <= times.last && own.last >= times.first;
    });
    if (suspects.length === 0) return false;
    const keys = new RowKeys(batch, this.registry);
    return suspects.some(({ batch: other, sids }) => keys.intersects(other, sids));
  }

  /** Ends the open generation, if it has rows; what is put from now on goes to the next. */
  freeze(nowMs: number): void {
    if (this.#open.rowCount === 0) return;
    this.frozen.push(this.#open);
    this.registry.sealTimes();
    this.#open = new Generation(this.#nextGeneration++, this.#open.sequenceTo, nowMs);
  }

  /** The oldest frozen generation, with what its flush needs to know. */
  nextFlush(): FlushJob {
    const [generation] = this.frozen;
    const { table, regionId, epoch, registry } = this;
    const { watermark } = this.#manifest;
    // The manifest may tell of a commit of this generation whose answer was lost: it must be refused now, not repeated.
    const from = watermark < generation.sequenceFrom ? watermark : generation.sequenceFrom;
    return { table, regionId, epoch, watermark: from, registry, generation };
  }

  /** Notes that the oldest frozen generation is in segments now. @returns the bytes that its requests held. */
  committed(manifest: RegionManifest, seriesCount: number): number {
    // A truncation may have been answered since the commit.
    this.replaceManifest(manifest);
    this.registry.published(seriesCount);
    const generation = this.frozen.shift();
    if (generation === undefined) return 0;
    const bytes = this.#admitted.get(generation) ?? 0;
    this.#admitted.delete(generation);
    return bytes;
  }

  /** Bytes that requests hold for all generations; they count as given back. */
  releaseAll(): number {
    let bytes = 0;
    for (const held of this.#admitted.values()) bytes += held;
    this.#admitted.clear();
    return bytes;
  }

  /** Takes over a manifest unless a newer one is known. */
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

/** Definitions of failed records that one new record can have besides its own; a record has at most 1 GiB. */
const UNLOGGED_BYTES_MAX = 1 << 29;

/** Rows that have their numbers. */
interface PendingBatch {
  readonly batch: RowBatch;
  readonly sids: Uint32Array<ArrayBuffer>;
  readonly sequenceTo: bigint;
  /** Undefined: not known. */
  readonly times?: TimeBand;
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

/** A region that is not here (any more). */
export function regionNotServed(regionId: number): AlmanacError {
  return new AlmanacError('region_not_ready', `region ${regionId} is not served here`, { retryAfterSeconds: 1 });
}

export function tableDroppedError(tableId: number): AlmanacError {
  return new AlmanacError('table_not_found', `table ${tableId} was dropped`);
}
