import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import type { Segment, Table } from '#shared/contracts/gen/common';
import type { DuckDBConnection, DuckDBInstance } from '#shared/duckdb/engine';
import { firstRow, timeOf } from '#shared/duckdb/read';
import { invariant } from '#shared/errors/invariant';
import type { FileSystem } from '#shared/fs/file-system';
import { isAppendOnly } from '#shared/schema/table-schema';
import type { LocalStore } from '#shared/segments/local-store';
import { regionFolder, segmentPath } from '#shared/segments/segment-name';

import { copyRows, LEVEL } from '../flush/segment-sql.js';
import { bandsOf, boundsOf, keyRanges, mergedRows, type KeyRange, type MergeSource } from './merge-sql.js';
import type { Run } from './runs.js';

export interface MergeDeps {
  readonly engine: DuckDBInstance;
  readonly store: LocalStore;
  readonly fs: FileSystem;
  /** Folder on the store's disk for files under way. */
  readonly scratch: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Rows of a segment, about. */
  readonly pieceRows: number;
}

export interface MergeJob {
  readonly table: Table;
  readonly regionId: number;
  /** Neighbours, oldest first. */
  readonly runs: readonly Run[];
  /** Whether an older segment has rows of the same times. */
  readonly hasOlder: boolean;
  /** Awaited behind each file; throws if the merge is not wanted any more. @param tookMs what the file took. */
  readonly rest: (tookMs: number) => Promise<void>;
}

/**
 * Writes the rows of some runs as new segments, each key once and sorted, series by series, so that memory is bounded by
 * `pieceRows`. The segments are published, and nobody knows them yet.
 *
 * @throws if that fails; no file is left then. `storage_unavailable` if one that is read is damaged.
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

class Merge {
  readonly #job: MergeJob;
  readonly #deps: MergeDeps;
  readonly #connection: DuckDBConnection;
  readonly #source: MergeSource;
  readonly #unique: string;
  readonly #published: string[] = [];

  constructor(job: MergeJob, deps: MergeDeps, connection: DuckDBConnection) {
    const { table, runs } = job;
    this.#job = job;
    this.#deps = deps;
    this.#connection = connection;
    this.#unique = Buffer.from(deps.random.bytes(6)).toString('hex');
    const hasMetrics = runs.every(({ segments }) => segments.every((segment) => segment.hasMetrics));
    this.#source = { table, runs, hasMetrics, absolute: (path) => deps.store.absolute(path) };
  }

  async write(): Promise<Segment[]> {
    const { runs, table, rest } = this.#job;
    const { clock, store, pieceRows } = this.#deps;
    // A damaged file read here would be a damaged file with a right checksum.
    for (const segment of runs.flatMap(({ segments }) => segments)) await store.verify(segment);
    const ranges = await this.#ranges(pieceRows);
    const expected = runs.reduce((sum, { rowCount }) => sum + rowCount, 0);
    const found = ranges.reduce((sum, { rowCount }) => sum + rowCount, 0);
    invariant(found === expected, `segments have ${found} rows, the manifest says ${expected}`);
    const segments: Segment[] = [];
    for (const range of ranges) {
      const startedMs = clock.monotonicMs();
      segments.push(await this.#writeRange(range, segments.length));
      await rest(clock.monotonicMs() - startedMs);
    }
    const rowCount = segments.reduce((sum, segment) => sum + segment.rowCount, 0);
    const isWhole = isAppendOnly(table) ? rowCount === expected : rowCount > 0 && rowCount <= expected;
    invariant(isWhole, `a merge of ${expected} rows gave ${rowCount}`);
    return segments;
  }

  async removeFiles(): Promise<void> {
    for (const path of this.#published) await this.#deps.store.remove(path).catch(() => undefined);
  }

  async #ranges(pieceRows: number): Promise<KeyRange[]> {
    const rows = await (await this.#connection.run(keyRanges(this.#source, pieceRows))).getRows();
    return rows.map((row) => {
      const [firstMetric, firstSid, lastMetric, lastSid, rowCount] = row.map(Number);
      const first = { metric: firstMetric, sid: firstSid };
      return { first, last: { metric: lastMetric, sid: lastSid }, rowCount };
    });
  }

  async #writeRange(range: KeyRange, part: number): Promise<Segment> {
    const { table, regionId, runs, hasOlder } = this.#job;
    const { store, fs, scratch } = this.#deps;
    const { hasMetrics } = this.#source;
    const file = `${scratch}/${regionId}-${this.#unique}-${part}.parquet`;
    let bounds: unknown[];
    try {
      await this.#connection.run(copyRows(mergedRows(this.#source, range), { table, hasMetrics, level: LEVEL }, file));
      bounds = await firstRow(this.#connection, boundsOf(this.#source, file));
    } catch (error) {
      await fs.remove(file).catch(() => undefined);
      throw error;
    }
    const [rowCount, sidFirst, sidLast, timeFirst, timeLast] = bounds;
    const { sequenceFrom } = runs[0];
    const path = segmentPath(regionFolder(table.databaseId, table.tableId, regionId), sequenceFrom, part, this.#unique);
    this.#published.push(path);
    const published = await store.publish(file, path);
    const bands = hasOlder ? bandsOf(runs.flatMap(({ segments }) => segments)) : [];
    return {
      path,
      schemaVersion: table.schemaVersion,
      timeFirst: timeOf(timeFirst),
      timeLast: timeOf(timeLast),
      rowCount: Number(rowCount),
      sidFirst: Number(sidFirst),
      sidLast: Number(sidLast),
      sequenceFrom,
      sequenceTo: runs[runs.length - 1].sequenceTo,
      hasLate: bands.length > 0,
      lateFirst: bands.reduce((least, { first }) => (first < least ? first : least), bands[0]?.first ?? 0n),
      lateLast: bands.reduce((greatest, { last }) => (last > greatest ? last : greatest), bands[0]?.last ?? 0n),
      hasMetrics,
      metricFirst: hasMetrics ? range.first.metric : 0,
      metricLast: hasMetrics ? range.last.metric : 0,
      ...published,
    };
  }
}
