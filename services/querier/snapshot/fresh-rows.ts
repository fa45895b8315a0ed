import type { Clock } from '#shared/clock/clock';
import { callError, checkCall, type Call } from '#shared/contracts/call';
import type { RegionInfo, RegionManifest, Table } from '#shared/contracts/gen/common';
import type { IngesterService, ScanChunk } from '#shared/contracts/gen/ingester';
import type { Ingesters } from '#shared/discovery/ingesters';
import type { ManifestCache } from '#shared/discovery/manifest-cache';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { fromDuckDb } from '#shared/duckdb/errors';
import { AlmanacError } from '#shared/errors/almanac-error';

import { batchOf, FreshPart } from './fresh-part.js';
import { SeriesTable } from './series-table.js';
import type { SegmentFiles } from './segment-files.js';

/** Who is asked for rows, under which grant. */
interface Owner {
  readonly owner: IngesterService;
  readonly epoch: number;
}

/** What is known of tables without asking anybody; the catalog cache is one. */
export interface KnownTables {
  knownById(tableId: number): Table | undefined;
}

export interface FreshRowsDeps {
  readonly catalog: KnownTables;
  readonly ingesters: Ingesters;
  readonly manifests: ManifestCache;
  /** Makes and drops tables, and fills them from files. */
  readonly connection: DuckDBConnection;
  /** Appends rows. It is synchronous, so it must not wait for what runs on the other connection. */
  readonly appending: DuckDBConnection;
  readonly files: SegmentFiles;
  readonly clock: Clock;
}

/** A part and the rows of it that a snapshot reads. */
export interface PartView {
  readonly part: FreshPart;
  readonly rowCount: number;
}

/** One region at one moment: segments by the manifest, and everything behind its watermark. */
export interface RegionView {
  readonly manifest: RegionManifest;
  readonly parts: readonly PartView[];
  /** Undefined if the table has no tags. */
  readonly series: SeriesTable | undefined;
  release(): void;
}

/** How long a read waits for a region to have an owner: a move or a start takes less. */
const OWNER_WAIT_MS = 5_000;
const OWNER_REST_MS = 20;
const OWNER_REST_MS_MAX = 250;

/** Answers "newer manifest" in a row before a read gives up; each means that a flush was committed meanwhile. */
const MANIFEST_TRIES = 8;

/**
 * The unflushed rows of one region, as tables of the query instance, brought up to date at each read.
 *
 * Only what is new is fetched. A part is dropped when the manifest covers it and no running read uses it.
 */
export class FreshRows {
  readonly #regionId: number;
  readonly #deps: FreshRowsDeps;
  #parts: FreshPart[] = [];
  #series: SeriesTable | undefined;
  #incarnation = 0n;
  #nextName = 1;
  /** Reads come one after the other; the last one's end. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(regionId: number, deps: FreshRowsDeps) {
    this.#regionId = regionId;
    this.#deps = deps;
  }

  /**
   * The region as of now; all that was acknowledged before the call is in it. `release` must be called.
   *
   * A region that moves, or whose owner starts again, is waited for a little.
   *
   * @throws `region_not_ready` if nobody serves it then.
   */
  async view(table: Table, region: RegionInfo, call: Call): Promise<RegionView> {
    const { clock } = this.#deps;
    const untilMs = Math.min(call.deadlineMs, clock.nowMs() + OWNER_WAIT_MS);
    for (let restMs = OWNER_REST_MS; ; restMs = Math.min(restMs * 2, OWNER_REST_MS_MAX)) {
      try {
        return await this.#readInTurn(table, this.#regionNow(table) ?? region, call);
      } catch (error) {
        const failure = AlmanacError.from(error);
        if (failure.code !== 'region_not_ready' && failure.code !== 'external') throw failure;
        if (clock.nowMs() + restMs >= untilMs) throw noOwner(this.#regionId, failure);
      }
      await clock.sleep(restMs, call.signal);
      checkCall(call);
    }
  }

  #readInTurn(table: Table, region: RegionInfo, call: Call): Promise<RegionView> {
    const before = this.#turn;
    const turn = before.then(() => {
      checkCall(call);
      return this.#read(table, region, call);
    });
    this.#turn = turn.catch(() => undefined);
    // The read before this one may hang at an owner that stands still, for longer than this one may take.
    return aborted(call, before).then(() => turn);
  }

  /** The region as the catalog has it by now: it may have another owner than when the query was planned. */
  #regionNow({ tableId }: Table): RegionInfo | undefined {
    const table = this.#deps.catalog.knownById(tableId);
    return table?.regions.find(({ regionId }) => regionId === this.#regionId);
  }

  /** Drops all tables; views that are held keep theirs until they are released. */
  async close(): Promise<void> {
    await this.#turn;
    await this.#forgetAll();
  }

  async #read(table: Table, region: RegionInfo, call: Call): Promise<RegionView> {
    const owner = this.#deps.ingesters.ownerOf(region);
    for (let attempt = 0; attempt < MANIFEST_TRIES; attempt++) {
      checkCall(call);
      const manifest = this.#deps.manifests.known(this.#regionId) ?? nothingKnown(table, this.#regionId);
      await this.#dropCovered(manifest.watermark);
      // Rows between the watermark and the first part would be missed; the owner then sends everything.
      if (this.#parts.length > 0 && this.#parts[0].sequenceFrom > manifest.watermark) await this.#forgetAll();
      // An earlier read did not know all columns yet that its rows had.
      if (this.#parts.some((part) => part.lacks(table))) await this.#forgetAll();
      await this.#prepareSeries(table, manifest);
      if (await this.#fetch({ owner, epoch: region.epoch }, table, manifest, call)) return this.#pinned(manifest);
    }
    throw new AlmanacError('region_not_ready', `region ${this.#regionId} changes too fast to be read`);
  }

  /** Fetches what is lacking behind the manifest's watermark. @returns false if the manifest is too old. */
  async #fetch({ owner, epoch }: Owner, table: Table, manifest: RegionManifest, call: Call): Promise<boolean> {
    const request = {
      epoch,
      tableId: table.tableId,
      regionId: this.#regionId,
      manifestVersion: manifest.version,
      watermark: manifest.watermark,
      haveIncarnation: this.#incarnation,
      haveFrom: this.#parts[0]?.sequenceFrom ?? 0n,
      haveTo: this.#parts.at(-1)?.sequenceTo ?? 0n,
      haveSeries: this.#series?.count ?? 0,
    };
    for await (const chunk of owner.scan(request, call)) {
      if (chunk.newerManifest !== undefined) {
        this.#deps.manifests.apply(chunk.newerManifest);
        return false;
      }
      if (chunk.incarnation !== this.#incarnation) {
        const isFirst = this.#incarnation === 0n;
        this.#incarnation = chunk.incarnation;
        // What an earlier life of the owner told may not be durable: series and rows are fetched anew.
        if (!isFirst) {
          await this.#forgetAll();
          return false;
        }
      }
      try {
        await this.#take(table, chunk);
      } catch (error) {
        // Some of the chunk may be in the tables, and rows that are counted may not: the next read fetches all anew.
        await this.#forgetAll();
        throw fromDuckDb(error);
      }
      if (chunk.complete) return true;
      // A first read may have gigabytes to take over; the process answers others meanwhile.
      await this.#deps.clock.turn();
      checkCall(call);
    }
    throw new AlmanacError('region_not_ready', `the owner of region ${this.#regionId} ended its answer early`);
  }

  async #take(table: Table, chunk: ScanChunk): Promise<void> {
    for (const scanned of chunk.batches) {
      const batch = batchOf(scanned);
      let part = this.#parts.at(-1);
      if (part?.takes(scanned, batch) !== true) {
        part = await FreshPart.create(this.#deps, this.#name('fresh'), table, scanned);
        this.#parts.push(part);
      }
      await part.append(scanned, batch, () => this.#deps.clock.turn());
    }
    for (const part of this.#parts) part.flush();
    if (this.#series !== undefined) await this.#series.append(this.#deps.appending, chunk);
  }

  async #prepareSeries(table: Table, manifest: RegionManifest): Promise<void> {
    if (!table.columns.some((column) => column.kind === 'tag')) return;
    if (this.#series?.fits(table) !== true) {
      const old = this.#series;
      this.#series = await SeriesTable.create(this.#deps.connection, this.#name('series'), table);
      if (old !== undefined) await this.#discard(old);
    }
    const { connection, files } = this.#deps;
    const { count } = this.#series;
    const lacking = manifest.seriesFiles.filter((file) => file.sidLast >= count);
    await files.check(lacking);
    await this.#series.load(connection, lacking, (path) => files.absolute(path));
  }

  #pinned(manifest: RegionManifest): RegionView {
    const parts = this.#parts.map((part) => ({ part, rowCount: part.rowCount }));
    const series = this.#series;
    for (const { part } of parts) part.pins++;
    if (series !== undefined) series.pins++;
    return {
      manifest,
      parts,
      series,
      release: () => {
        for (const { part } of parts) void this.#unpin(part);
        if (series !== undefined) void this.#unpin(series);
      },
    };
  }

  async #unpin(table: FreshPart | SeriesTable): Promise<void> {
    table.pins--;
    if (table.isObsolete && table.pins === 0) await this.#drop(table);
  }

  async #dropCovered(watermark: bigint): Promise<void> {
    const covered = this.#parts.filter((part) => part.sequenceTo <= watermark);
    if (covered.length === 0) return;
    this.#parts = this.#parts.filter((part) => part.sequenceTo > watermark);
    for (const part of covered) await this.#discard(part);
  }

  async #forgetAll(): Promise<void> {
    const tables = [...this.#parts, ...(this.#series === undefined ? [] : [this.#series])];
    this.#parts = [];
    this.#series = undefined;
    for (const table of tables) await this.#discard(table);
  }

  async #discard(table: FreshPart | SeriesTable): Promise<void> {
    table.isObsolete = true;
    if (table.pins === 0) await this.#drop(table);
  }

  async #drop(table: FreshPart | SeriesTable): Promise<void> {
    try {
      if (table instanceof FreshPart) table.close();
    } catch {
      // Closing appends what a failed append left behind, which fails again: those rows are not wanted any more.
    }
    // It fails only if the instance is closed or broken, and then there is nothing to be given back.
    await this.#deps.connection.run(`DROP TABLE IF EXISTS ${table.relation}`).catch(() => undefined);
  }

  #name(kind: string): string {
    return `${kind}_${this.#regionId}_${this.#nextName++}`;
  }
}

/** Older than any manifest: the owner's answer brings the present one, so that a first read needs no metadata. */
function nothingKnown({ tableId }: Table, regionId: number): RegionManifest {
  return {
    regionId,
    tableId,
    epoch: 0,
    watermark: 0n,
    truncatedSequence: 0n,
    version: 0n,
    segments: [],
    seriesFiles: [],
  };
}

/** Resolves with what comes before. @throws the call's error if it is over earlier. */
function aborted(call: Call, before: Promise<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(callError(call.signal));
    call.signal.addEventListener('abort', giveUp, { once: true });
    void before.then((value) => {
      call.signal.removeEventListener('abort', giveUp);
      resolve(value);
    });
  });
}

function noOwner(regionId: number, cause: AlmanacError): AlmanacError {
  const { message } = cause;
  return new AlmanacError('region_not_ready', `region ${regionId} cannot be read now: ${message}`, {
    cause,
    retryAfterSeconds: 1,
  });
}
