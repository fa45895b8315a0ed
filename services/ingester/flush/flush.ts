import { Slices } from '#shared/clock/slices';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import { ownCall } from '#shared/contracts/call';
import type { RegionManifest, Segment, SeriesFile, Table } from '#shared/contracts/gen/common';
import type { CommitSegmentsRequest, MetadataService } from '#shared/contracts/gen/metadata';
import type { DuckDBConnection, DuckDBInstance } from '#shared/duckdb/engine';
import { firstRow, timeOf } from '#shared/duckdb/read';
import { intersection } from '#shared/segments/bands';
import type { FileSystem } from '#shared/fs/file-system';
import type { LocalStore, PublishedFile } from '#shared/segments/local-store';
import { regionFolder, segmentPath, seriesPath } from '#shared/segments/segment-name';
import { withTypes } from '#shared/schema/former-types';
import { OP, withOps } from '#shared/schema/segment-columns';
import { isAppendOnly, mergeModeOf } from '#shared/schema/table-schema';
import { fillSeries, unpublishedRun } from '../memtable/fill-series.js';
import type { Generation } from '../memtable/generation.js';
import type { SeriesRegistry } from '../memtable/series-registry.js';
import type { TermIndexer } from '../term-index/term-indexer.js';
import { cellsOf } from './append-rows.js';
import { ColumnArrays, integerWidths, planColumns } from './column-arrays.js';
import { copySegment, copySeries, generationColumns, segmentBounds, seriesColumns, type Ops } from './segment-sql.js';
import { orderByMetric, type SeriesOrder } from './series-order.js';
import { segmentEnds, slicesOf, WindowRows } from './sorted-rows.js';
import { EngineTable, isFixed, NoSpaceToStage, RowsInFile, RowsInTable, type StagedRows } from './staged-rows.js';
import type { Versions } from './time-order.js';
import { windowLength, windowsOf } from './windows.js';

/** What flushes read from and write to. */
export interface FlushDeps {
  readonly engine: DuckDBInstance;
  readonly store: LocalStore;
  readonly fs: FileSystem;
  /** Folder on the store's disk for unfinished files. */
  readonly scratch: string;
  readonly metadata: MetadataService;
  readonly clock: Clock;
  readonly random: Random;
  readonly windowMs: number;
  /** Indexes the texts of new segments. */
  readonly terms: TermIndexer;
}

/** A generation to be flushed. */
export interface FlushJob {
  readonly table: Table;
  readonly regionId: number;
  readonly epoch: number;
  /** Committed watermark of the region. */
  readonly watermark: bigint;
  readonly registry: SeriesRegistry;
  /** Frozen, and the oldest of the region. */
  readonly generation: Generation;
}

/** Result of a committed flush. */
export interface FlushResult {
  readonly manifest: RegionManifest;
  readonly segments: number;
  readonly rowCount: number;
  readonly bytes: number;
}

/**
 * Writes a frozen generation of a region to segments and commits them.
 *
 * The generation stays unchanged until the commit is known. If anything fails, the call can be repeated: the files of
 * each attempt have their own names. Those of a failed attempt are removed, or collected as orphans after a crash.
 */
export async function flushGeneration(job: FlushJob, deps: FlushDeps): Promise<FlushResult> {
  try {
    return await tryFlush(job, deps, true);
  } catch (error) {
    if (!(error instanceof NoSpaceToStage)) throw error;
    // There may be space for segments, which are compressed.
    return tryFlush(job, deps, false);
  }
}

/** @param useFiles whether rows may be staged in files. @throws `NoSpaceToStage`. */
async function tryFlush(job: FlushJob, deps: FlushDeps, useFiles: boolean): Promise<FlushResult> {
  const { generation } = job;
  const connection = await deps.engine.connect();
  const attempt = new FlushAttempt(job, connection, deps, useFiles);
  let isSent = false;
  try {
    // Staged files are read once, and the footers of all of them would stay in memory.
    await connection.run('SET SESSION parquet_metadata_cache = false');
    const segments = await attempt.writeSegments();
    const seriesFiles = await attempt.writeSeries();
    isSent = true;
    const manifest = await deps.metadata.commitSegments(
      {
        regionId: job.regionId,
        epoch: job.epoch,
        watermarkFrom: job.watermark,
        watermarkTo: generation.sequenceTo,
        segments,
        seriesFiles,
        ...attempt.deletedTimes(),
      },
      ownCall(`flush-${job.regionId}-${generation.number}`),
    );
    const bytes = [...segments, ...seriesFiles].reduce((sum, file) => sum + file.bytes, 0);
    return { manifest, segments: segments.length, rowCount: generation.rowCount, bytes };
  } catch (error) {
    // Unless metadata refused it for good, the commit may have succeeded, and then the files hold the rows.
    if (!isSent || REFUSALS.has(AlmanacError.from(error).code)) await attempt.removeFiles();
    throw error;
  } finally {
    await attempt.cleanUp();
    connection.closeSync();
  }
}

/** Error codes with which metadata states that a commit did not happen and never will. */
const REFUSALS: ReadonlySet<string> = new Set(['illegal_state', 'region_not_found']);

/**
 * Approximate rows of a segment if one flush writes several for the same time window. The manifest knows their series,
 * so a query for one series opens only one of them: 2.2 ms of CPU instead of 5.4 for one host of 500.
 */
export const SEGMENT_ROWS = 262_144;
/** Cells that are sorted at a time. More would take more memory, fewer more passes over the generation. */
const SLICE_CELLS = 6 * 1024 * 1024;

function versionsOf(table: Table): Versions {
  if (isAppendOnly(table)) return 'all';
  return mergeModeOf(table) === 'last_row' ? 'newest' : 'merged';
}

function sliceRows(table: Table): number {
  return Math.max(8, Math.floor(SLICE_CELLS / cellsOf(table)) & ~7);
}

/** Staged rows of a segment. */
interface SegmentRows {
  readonly rowCount: number;
  /** Whether they are sorted, and keys are unique where the table has keys. */
  readonly isFinal: boolean;
}

class FlushAttempt {
  readonly #job: FlushJob;
  readonly #connection: DuckDBConnection;
  readonly #deps: FlushDeps;
  readonly #unique: string;
  /** Undefined: in the order of series numbers. */
  readonly #order: SeriesOrder | undefined;
  readonly #folder: string;
  readonly #ops: Ops;
  /** How versions of a row are resolved before they reach the engine; undefined: the engine merges them. */
  readonly #versions: Versions | undefined;
  /** Including the operation column, if rows have operations. */
  readonly #table: Table;
  /** The same with the types of the rows, which are older ones after a type change. */
  readonly #held: Table;
  readonly #useFiles: boolean;
  /** Columns of tables of rows. */
  readonly #columns: string;
  readonly #slices: Slices;
  readonly #published: string[] = [];
  /** What is in the engine or in a file at present. */
  #staged: Pick<StagedRows, 'drop'> | undefined = undefined;

  constructor(job: FlushJob, connection: DuckDBConnection, deps: FlushDeps, useFiles: boolean) {
    const { databaseId, tableId } = job.table;
    this.#job = job;
    this.#connection = connection;
    this.#deps = deps;
    this.#unique = Buffer.from(deps.random.bytes(6)).toString('hex');
    this.#folder = regionFolder(databaseId, tableId, job.regionId);
    this.#slices = new Slices(deps.clock);
    const metrics = job.registry.metrics?.below(job.generation.seriesCount);
    this.#order = metrics === undefined ? undefined : orderByMetric(metrics);
    const widths = integerWidths(job.generation);
    this.#ops = !widths.has(OP.id) ? 'none' : job.generation.lateToSealed === undefined ? 'dropped' : 'kept';
    this.#versions = this.#ops === 'none' ? versionsOf(job.table) : undefined;
    this.#table = this.#ops === 'none' ? job.table : withOps(job.table);
    this.#held = withTypes(this.#table, job.generation.types);
    this.#useFiles = useFiles && isFixed(this.#held);
    this.#columns = generationColumns(this.#held, widths, this.#order !== undefined);
  }

  async writeSegments(): Promise<Segment[]> {
    const { generation } = this.#job;
    const table = this.#held;
    const slices = this.#slices;
    const windows = await windowsOf(generation, windowLength(table, this.#deps.windowMs), this.#deps.clock);
    const plan = await planColumns(generation, slices);
    const hasMetrics = this.#order !== undefined;
    const isMerged = this.#versions === 'merged' && generation.late !== undefined;
    const options = { table, plan, rowCount: generation.rowCount, hasMetrics, isMerged };
    const segments: Segment[] = [];
    let segmentCount = 0;
    let staged = this.#stage(0);
    for (const window of windows) {
      const rows = new WindowRows(generation, this.#order, windows.length === 1 ? undefined : window, slices);
      const counts = await rows.counts();
      const ends = segmentEnds(counts, SEGMENT_ROWS);
      for (const slice of slicesOf(ends, sliceRows(table))) {
        const arrays = new ColumnArrays(options, slice.length);
        const placed = await rows.place(slice, counts, arrays, this.#versions);
        const columns = arrays.columns();
        for (const [i, part] of slice.parts.entries()) {
          const begin = part.segment === 0 ? 0 : ends[part.segment - 1];
          await staged.append(columns, part.at, placed[i].end);
          const end = ends[part.segment];
          if (part.to < end) continue;
          await staged.end();
          const rowCount = part.isWhole ? placed[i].end - part.at : end - begin;
          const segment = await this.#writeSegment(staged, { rowCount, isFinal: placed[i].isOrdered }, segments.length);
          if (segment !== undefined) segments.push(segment);
          staged = this.#stage(++segmentCount);
        }
        arrays.free();
      }
    }
    return segments;
  }

  /** Returns the place for the rows of a segment. No two have the same name: rows would be added to a file that is left. */
  #stage(number: number): StagedRows {
    const { fs, clock, scratch } = this.#deps;
    const name = `${this.#name('rows')}_${number}`;
    const table = this.#held;
    const slices = this.#slices;
    const staged = this.#useFiles
      ? new RowsInFile({ fs, path: `${scratch}/${name}.staged`, slices }, table, this.#order !== undefined)
      : new RowsInTable(new EngineTable(this.#connection, name), this.#columns, table, clock);
    this.#staged = staged;
    return staged;
  }

  /** Publishes definitions of series that have rows and are in no file yet. */
  async writeSeries(): Promise<SeriesFile[]> {
    const { registry, table, generation } = this.#job;
    const from = registry.publishedCount;
    const to = generation.seriesCount;
    if (to <= from) return [];
    const rows = new EngineTable(this.#connection, this.#name('series'));
    this.#staged = rows;
    await rows.create(seriesColumns(table));
    await rows.fill((writer) =>
      fillSeries(writer, table, unpublishedRun(registry, from, to), () => this.#deps.clock.yield()),
    );
    const path = seriesPath(this.#folder, from, this.#unique);
    const scratch = this.#scratchPath('series');
    await this.#connection.run(copySeries(rows.name, table, scratch));
    await rows.drop();
    const published = await this.#publish(scratch, path);
    return [{ path, sidFirst: from, sidLast: to - 1, ...published }];
  }

  /**
   * Writes staged rows to a segment.
   *
   * @returns undefined if all of them were deleted.
   */
  async #writeSegment(staged: StagedRows, rows: SegmentRows, part: number): Promise<Segment | undefined> {
    const { table, generation } = this.#job;
    const hasMetrics = this.#order !== undefined;
    const source = {
      relation: staged.relation,
      version: staged.version,
      table,
      types: generation.types,
      hasMetrics,
      late: rows.isFinal ? undefined : generation.late,
      ops: this.#ops,
    };
    const scratch = this.#scratchPath(String(part));
    const copied = await this.#connection.run(copySegment(source, scratch));
    const rowCount = copied.rowsChanged;
    const bounds = await firstRow(this.#connection, segmentBounds(source));
    const [found, sidFirst, sidLast, first, last, metricFirst, metricLast] = bounds;
    const expected = rows.rowCount;
    const isWhole = Number(found) === expected && rowCount <= expected && (rowCount > 0 || this.#ops === 'dropped');
    invariant(isWhole, `flush wrote ${rowCount} of ${Number(found)} of ${expected} rows`);
    await staged.drop();
    if (rowCount === 0) {
      await this.#deps.fs.remove(scratch);
      return undefined;
    }
    await this.#deps.terms.index(table, scratch);
    const path = segmentPath(this.#folder, generation.sequenceFrom, part, this.#unique);
    const published = await this.#publish(scratch, path);
    const times = { first: timeOf(first), last: timeOf(last) };
    const late = isAppendOnly(table) ? undefined : intersection(generation.lateToSealed, times);
    return {
      path,
      schemaVersion: table.schemaVersion,
      timeFirst: times.first,
      timeLast: times.last,
      rowCount,
      sidFirst: Number(sidFirst),
      sidLast: Number(sidLast),
      sequenceFrom: generation.sequenceFrom,
      sequenceTo: generation.sequenceTo,
      hasLate: late !== undefined,
      lateFirst: late?.first ?? 0n,
      lateLast: late?.last ?? 0n,
      hasMetrics,
      metricFirst: Number(metricFirst),
      metricLast: Number(metricLast),
      hasOps: this.#ops === 'kept',
      ...published,
    };
  }

  /** Returns the times of deletions that the segments lack. A deletion of a row is late, because the row came before it. */
  deletedTimes(): Pick<CommitSegmentsRequest, 'deletedFirst' | 'deletedLast'> {
    const times = this.#ops === 'dropped' ? this.#job.generation.late : undefined;
    return { deletedFirst: times?.first, deletedLast: times?.last };
  }

  async cleanUp(): Promise<void> {
    // The commit counts, whether or not the copy can be dropped.
    await this.#staged?.drop().catch(() => undefined);
  }

  /** Removes published files, so that retries do not fill a full disk further. */
  async removeFiles(): Promise<void> {
    for (const path of this.#published) await this.#deps.store.remove(path).catch(() => undefined);
  }

  async #publish(scratch: string, path: string): Promise<PublishedFile> {
    this.#published.push(path);
    return this.#deps.store.publish(scratch, path);
  }

  #name(kind: string): string {
    return `${kind}_${this.#job.regionId}_${this.#unique}`;
  }

  #scratchPath(part: string): string {
    return `${this.#deps.scratch}/${this.#job.regionId}-${this.#unique}-${part}.parquet`;
  }
}
