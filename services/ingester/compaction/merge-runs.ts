import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import type { Column, Segment, Table } from '#shared/contracts/gen/common';
import type { DuckDBConnection, DuckDBInstance } from '#shared/duckdb/engine';
import { isOutOfMemory } from '#shared/duckdb/errors';
import { firstRow, timeOf } from '#shared/duckdb/read';
import { invariant } from '#shared/errors/invariant';
import type { FileSystem } from '#shared/fs/file-system';
import { isAppendOnly } from '#shared/schema/table-schema';
import { around, intersection } from '#shared/segments/bands';
import type { LocalStore } from '#shared/segments/local-store';
import { regionFolder, segmentPath } from '#shared/segments/segment-name';

import { compressionLevel, copyRows, keysOf } from '../flush/segment-sql.js';
import type { TermIndexer } from '../term-index/term-indexer.js';
import { bandsOf, boundsOf, keyRanges, mergedRows, valuesOf, type KeyRange, type MergeSource } from './merge-sql.js';
import type { SortedRun } from './runs.js';
import { createDivisors, DROP_DIVISORS, scalableFields, scaledRows, scaledShares } from './scaled-sql.js';

/** What merges read from and write to. */
export interface MergeDeps {
  readonly engine: DuckDBInstance;
  readonly store: LocalStore;
  readonly fs: FileSystem;
  /** Folder on the store's disk for unfinished files. */
  readonly scratch: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Approximate rows of a segment. */
  readonly segmentRows: number;
  /** Indexes the texts of new segments. */
  readonly terms: TermIndexer;
}

/** A merge of adjacent runs. */
export interface MergeJob {
  readonly table: Table;
  readonly regionId: number;
  /** Adjacent in version order, oldest first. */
  readonly runs: readonly SortedRun[];
  /** Whether an older segment has rows of the same times. */
  readonly hasOlder: boolean;
  /**
   * Awaited after each file; throws to abort the merge.
   * @param tookMs time that the file took.
   */
  readonly rest: (tookMs: number) => Promise<void>;
}

/**
 * Writes the rows of some runs as new segments, each key once and sorted, range by range of series, so that memory is
 * bounded by `segmentRows`. The segments are published to the store, but in no manifest yet.
 *
 * @throws if that fails, after removing its files; `storage_unavailable` if an input is damaged.
 */
export async function mergeRuns(job: MergeJob, deps: MergeDeps): Promise<Segment[]> {
  const connection = await deps.engine.connect();
  const merge = new Merge(job, deps, connection);
  try {
    return await merge.write();
  } catch (error) {
    await merge.removeFiles();
    throw error;
  } finally {
    connection.closeSync();
  }
}

/** Merged rows have the types of the table. */
const NO_TYPES: ReadonlyMap<number, string> = new Map();

class Merge {
  readonly #job: MergeJob;
  readonly #deps: MergeDeps;
  readonly #connection: DuckDBConnection;
  readonly #source: MergeSource;
  readonly #unique: string;
  readonly #published: string[] = [];

  constructor(job: MergeJob, deps: MergeDeps, connection: DuckDBConnection) {
    const { table, runs, hasOlder } = job;
    this.#job = job;
    this.#deps = deps;
    this.#connection = connection;
    this.#unique = Buffer.from(deps.random.bytes(6)).toString('hex');
    const hasMetrics = runs.every(({ segments }) => segments.every((segment) => segment.hasMetrics));
    const hasOps = runs.some(({ segments }) => segments.some((segment) => segment.hasOps));
    const ops = !hasOps ? 'none' : hasOlder ? 'kept' : 'dropped';
    this.#source = { table, runs, hasMetrics, ops, absolute: (path) => deps.store.absolute(path) };
  }

  async write(): Promise<Segment[]> {
    const { runs, table, rest } = this.#job;
    const { clock, store, segmentRows } = this.#deps;
    // Merging a damaged file would produce damaged rows with a valid checksum.
    for (const segment of runs.flatMap(({ segments }) => segments)) await store.verify(segment);
    const ranges = await this.#ranges(segmentRows);
    const expected = runs.reduce((sum, { rowCount }) => sum + rowCount, 0);
    const found = ranges.reduce((sum, { rowCount }) => sum + rowCount, 0);
    invariant(found === expected, `segments have ${found} rows, the manifest says ${expected}`);
    const segments: Segment[] = [];
    for (const range of ranges) {
      const startedMs = clock.monotonicMs();
      const segment = await this.#writeRange(range, segments.length);
      if (segment !== undefined) segments.push(segment);
      await rest(clock.monotonicMs() - startedMs);
    }
    const rowCount = segments.reduce((sum, segment) => sum + segment.rowCount, 0);
    const mayBeNone = this.#source.ops === 'dropped';
    const keepsAll = isAppendOnly(table) && !mayBeNone;
    const isWhole = keepsAll ? rowCount === expected : rowCount <= expected && (rowCount > 0 || mayBeNone);
    invariant(isWhole, `a merge of ${expected} rows gave ${rowCount}`);
    return segments;
  }

  async removeFiles(): Promise<void> {
    for (const path of this.#published) await this.#deps.store.remove(path).catch(() => undefined);
  }

  async #ranges(segmentRows: number): Promise<KeyRange[]> {
    const rows = await (await this.#connection.run(keyRanges(this.#source, segmentRows))).getRows();
    return rows.map((row) => {
      const [firstMetric, firstSid, lastMetric, lastSid, rowCount] = row.map(Number);
      const first = { metric: firstMetric, sid: firstSid };
      return { first, last: { metric: lastMetric, sid: lastSid }, rowCount };
    });
  }

  /** Writes the rows of a range to a file. @returns the fields that have scaled columns there. */
  async #writeRows(range: KeyRange, file: string): Promise<readonly Column[]> {
    const { table } = this.#source;
    const options = { ...this.#source, types: NO_TYPES, level: compressionLevel(table) };
    const keys = keysOf(this.#source);
    const rows = mergedRows(this.#source, range);
    const copy = async (scaled: readonly Column[]): Promise<readonly Column[]> => {
      await this.#connection.run(copyRows(scaledRows(rows, scaled, keys), { ...options, scaled }, file));
      return scaled;
    };
    try {
      return await copy(await this.#scaledFields(range));
    } catch (error) {
      // Smaller files are no reason to fail.
      if (!isOutOfMemory(error)) throw error;
      await this.#connection.run(DROP_DIVISORS);
      return copy([]);
    }
  }

  /** Creates the table of divisors of a range. @returns the fields that have divisors. */
  async #scaledFields(range: KeyRange): Promise<readonly Column[]> {
    const fields = scalableFields(this.#source.table);
    if (fields.length === 0) return [];
    await this.#connection.run(DROP_DIVISORS);
    await this.#connection.run(createDivisors(valuesOf(this.#source, range, fields), fields));
    const shares = await firstRow(this.#connection, scaledShares(fields));
    return fields.filter((_, i) => shares[i] === true);
  }

  /** @returns undefined if all rows of the range are deleted. */
  async #writeRange(range: KeyRange, part: number): Promise<Segment | undefined> {
    const { table, regionId, runs, hasOlder } = this.#job;
    const { store, fs, scratch } = this.#deps;
    const { hasMetrics, ops } = this.#source;
    const file = `${scratch}/${regionId}-${this.#unique}-${part}.parquet`;
    let bounds: unknown[];
    let scaled: readonly Column[];
    try {
      scaled = await this.#writeRows(range, file);
      bounds = await firstRow(this.#connection, boundsOf(this.#source, file));
      if (Number(bounds[0]) > 0) await this.#deps.terms.index(table, file);
    } catch (error) {
      await fs.remove(file).catch(() => undefined);
      throw error;
    }
    const [rowCount, sidFirst, sidLast, timeFirst, timeLast] = bounds;
    if (Number(rowCount) === 0) {
      await fs.remove(file);
      return undefined;
    }
    const { sequenceFrom } = runs[0];
    const path = segmentPath(regionFolder(table.databaseId, table.tableId, regionId), sequenceFrom, part, this.#unique);
    this.#published.push(path);
    const published = await store.publish(file, path);
    const times = { first: timeOf(timeFirst), last: timeOf(timeLast) };
    const late = hasOlder ? intersection(around(bandsOf(runs.flatMap(({ segments }) => segments))), times) : undefined;
    return {
      path,
      schemaVersion: table.schemaVersion,
      timeFirst: times.first,
      timeLast: times.last,
      rowCount: Number(rowCount),
      sidFirst: Number(sidFirst),
      sidLast: Number(sidLast),
      sequenceFrom,
      sequenceTo: runs[runs.length - 1].sequenceTo,
      hasLate: late !== undefined,
      lateFirst: late?.first ?? 0n,
      lateLast: late?.last ?? 0n,
      hasMetrics,
      metricFirst: hasMetrics ? range.first.metric : 0,
      metricLast: hasMetrics ? range.last.metric : 0,
      hasOps: ops === 'kept',
      ...(scaled.length > 0 ? { hasScaled: true } : {}),
      ...published,
    };
  }
}
