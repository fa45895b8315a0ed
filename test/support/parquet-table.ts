import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, type ParquetParsers } from 'hyparquet';
import { DEFAULT_PARSERS } from 'hyparquet/src/convert.js';
import { compressors } from 'hyparquet-compressors';

import { invariant } from '#shared/errors/invariant';

/** Field IDs of Almanac's own columns, from docs/formats/segment.md. */
const SID_FIELD_ID = 1_000_000_001;
const TSID_FIELD_ID = 1_000_000_002;
/** Plus the ID of a field: its scaled numbers, and their divisors. */
const SCALED_FIELD_IDS = 1_100_000_000;
const DIVISOR_FIELD_IDS = 1_200_000_000;

/** A decoded value; a time is a count in the unit of its column. */
export type ParquetCell = bigint | number | string | boolean | null;

export interface ParquetFile {
  readonly path: string;
  /** Column names by field ID. */
  readonly names: ReadonlyMap<number, string>;
  /** Cells by field ID, with scaled numbers as the values that they stand for. */
  readonly rows: readonly ReadonlyMap<number, ParquetCell>[];
}

/** A row of a table: cells by field ID, `null` if no file has one. */
export type TableRow = ReadonlyMap<number, ParquetCell>;

/** Lists the paths of all Parquet files below a data folder, ordered by name. */
export function parquetPaths(dataFolder: string): string[] {
  const store = join(dataFolder, 'store');
  return readdirSync(store, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.parquet'))
    .sort()
    .map((name) => join(store, name));
}

export function isSeriesFile(path: string): boolean {
  return basename(path).startsWith('series-');
}

/** Reads a whole file with a reader that is independent of the engine that wrote it. */
export async function readParquet(path: string): Promise<ParquetFile> {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  const names = new Map<number, string>();
  for (const { name, field_id: fieldId } of metadata.schema.slice(1)) {
    invariant(fieldId !== undefined, `column ${name} of ${path} has no field id`);
    names.set(fieldId, name);
  }
  const objects = await parquetReadObjects({ file, metadata, compressors, parsers: PLAIN_TIMES });
  const rows = objects.map((object) => {
    const cells = object as Readonly<Record<string, ParquetCell | undefined>>;
    return new Map(Array.from(names, ([fieldId, name]) => [fieldId, cells[name] ?? null]));
  });
  return { path, names, rows: rows.map(withoutScaled) };
}

function withoutScaled(row: ReadonlyMap<number, ParquetCell>): ReadonlyMap<number, ParquetCell> {
  const values = new Map<number, ParquetCell>();
  for (const [fieldId, cell] of row) {
    if (fieldId >= SCALED_FIELD_IDS) continue;
    const scaled = row.get(SCALED_FIELD_IDS + fieldId) ?? null;
    const divisor = row.get(DIVISOR_FIELD_IDS + fieldId) ?? null;
    values.set(fieldId, cell ?? (scaled === null ? null : Number(scaled) / Number(divisor)));
  }
  return values;
}

/** Parsers that return times as integers, without loss of precision. */
const PLAIN_TIMES: ParquetParsers = {
  ...DEFAULT_PARSERS,
  timestampFromMilliseconds: (count) => count,
  timestampFromMicroseconds: (count) => count,
  timestampFromNanoseconds: (count) => count,
};

/**
 * Returns the rows of a table, merged as docs/formats/segment.md describes: segments in the order of their names, which is
 * that of their sequences; columns by field ID; of rows with equal (series, time) the newest value that is not null.
 *
 * @param timeId field ID of the time index.
 */
export function joinTable(files: readonly ParquetFile[], timeId: number): TableRow[] {
  const series = new Map<ParquetCell, ReadonlyMap<number, ParquetCell>>();
  for (const { rows } of files.filter(({ path }) => isSeriesFile(path))) {
    for (const row of rows) series.set(row.get(SID_FIELD_ID) ?? null, row);
  }
  const merged = new Map<string, Map<number, ParquetCell>>();
  for (const { rows } of files.filter(({ path }) => !isSeriesFile(path))) {
    for (const row of rows) {
      const sid = row.get(SID_FIELD_ID) ?? null;
      const tags = series.get(sid);
      invariant(tags !== undefined, `series ${String(sid)} is in no series file`);
      const key = `${String(sid)} ${String(row.get(timeId))}`;
      const target = merged.get(key) ?? new Map(tags);
      for (const [fieldId, cell] of row) if (cell !== null || !target.has(fieldId)) target.set(fieldId, cell);
      merged.set(key, target);
    }
  }
  for (const row of merged.values()) for (const own of [SID_FIELD_ID, TSID_FIELD_ID]) row.delete(own);
  return [...merged.values()];
}

/** Reports whether rows are strictly ascending by series and time. */
export function isSortedSegment({ rows }: ParquetFile, timeId: number): boolean {
  return rows.every((row, i) => {
    if (i === 0) return true;
    const [sid, sidBefore] = [row, rows[i - 1]].map((it) => Number(it.get(SID_FIELD_ID)));
    const [time, timeBefore] = [row, rows[i - 1]].map((it) => it.get(timeId) as bigint);
    return sid > sidBefore || (sid === sidBefore && time > timeBefore);
  });
}
