import type { Clock } from '#shared/clock/clock';
import { withSpan, type Call } from '#shared/contracts/call';
import type { RegionManifest, Table } from '#shared/contracts/gen/common';
import type { Ingesters } from '#shared/discovery/ingesters';
import type { ManifestCache } from '#shared/discovery/manifest-cache';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { AlmanacError } from '#shared/errors/almanac-error';
import { UNCOUNTED_SLOT, type AdmissionSlot } from '#shared/limits/bounded-queue';
import type { TimeBounds } from '#shared/segments/bands';
import { MissingFile, type LocalStore } from '#shared/segments/local-store';

import { overlappingRows } from './bind.js';
import { NewerSchema, type BindRequest, type TableRead } from './binding.js';
import type { Snapshot, SnapshotOptions, Snapshots, TableSource } from './snapshots.js';
import { EngineRows, type EngineView } from './engine-rows.js';
import type { BatchMemory, FreshPart } from './fresh-part.js';
import { SegmentFiles } from './segment-files.js';
import type { SeriesTable } from './series-table.js';
import type { SharedIndexes } from '../series/shared-indexes.js';
import { TableBinder, type BoundTable } from './table-binder.js';
import { areAllEqual, TableRows, type KnownTables, type TableRowsDeps } from './table-rows.js';

/** Collaborators of a `RegionSnapshots`. */
export interface SnapshotDeps {
  readonly catalog: KnownTables;
  readonly ingesters: Ingesters;
  readonly manifests: ManifestCache;
  readonly store: LocalStore;
  /** Creates and drops the tables of fresh rows. */
  readonly connection: DuckDBConnection;
  /** Appends rows to them. */
  readonly appending: DuckDBConnection;
  /** Memory for unflushed rows as arrays, which kernels read; undefined: the engine gets all rows at once. */
  readonly batchMemory?: BatchMemory | undefined;
  readonly clock: Clock;
  /** Returns the indexes of series, shared with PromQL. */
  readonly indexes: SharedIndexes;
  /** Called before each verification of a file. */
  readonly confirmDataFolder: () => Promise<void>;
}

/** State of a snapshot that is being taken. */
interface SnapshotBuild {
  /** Collects the views that the snapshot holds. */
  readonly views: EngineView[];
  readonly guessed: BoundTable | undefined;
  readonly slot: AdmissionSlot;
}

class TableSnapshot implements Snapshot {
  readonly tables: readonly BoundTable[];
  readonly sources: readonly TableSource[];
  readonly sequences: ReadonlyMap<number, bigint>;
  readonly mayRepeat: boolean;
  readonly #views: EngineView[];
  readonly #files: SegmentFiles;

  /** @param views all views that the snapshot holds; it releases them. */
  constructor(tables: readonly BoundTable[], views: EngineView[], files: SegmentFiles) {
    this.tables = tables;
    this.#views = views;
    this.#files = files;
    const sources: TableSource[] = [];
    for (const { source } of tables) sources.push(source);
    this.sources = sources;
    this.sequences = leastSequences(views);
    this.mayRepeat = tables.some(({ mayRepeat }) => mayRepeat);
  }

  async relations(): Promise<readonly string[]> {
    const relations: string[] = [];
    // One after the other: when one fails, nothing reads the views any more.
    for (const { relation } of this.tables) relations.push(await relation());
    return relations;
  }

  get reads(): readonly TableRead[] {
    return this.tables.map(({ read }) => read());
  }

  get emptyRelations(): readonly string[] {
    return this.tables.map(({ nothing }) => nothing());
  }

  reasonOf(thrown: unknown, signal: AbortSignal): Promise<unknown> {
    const files = this.tables.flatMap((table) => table.files());
    return this.#files.reasonOf(thrown, files, signal);
  }

  release(): void {
    releaseAll(this.#views);
  }
}

/** Returns the lowest sequence per region. A region can occur several times, with views of different moments. */
function leastSequences(views: readonly EngineView[]): Map<number, bigint> {
  const least = new Map<number, bigint>();
  for (const { manifest, sequenceTo } of views) {
    const other = least.get(manifest.regionId);
    if (other === undefined || sequenceTo < other) least.set(manifest.regionId, sequenceTo);
  }
  return least;
}

function releaseAll(views: EngineView[]): void {
  for (const view of views.splice(0)) view.release();
}

/** Longest time that the end of the process waits for reads that hang at an owner. */
const SETTLED_MS = 5_000;

/** Work of `takeNow`, which blocks the event loop: about 10 us a segment, and as much as this many for a region. */
const REGION_WORK = 4;
const NOW_WORK_MAX = 256;

/** Takes snapshots for queries: segments from manifests, and the rows after their watermarks from the owners. */
export class RegionSnapshots implements Snapshots {
  readonly #deps: SnapshotDeps;
  readonly #rowsDeps: TableRowsDeps<FreshPart, SeriesTable>;
  readonly #tables = new Map<number, TableRows<FreshPart, SeriesTable>>();
  readonly #files: SegmentFiles;
  readonly #binder: TableBinder;
  readonly #layout: EngineRows;
  /** Tables that were dropped, and whose rows are being released. */
  readonly #closing = new Set<Promise<void>>();

  constructor(deps: SnapshotDeps) {
    this.#deps = deps;
    this.#files = new SegmentFiles(deps);
    this.#binder = new TableBinder({ ...deps, files: this.#files });
    this.#layout = new EngineRows({ ...deps, files: this.#files });
    this.#rowsDeps = { ...deps, layout: this.#layout, files: this.#files };
  }

  /** State of the files, shared with other readers of the same files. */
  get files(): SegmentFiles {
    return this.#files;
  }

  take(requests: readonly BindRequest[], call: Call, options: SnapshotOptions = {}): Promise<Snapshot> {
    return withSpan(call, 'take snapshot', {}, (own) => this.#take(requests, own, options));
  }

  async #take(requests: readonly BindRequest[], call: Call, options: SnapshotOptions): Promise<Snapshot> {
    const { guess, slot = UNCOUNTED_SLOT } = options;
    const guessed = guess instanceof TableSnapshot ? guess.tables : [];
    const views: EngineView[] = [];
    try {
      const tables: BoundTable[] = [];
      for (const [i, request] of requests.entries()) {
        tables.push(await this.#boundTable(request, { views, guessed: guessed.at(i), slot }, call));
      }
      if (guess === undefined || !tables.every((table, i) => table === guessed[i])) {
        return new TableSnapshot(tables, views, this.#files);
      }
      releaseAll(views);
      return guess;
    } catch (error) {
      releaseAll(views);
      throw error;
    }
  }

  takeNow(requests: readonly BindRequest[], call: Call): Snapshot | undefined {
    if (!this.#isFewToBind(requests)) return undefined;
    const views: EngineView[] = [];
    try {
      const tables: BoundTable[] = [];
      for (const request of requests) {
        const current = request.after === undefined ? this.#rows(request.table).viewNow(request.table) : undefined;
        if (current === undefined) break;
        views.push(...current);
        const bound = this.#binder.bindNow(request, current, call);
        if (bound === undefined) break;
        tables.push(bound);
      }
      if (tables.length === requests.length) return new TableSnapshot(tables, views, this.#files);
    } catch (error) {
      releaseAll(views);
      // `take` tells its caller to plan the query again.
      if (error instanceof NewerSchema) return undefined;
      throw error;
    }
    releaseAll(views);
    return undefined;
  }

  versionsNow(tables: readonly Table[]): readonly number[] | undefined {
    let all: readonly number[] = [];
    for (const table of tables) {
      const versions = this.#tables.get(table.tableId)?.versionsNow(table);
      if (versions === undefined) return undefined;
      all = all.length === 0 ? versions : all.concat(versions);
    }
    return all;
  }

  /** Reports whether tables have so few regions and files that they are bound without a pause. */
  #isFewToBind(requests: readonly BindRequest[]): boolean {
    let work = 0;
    for (const { table } of requests) {
      for (const { regionId } of table.regions) {
        work += REGION_WORK + (this.#deps.manifests.known(regionId)?.segments.length ?? 0);
        if (work > NOW_WORK_MAX) return false;
      }
    }
    return this.#deps.ingesters.hasNothingNew !== undefined;
  }

  async guess(requests: readonly BindRequest[], call: Call): Promise<Snapshot | undefined> {
    const views: EngineView[] = [];
    try {
      const tables: BoundTable[] = [];
      for (const request of requests) {
        const last = this.#rows(request.table).lastView();
        if (last !== undefined) views.push(...last);
        if (last !== undefined) tables.push(await this.#binder.bind(request, last, call, true));
      }
      if (tables.length === requests.length) return new TableSnapshot(tables, views, this.#files);
    } catch {
      // The table was altered or its files were merged. `take` reports any other error.
    }
    releaseAll(views);
    return undefined;
  }

  async overlappingRows(
    table: Table,
    bounds: TimeBounds,
    { call, slot }: { call: Call; slot: AdmissionSlot },
  ): Promise<number> {
    const views: EngineView[] = [];
    try {
      const current = await this.#currentViews(table, { views, slot }, call);
      return current.reduce((sum, view) => sum + overlappingRows(view, bounds), 0);
    } finally {
      releaseAll(views);
    }
  }

  /** Notes that rows of a region were flushed. */
  noteFlush(manifest: RegionManifest): void {
    this.#tables.get(manifest.tableId)?.noteFlush(manifest);
  }

  /**
   * Resolves when no work of its own uses the connections any more, or after some seconds: the engine blocks its thread for
   * ever, and with it the end of the process, when a connection is closed while it runs a statement.
   */
  async settled(): Promise<void> {
    const { clock } = this.#deps;
    const work = async (): Promise<void> => {
      await Promise.allSettled([...this.#closing, ...[...this.#tables.values()].map((rows) => rows.settled())]);
      await this.#layout.settled();
    };
    const over = new AbortController();
    await Promise.race([work(), clock.sleep(SETTLED_MS, over.signal)]);
    over.abort();
  }

  /** Releases the rows and manifests of a dropped table. */
  async removeTable({
    tableId,
    regionIds,
  }: {
    readonly tableId: number;
    readonly regionIds: readonly number[];
  }): Promise<void> {
    const rows = this.#tables.get(tableId);
    this.#tables.delete(tableId);
    const closed = rows?.close() ?? Promise.resolve();
    this.#closing.add(closed);
    await closed.finally(() => this.#closing.delete(closed));
    // Last, because a read in progress may have fetched a manifest again.
    for (const regionId of regionIds) this.#deps.manifests.remove(regionId);
  }

  /** Binds a table to files that exist and are intact. A missing file means that a manifest was outdated: retries once. */
  async #boundTable(request: BindRequest, build: SnapshotBuild, call: Call): Promise<BoundTable> {
    try {
      return await this.#boundOnce(request, build, call);
    } catch (error) {
      if (!(error instanceof MissingFile)) throw error;
    }
    await build.slot.releaseWhile(() =>
      Promise.all(request.table.regions.map(({ regionId }) => this.#deps.manifests.refresh(regionId, call))),
    );
    return this.#boundOnce(request, build, call);
  }

  async #boundOnce(request: BindRequest, build: SnapshotBuild, call: Call): Promise<BoundTable> {
    const { guessed } = build;
    const current = await this.#currentViews(request.table, build, call);
    return guessed !== undefined && areAllEqual(current, guessed.views)
      ? guessed
      : this.#binder.bind(request, current, call);
  }

  #currentViews(
    table: Table,
    { views, slot }: Pick<SnapshotBuild, 'views' | 'slot'>,
    call: Call,
  ): Promise<readonly EngineView[]> {
    return slot.releaseWhile(async () => {
      const read = await this.#rows(table).view(table, call);
      // Here and not after `releaseWhile`, which may fail to get the slot again.
      views.push(...read);
      return read;
    });
  }

  /** @throws `table_not_found` when the table was dropped after planning: new rows of it would never be closed. */
  #rows({ tableId, name }: Table): TableRows<FreshPart, SeriesTable> {
    let rows = this.#tables.get(tableId);
    if (rows === undefined) {
      if (this.#deps.catalog.knownById(tableId) === undefined) {
        throw new AlmanacError('table_not_found', `table "${name}" was dropped`);
      }
      rows = new TableRows(tableId, this.#rowsDeps);
      this.#tables.set(tableId, rows);
    }
    return rows;
  }
}
