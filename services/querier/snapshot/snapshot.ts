import type { Clock } from '#shared/clock/clock';
import { checkCall, withSpan, type Call } from '#shared/contracts/call';
import type { RegionManifest, Segment, Table } from '#shared/contracts/gen/common';
import type { Ingesters } from '#shared/discovery/ingesters';
import type { ManifestCache } from '#shared/discovery/manifest-cache';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { AlmanacError } from '#shared/errors/almanac-error';
import { UNCOUNTED_SLOT, type AdmissionSlot } from '#shared/limits/bounded-queue';
import { tagsOf } from '#shared/schema/table-schema';
import { MissingFile, type LocalStore } from '#shared/segments/local-store';

import { overlaps, type Band, type TimeBounds } from '#shared/segments/bands';
import { bindTable, checkTarget, lateBandsOf, partsRead, readRows } from './bind.js';
import type { BindRequest, TableRead } from './binding.js';
import type { RegionSource, Snapshot, Snapshots, TableSource } from './snapshots.js';
import type { SnapshotOptions } from './snapshots.js';
import { EngineRows, type EngineView } from './engine-rows.js';
import type { BatchMemory, FreshPart } from './fresh-part.js';
import type { RowFilter } from './row-filter.js';
import { SegmentFiles, type ManifestFile } from './segment-files.js';
import type { BoundSegment } from './sources.js';
import type { SeriesTable } from './series-table.js';
import { IndexesFull } from '../series/memory/index-memory.js';
import type { TagColumn } from '../series/tag-column.js';
import type { SharedIndexes } from '../series/shared-indexes.js';
import { TermSearch } from './term-search.js';
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
  /** All files that the relation reads. */
  readonly files: readonly ManifestFile[];
  readonly mayRepeat: boolean;
}

/** The series of a region that a query can match. */
type MatchingSeries = Pick<RegionSource, 'selected' | 'named' | 'metrics' | 'isUnselected'>;

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
    this.sources = tables.map(({ source }) => source);
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
    const files = this.tables.flatMap((table) => table.files);
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

/** Memory for the directories of term indexes: about 160 bytes for each 16 KiB of distinct terms. */
const TERM_CACHE_BYTES = 32 * 1024 * 1024;

/** Takes snapshots for queries: segments from manifests, and the rows after their watermarks from the owners. */
export class RegionSnapshots implements Snapshots {
  readonly #deps: SnapshotDeps;
  readonly #rowsDeps: TableRowsDeps<FreshPart, SeriesTable>;
  readonly #tables = new Map<number, TableRows<FreshPart, SeriesTable>>();
  readonly #files: SegmentFiles;
  readonly #terms: TermSearch;

  constructor(deps: SnapshotDeps) {
    this.#deps = deps;
    this.#terms = new TermSearch(deps.store, TERM_CACHE_BYTES);
    this.#files = new SegmentFiles(deps);
    const layout = new EngineRows({ ...deps, files: this.#files });
    this.#rowsDeps = { ...deps, layout: layout, files: this.#files };
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

  /** Notes that rows of a region were flushed. */
  noteFlush(manifest: RegionManifest): void {
    this.#tables.get(manifest.tableId)?.noteFlush(manifest);
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
    await rows?.close();
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

  async #boundOnce(request: BindRequest, { views, guessed, slot }: SnapshotBuild, call: Call): Promise<BoundTable> {
    const current = await slot.releaseWhile(async () => {
      const read = await this.#rows(request.table).view(request.table, call);
      // Here and not after `releaseWhile`, which may fail to get the slot again.
      views.push(...read);
      return read;
    });
    return guessed !== undefined && areAllEqual(current, guessed.views) ? guessed : this.#bind(request, current, call);
  }

  /** @param isGuess whether the files may have been merged away, which is then not reported as damage. */
  async #bind(request: BindRequest, views: readonly EngineView[], call: Call, isGuess = false): Promise<BoundTable> {
    const tagValues = tagIds(request);
    const bounds = boundsOf(request);
    const target = { ...request, bounds };
    const bound: RegionSource[] = [];
    const files: ManifestFile[] = [];
    let outsideTime = 0;
    let withoutSeries = 0;
    let withoutTerms = 0;
    let mayRepeat = false;
    for (const whole of views) {
      const after = request.after === undefined ? undefined : (request.after.get(whole.manifest.regionId) ?? 0n);
      const view = after === undefined ? whole : laterRows(whole, after, request.everyVersion === true);
      mayRepeat ||= after !== undefined && view.manifest.segments.some(({ sequenceFrom }) => sequenceFrom < after);
      const { seriesFiles } = view.manifest;
      const { named, metrics, ...found } = await this.#files.readChecked(seriesFiles, () =>
        this.#matchingSeries(view, tagValues),
      );
      const inTime = view.manifest.segments.filter((segment) => overlaps(timesOf(segment), bounds));
      const segments = inTime.filter((segment) => mayHave(segment, { sids: named?.sids, metrics }));
      outsideTime += view.manifest.segments.length - inTime.length;
      withoutSeries += inTime.length - segments.length;
      await (isGuess ? this.#files.checkKnown(segments) : this.#files.check(segments));
      const sources = await this.#files.readChecked(segments, () => this.#sources(segments, request, call));
      withoutTerms += sources.filter(({ selection }) => selection.rowCount === 0).length;
      files.push(...segments, ...seriesFiles);
      const tagColumn: RegionSource['tagColumn'] = (tagId) => this.#tagColumn(view, tagId);
      const region = { view, segments: sources, named, metrics };
      checkTarget(region, target);
      bound.push({ ...region, ...found, tagColumn, lateBands: lateBandsOf(region, target) });
    }
    const segmentCount = views.reduce((sum, { manifest }) => sum + manifest.segments.length, 0);
    const skipped = { segmentCount, outsideTime, withoutSeries, withoutTerms };
    const read = (): TableRead => ({ ...skipped, ...readRows(bound, target) });
    const pause = (): Promise<void> => this.#deps.clock.yield();
    let sql: string | undefined;
    const relation = async (): Promise<string> => {
      // Rows that others append meanwhile may widen the times of further parts, whose tables are not filled.
      const regions = bound.map((region) => ({
        ...region,
        view: { ...region.view, parts: partsRead(region, target) },
      }));
      for (const { part } of regions.flatMap(({ view }) => view.parts)) {
        checkCall(call);
        await part.fillTable(pause);
      }
      return (sql ??= bindTable(regions, target));
    };
    const nothing = (): string => bindTable([], target);
    const source = { table: request.table, bounds, regions: bound };
    return { views, relation, nothing, read, source, files, mayRepeat };
  }

  async #tagColumn({ series, manifest }: EngineView, tagId: number): Promise<TagColumn | undefined> {
    return series && this.#files.readChecked(manifest.seriesFiles, () => series.tagColumn(tagId));
  }

  /** Returns the series and metrics that the query can match. */
  async #matchingSeries({ series, seriesCount }: EngineView, tagValues: TagValues): Promise<MatchingSeries> {
    try {
      const selected = await series?.matching(tagValues, seriesCount);
      const named = selected === undefined ? undefined : await series?.named(selected, tagValues);
      return { selected, named, metrics: await series?.metrics(tagValues), isUnselected: false };
    } catch (error) {
      // The engine finds the series in its own tables and in files.
      if (!(error instanceof IndexesFull)) throw error;
      return { selected: undefined, named: undefined, metrics: undefined, isUnselected: true };
    }
  }

  async #sources(segments: readonly Segment[], { table, texts }: BindRequest, call: Call): Promise<BoundSegment[]> {
    const selections = await this.#terms.select(segments, table, texts, call);
    const sources: BoundSegment[] = [];
    for (const [i, segment] of segments.entries()) {
      const columns = await this.#files.columnsOf(segment);
      sources.push({
        segment,
        columns,
        path: this.#files.absolute(segment.path),
        name: this.#files.nameOf(segment.path),
        selection: selections[i],
      });
    }
    return sources;
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

/**
 * Returns the rows of a region with a later sequence; a segment with some of them is read as a whole.
 *
 * @param skipsMerged whether merged segments with some of them are left out.
 */
function laterRows(view: EngineView, after: bigint, skipsMerged: boolean): EngineView {
  const segments = view.manifest.segments.filter(({ sequenceFrom, sequenceTo, isMerged = false }) => {
    return sequenceTo > after && !(skipsMerged && isMerged && sequenceFrom < after);
  });
  const parts = view.parts
    .filter(({ part, rowCount }) => part.sequenceFrom + BigInt(rowCount) > after)
    // The rows of a part have successive sequences.
    .map((it) => ({ ...it, skipCount: Math.max(0, Number(after - it.part.sequenceFrom)) }));
  return { ...view, manifest: { ...view.manifest, segments }, parts };
}

function boundsOf({ timeFrom, timeTo }: BindRequest): TimeBounds {
  return { from: timeFrom, to: timeTo };
}

function timesOf({ timeFirst, timeLast }: Segment): Band {
  return { first: timeFirst, last: timeLast };
}

/** Reports whether a segment may have rows of one of the series and one of the metrics. */
function mayHave(segment: Segment, { sids, metrics }: Pick<RowFilter, 'sids' | 'metrics'>): boolean {
  if (segment.hasMetrics && metrics?.some((it) => it >= segment.metricFirst && it <= segment.metricLast) === false) {
    return false;
  }
  return sids?.some((sid) => sid >= segment.sidFirst && sid <= segment.sidLast) ?? true;
}

/** Tag values that the query requires, by column ID. */
type TagValues = ReadonlyMap<number, readonly string[]>;

function tagIds({ table, tagValues }: BindRequest): TagValues {
  const ids = new Map<number, readonly string[]>();
  for (const column of tagsOf(table)) {
    const values = tagValues.get(column.name);
    if (values !== undefined) ids.set(column.id, values);
  }
  return ids;
}
