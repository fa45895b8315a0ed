import type { Segment, SeriesFile } from '#shared/contracts/gen/common';
import type { RegionSize } from '#shared/contracts/gen/metadata';
import type { CatalogConnection } from './open.js';

interface SegmentRow {
  path: string;
  schema_version: bigint;
  time_first: bigint;
  time_last: bigint;
  row_count: bigint;
  bytes: bigint;
  sid_first: bigint;
  sid_last: bigint;
  sequence_from: bigint;
  sequence_to: bigint;
  late_first: bigint | null;
  late_last: bigint | null;
  crc32c: bigint;
  metric_first: bigint | null;
  metric_last: bigint | null;
  has_ops: bigint;
  is_merged: bigint;
  has_scaled: bigint;
}

interface RegionSizeRow {
  region_id: bigint;
  segments: bigint;
  rows: bigint;
  bytes: bigint;
}

interface SeriesFileRow {
  path: string;
  sid_first: bigint;
  sid_last: bigint;
  bytes: bigint;
  crc32c: bigint;
}

/** SQL of the manifest: `segments`, `series_files`, and the `garbage` that they become. */
export class SegmentStore {
  readonly #ofRegion;
  readonly #seriesOfRegion;
  readonly #insert;
  readonly #insertSeries;
  readonly #discardUpTo;
  readonly #deleteUpTo;
  readonly #timesUpTo;
  readonly #discard;
  readonly #delete;
  readonly #discardAll;
  readonly #discardSeries;
  readonly #garbage;
  readonly #forget;
  readonly #isGarbage;
  readonly #total;
  readonly #byDatabase;
  readonly #garbageTotal;
  readonly #regionSizes;

  constructor(connection: CatalogConnection) {
    this.#total = connection.prepare<[], { segments: bigint; rows: bigint; bytes: bigint }>(
      `SELECT count(*) AS segments, coalesce(sum(row_count), 0) AS rows,
         coalesce(sum(bytes), 0) + (SELECT coalesce(sum(bytes), 0) FROM series_files) AS bytes FROM segments`,
    );
    this.#byDatabase = connection.prepare<[number], { name: string; segments: bigint; bytes: bigint }>(
      `SELECT databases.name AS name, sum(segments) AS segments, sum(bytes) AS bytes FROM (
         SELECT region_id, count(*) AS segments, sum(bytes) AS bytes FROM segments GROUP BY region_id
         UNION ALL SELECT region_id, 0, sum(bytes) FROM series_files GROUP BY region_id
       ) JOIN regions USING (region_id) JOIN tables USING (table_id) JOIN databases USING (database_id)
       GROUP BY database_id ORDER BY bytes DESC LIMIT ?`,
    );
    this.#garbageTotal = connection.prepare<[], { files: bigint; bytes: bigint }>(
      'SELECT count(*) AS files, coalesce(sum(bytes), 0) AS bytes FROM garbage',
    );
    this.#regionSizes = connection.prepare<[number], RegionSizeRow>(
      `SELECT region_id, sum(segments) AS segments, sum(rows) AS rows, sum(bytes) AS bytes FROM (
         SELECT region_id, count(*) AS segments, sum(row_count) AS rows, sum(bytes) AS bytes
           FROM segments GROUP BY region_id
         UNION ALL SELECT region_id, 0, 0, sum(bytes) FROM series_files GROUP BY region_id
       ) JOIN regions USING (region_id) JOIN tables USING (table_id) WHERE database_id = ? GROUP BY region_id`,
    );
    this.#ofRegion = connection.prepare<[number], SegmentRow>(
      'SELECT * FROM segments WHERE region_id = ? ORDER BY sequence_to, path',
    );
    this.#seriesOfRegion = connection.prepare<[number], SeriesFileRow>(
      'SELECT * FROM series_files WHERE region_id = ? ORDER BY sid_first',
    );
    this.#insert = connection.prepare(
      `INSERT INTO segments VALUES (@path, @regionId, @schemaVersion, @timeFirst, @timeLast, @rowCount, @bytes,
       @sidFirst, @sidLast, @sequenceFrom, @sequenceTo, @lateFirst, @lateLast, @crc32c,
       @metricFirst, @metricLast, @hasOps, @isMerged, @hasScaled)`,
    );
    this.#insertSeries = connection.prepare(
      'INSERT INTO series_files VALUES (@path, @regionId, @sidFirst, @sidLast, @bytes, @crc32c)',
    );
    this.#discardUpTo = connection.prepare<[number, number, bigint]>(
      `INSERT INTO garbage SELECT path, ?, bytes FROM segments WHERE region_id = ? AND sequence_to <= ?`,
    );
    this.#timesUpTo = connection.prepare<[number, bigint], { first: bigint | null; last: bigint | null }>(
      'SELECT min(time_first) AS first, max(time_last) AS last FROM segments WHERE region_id = ? AND sequence_to <= ?',
    );
    this.#deleteUpTo = connection.prepare<[number, bigint]>(
      'DELETE FROM segments WHERE region_id = ? AND sequence_to <= ?',
    );
    this.#discard = connection.prepare<[number, string]>(
      'INSERT INTO garbage SELECT path, ?, bytes FROM segments WHERE path = ?',
    );
    this.#delete = connection.prepare<[string]>('DELETE FROM segments WHERE path = ?');
    this.#discardAll = connection.prepare<[number, number]>(
      'INSERT INTO garbage SELECT path, ?, bytes FROM segments JOIN regions USING (region_id) WHERE table_id = ?',
    );
    this.#discardSeries = connection.prepare<[number, number]>(
      'INSERT INTO garbage SELECT path, ?, bytes FROM series_files JOIN regions USING (region_id) WHERE table_id = ?',
    );
    this.#garbage = connection.prepare<[number, number], { path: string }>(
      'SELECT path FROM garbage WHERE removed_ms <= ? ORDER BY removed_ms LIMIT ?',
    );
    this.#forget = connection.prepare<[string]>('DELETE FROM garbage WHERE path = ?');
    this.#isGarbage = connection.prepare<[string]>('SELECT 1 FROM garbage WHERE path = ?');
  }

  /** Returns totals of all live files: segments, their rows, and the bytes of segments and series files. */
  total(): { readonly segments: number; readonly rows: number; readonly bytes: number } {
    const { segments, rows, bytes } = this.#total.get() ?? { segments: 0n, rows: 0n, bytes: 0n };
    return { segments: Number(segments), rows: Number(rows), bytes: Number(bytes) };
  }

  /** Returns the files that are replaced and not deleted yet, and their bytes as far as they are known. */
  garbageTotal(): { readonly files: number; readonly bytes: number } {
    const { files, bytes } = this.#garbageTotal.get() ?? { files: 0n, bytes: 0n };
    return { files: Number(files), bytes: Number(bytes) };
  }

  /** Returns the sizes of the regions of a database that have files. */
  regionSizes(databaseId: number): RegionSize[] {
    return this.#regionSizes.all(databaseId).map(({ region_id: regionId, segments, rows, bytes }) => {
      return { regionId: Number(regionId), segments: Number(segments), rows: Number(rows), bytes: Number(bytes) };
    });
  }

  /** Returns the live segments of each database and the bytes of its files, the largest first. @param max databases. */
  byDatabase(max: number): { readonly name: string; readonly segments: number; readonly bytes: number }[] {
    return this.#byDatabase.all(max).map(({ name, segments, bytes }) => {
      return { name, segments: Number(segments), bytes: Number(bytes) };
    });
  }

  ofRegion(regionId: number): Segment[] {
    return this.#ofRegion.all(regionId).map(segmentFromRow);
  }

  seriesFilesOf(regionId: number): SeriesFile[] {
    return this.#seriesOfRegion.all(regionId).map((row) => ({
      path: row.path,
      sidFirst: Number(row.sid_first),
      sidLast: Number(row.sid_last),
      bytes: Number(row.bytes),
      crc32c: Number(row.crc32c),
    }));
  }

  insert(regionId: number, segment: Segment): void {
    const { path, schemaVersion, timeFirst, timeLast, rowCount, bytes, sidFirst, sidLast } = segment;
    const { sequenceFrom, sequenceTo, crc32c } = segment;
    const lateFirst = segment.hasLate ? segment.lateFirst : null;
    const lateLast = segment.hasLate ? segment.lateLast : null;
    const metricFirst = segment.hasMetrics ? segment.metricFirst : null;
    const metricLast = segment.hasMetrics ? segment.metricLast : null;
    const ofSeries = { sidFirst, sidLast, metricFirst, metricLast };
    const bounds = { timeFirst, timeLast, ...ofSeries, sequenceFrom, sequenceTo, lateFirst, lateLast };
    const hasOps = segment.hasOps ? 1 : 0;
    const isMerged = segment.isMerged === true ? 1 : 0;
    const flags = { hasOps, isMerged, hasScaled: segment.hasScaled === true ? 1 : 0 };
    this.#insert.run({ path, regionId, schemaVersion, rowCount, bytes, crc32c, ...flags, ...bounds });
  }

  insertSeriesFile(regionId: number, file: SeriesFile): void {
    const { path, sidFirst, sidLast, bytes, crc32c } = file;
    this.#insertSeries.run({ path, regionId, sidFirst, sidLast, bytes, crc32c });
  }

  /** Returns the time range of the region's segments up to a sequence; undefined if there are none. */
  timesUpTo(regionId: number, sequence: bigint): { readonly first: bigint; readonly last: bigint } | undefined {
    const row = this.#timesUpTo.get(regionId, sequence);
    const { first = null, last = null } = row ?? {};
    return first === null || last === null ? undefined : { first, last };
  }

  /** Moves the region's segments up to a sequence to the garbage. */
  discardUpTo(regionId: number, sequence: bigint, nowMs: number): void {
    this.#discardUpTo.run(nowMs, regionId, sequence);
    this.#deleteUpTo.run(regionId, sequence);
  }

  /** Moves a segment to the garbage. */
  discard(path: string, nowMs: number): void {
    this.#discard.run(nowMs, path);
    this.#delete.run(path);
  }

  /** Moves all files of a table to the garbage; their manifest entries are deleted with the table. */
  discardTable(tableId: number, nowMs: number): void {
    this.#discardAll.run(nowMs, tableId);
    this.#discardSeries.run(nowMs, tableId);
  }

  garbage(removedBeforeMs: number, limit: number): string[] {
    return this.#garbage.all(removedBeforeMs, limit).map((row) => row.path);
  }

  /** Returns whether the file was live and may still exist. */
  isGarbage(path: string): boolean {
    return this.#isGarbage.get(path) !== undefined;
  }

  forgetGarbage(path: string): void {
    this.#forget.run(path);
  }
}

function segmentFromRow(row: SegmentRow): Segment {
  return {
    path: row.path,
    schemaVersion: Number(row.schema_version),
    timeFirst: row.time_first,
    timeLast: row.time_last,
    rowCount: Number(row.row_count),
    bytes: Number(row.bytes),
    sidFirst: Number(row.sid_first),
    sidLast: Number(row.sid_last),
    sequenceFrom: row.sequence_from,
    sequenceTo: row.sequence_to,
    hasLate: row.late_first !== null,
    lateFirst: row.late_first ?? 0n,
    lateLast: row.late_last ?? 0n,
    crc32c: Number(row.crc32c),
    hasMetrics: row.metric_first !== null,
    metricFirst: Number(row.metric_first ?? 0),
    metricLast: Number(row.metric_last ?? 0),
    hasOps: row.has_ops !== 0n,
    ...(row.is_merged === 0n ? {} : { isMerged: true }),
    ...(row.has_scaled === 0n ? {} : { hasScaled: true }),
  };
}
