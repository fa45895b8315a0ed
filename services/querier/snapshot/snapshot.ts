import type { Clock } from '#shared/clock/clock';
import { checkCall, withSpan, type Call } from '#shared/contracts/call';
import type { RegionManifest, Segment, Table } from '#shared/contracts/gen/common';
import type { Ingesters } from '#shared/discovery/ingesters';
import type { ManifestCache } from '#shared/discovery/manifest-cache';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { AlmanacError } from '#shared/errors/almanac-error';
import { UNCOUNTED_SLOT, type AdmissionSlot } from '#shared/limits/bounded-queue';
import type { TimeBounds } from '#shared/segments/bands';
import { MissingFile, type LocalStore } from '#shared/segments/local-store';

import {
  requestedTimes,
  chosenSegments,
  mayRepeat,
  requestedRows,
  skippedOf,
  tagIds,
  type ChosenRegion,
} from './chosen-segments.js';
import { bindTable, checkTarget, lateBandsOf, overlappingRows, partsRead, readRows } from './bind.js';
import { NewerSchema, type BindRequest, type TableRead } from './binding.js';
import type { RegionSource, Snapshot, Snapshots, TableSource } from './snapshots.js';
import type { SnapshotOptions } from './snapshots.js';
import { EngineRows, type EngineView } from './engine-rows.js';
import type { BatchMemory, FreshPart } from './fresh-part.js';
import { SegmentFiles, type FileColumns, type ManifestFile } from './segment-files.js';
import type { BoundSegment } from './sources.js';
import { ANY_SERIES, type SeriesTable, type TagValues } from './series-table.js';
import type { TagColumn } from '../series/tag-column.js';
import type { SharedIndexes } from '../series/shared-indexes.js';
import { ALL_ROWS, TermSearch, type MatchingRows } from './term-search.js';
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

/** A table of a snapshot, with the views that its relation reads. */
interface BoundTable {
  readonly views: readonly EngineView[];
  /** Returns the relation, once the engine has its rows. */
  readonly relation: () => Promise<string>;
  /** Returns the relation without rows. */
  readonly nothing: () => string;
  /** Returns what is read, for EXPLAIN. */
  readonly read: () => TableRead;
  readonly source: TableSource;
  /** Returns all files that the relation reads. */
  files(): readonly ManifestFile[];
  readonly mayRepeat: boolean;
}

/** What a relation reads. */
interface ChosenRegions {
  readonly request: BindRequest;
  readonly tagValues: TagValues;
  readonly views: readonly EngineView[];
  readonly chosen: readonly ChosenRegion[];
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

/** Memory for the directories of term indexes: about 160 bytes for each 16 KiB of distinct terms. */
const TERM_CACHE_BYTES = 32 * 1024 * 1024;

/** Takes snapshots for queries: segments from manifests, and the rows after their watermarks from the owners. */
export class RegionSnapshots implements Snapshots {
  readonly #deps: SnapshotDeps;
  readonly #rowsDeps: TableRowsDeps<FreshPart, SeriesTable>;
  readonly #tables = new Map<number, TableRows<FreshPart, SeriesTable>>();
  readonly #files: SegmentFiles;
  readonly #terms: TermSearch;
  readonly #layout: EngineRows;
  /** Tables that were dropped, and whose rows are being released. */
  readonly #closing = new Set<Promise<void>>();

  constructor(deps: SnapshotDeps) {
    this.#deps = deps;
    this.#terms = new TermSearch(deps.store, TERM_CACHE_BYTES);
    this.#files = new SegmentFiles(deps);
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
        const bound = this.#bindNow(request, current, call);
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
        if (last !== undefined) tables.push(await this.#bind(request, last, call, true));
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
    return guessed !== undefined && areAllEqual(current, guessed.views) ? guessed : this.#bind(request, current, call);
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

  /** @param isGuess whether the files may have been merged away, which is then not reported as damage. */
  async #bind(request: BindRequest, views: readonly EngineView[], call: Call, isGuess = false): Promise<BoundTable> {
    const tagValues = tagIds(request);
    const chosen: ChosenRegion[] = [];
    for (const whole of views) {
      const view = requestedRows(whole, request);
      const matching = await this.#files.readChecked(
        view.manifest.seriesFiles,
        async () => (await view.series?.matching(tagValues, view.seriesCount)) ?? ANY_SERIES,
      );
      const { inTime, segments } = chosenSegments(view, matching, request);
      await (isGuess ? this.#files.checkKnown(segments) : this.#files.check(segments));
      const sources = await this.#files.readChecked(segments, () => this.#sources(segments, request, call));
      chosen.push({ view, matching, inTime, segments: sources });
    }
    return this.#boundRegions({ request, tagValues, views, chosen }, call);
  }

  /** Does what `#bind` does, if nothing has to be waited for; undefined otherwise. */
  #bindNow(request: BindRequest, views: readonly EngineView[], call: Call): BoundTable | undefined {
    if (request.texts.length > 0) return undefined;
    const tagValues = tagIds(request);
    const chosen: ChosenRegion[] = [];
    for (const view of views) {
      const { series } = view;
      const matching = series === undefined ? ANY_SERIES : series.readyMatching(tagValues, view.seriesCount);
      if (matching === undefined) return undefined;
      const { inTime, segments } = chosenSegments(view, matching, request);
      if (!this.#files.areIntact(segments)) return undefined;
      const sources: BoundSegment[] = [];
      for (const segment of segments) {
        const columns = this.#files.readyColumnsOf(segment);
        if (columns === undefined) return undefined;
        sources.push(this.#boundSegment(segment, columns, ALL_ROWS));
      }
      chosen.push({ view, matching, inTime, segments: sources });
    }
    return this.#boundRegions({ request, tagValues, views, chosen }, call);
  }

  #boundRegions({ request, tagValues, views, chosen }: ChosenRegions, call: Call): BoundTable {
    const bounds = requestedTimes(request);
    const { table, columns, texts, everyVersion } = request;
    const target = { table, columns, bounds, texts, everyVersion };
    const regions: RegionSource[] = [];
    for (const { view, matching, segments } of chosen) {
      const { named, metrics, selected, isUnselected } = matching;
      const region = { view, segments, named, metrics };
      checkTarget(region, target);
      const tagColumn: RegionSource['tagColumn'] = (tagId) => this.#tagColumn(view, tagId);
      const lateBands = lateBandsOf(region, target);
      regions.push({ view, segments, named, metrics, selected, isUnselected, tagColumn, lateBands });
    }
    const pause = (): Promise<void> => this.#deps.clock.yield();
    let sql: string | undefined;
    const relation = async (): Promise<string> => {
      // Rows that others append meanwhile may widen the times of further parts, whose tables are not filled.
      const read = regions.map((region) => ({ ...region, view: { ...region.view, parts: partsRead(region, target) } }));
      for (const { part } of read.flatMap(({ view }) => view.parts)) {
        checkCall(call);
        await part.fillTable(pause);
      }
      return (sql ??= bindTable(read, target));
    };
    return {
      views,
      relation,
      nothing: () => bindTable([], target),
      read: () => ({ ...skippedOf(views, chosen), ...readRows(regions, target) }),
      source: { table, bounds, tagValues, regions },
      files: () =>
        chosen.flatMap(({ view, segments }) => [
          ...segments.map(({ segment }) => segment),
          ...view.manifest.seriesFiles,
        ]),
      mayRepeat: views.some((whole) => mayRepeat(whole, request)),
    };
  }

  async #tagColumn({ series, manifest }: EngineView, tagId: number): Promise<TagColumn | undefined> {
    return series && this.#files.readChecked(manifest.seriesFiles, () => series.tagColumn(tagId));
  }

  async #sources(segments: readonly Segment[], { table, texts }: BindRequest, call: Call): Promise<BoundSegment[]> {
    const selections = await this.#terms.select(segments, table, texts, call);
    const sources: BoundSegment[] = [];
    for (const [i, segment] of segments.entries()) {
      sources.push(this.#boundSegment(segment, await this.#files.columnsOf(segment), selections[i]));
    }
    return sources;
  }

  #boundSegment(segment: Segment, columns: FileColumns, selection: MatchingRows): BoundSegment {
    const { path } = segment;
    return { segment, columns, path: this.#files.absolute(path), name: this.#files.nameOf(path), selection };
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
