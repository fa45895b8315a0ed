import { LRUCache } from 'lru-cache';

import { SID_FIELD_ID } from '#shared/schema/segment-columns';
import type { LocalStore } from '#shared/segments/local-store';

import { UnknownLayout } from '#shared/parquet/compact-protocol';
import { decodeGroup, type ColumnValues, type DecodedRows } from './decode-chunk.js';
import type { SegmentFooter } from './footer.js';
import { asGroup, lastRowsOf, type LastRows } from './last-rows.js';
import { runsOf, untimedRuns, type GroupColumns, type Runs } from './runs.js';
import type { ScratchArrays } from './scratch-arrays.js';
import { decodeColumn, OpenSegment, placesOf, type ChunkPlace } from './segment-reader.js';

/** Limits of a `ColumnCache`, in bytes. */
export interface ColumnCacheLimits {
  readonly footerBytes: number;
  readonly runBytes: number;
  /** 0: values are not kept. */
  readonly valueBytes: number;
  /** Part of these that one query may use: what exceeds it is not kept, so that other queries find theirs. Default: all. */
  readonly valueBytesOfQuery?: number;
  /** For the last rows of runs; undefined: they are not kept. */
  readonly lastBytes?: number;
  /** For runs and values of unflushed rows; undefined: they are not kept. */
  readonly freshBytes?: number;
}

/** A file that was checked, as its manifest lists it. */
export interface SegmentFile {
  readonly path: string;
  readonly bytes: number;
}

/** A segment whose runs are read. */
export interface RunsRequest {
  readonly file: SegmentFile;
  readonly footer: SegmentFooter;
  /** Column ID of the time index. */
  readonly timeId: number;
}

/** What is read of a segment. */
export interface ColumnRequest extends RunsRequest {
  /** Column IDs of fields. */
  readonly fieldIds: readonly number[];
}

/** Memory of an array without its values, and of a key. */
const BYTES_PER_COLUMN = 300;

/**
 * Keeps footers, runs and decoded columns of segments in memory, those that were used last within each limit. Files are
 * immutable and never named again, so an entry stays right.
 */
export class ColumnCache {
  readonly #store: LocalStore;
  readonly #footers: LRUCache<string, SegmentFooter>;
  readonly #runs: LRUCache<string, Runs>;
  readonly #values: LRUCache<string, ColumnValues>;
  readonly #last: LRUCache<string, LastRows>;
  /** Runs and values of unflushed rows. */
  readonly #fresh: LRUCache<string, Runs | ColumnValues>;
  /** Memory for values that one query may use, in bytes. */
  readonly valueBytesOfQuery: number;
  /** Memory for last rows, in bytes. */
  readonly lastBytes: number;
  /** Memory for runs and values of unflushed rows, in bytes. */
  readonly freshBytes: number;

  constructor(
    store: LocalStore,
    {
      footerBytes,
      runBytes,
      valueBytes,
      valueBytesOfQuery = valueBytes,
      lastBytes = 0,
      freshBytes = 0,
    }: ColumnCacheLimits,
  ) {
    this.#store = store;
    this.valueBytesOfQuery = valueBytesOfQuery;
    this.lastBytes = lastBytes;
    this.freshBytes = freshBytes;
    this.#fresh = new LRUCache({
      maxSize: Math.max(1, freshBytes),
      sizeCalculation: (it) => ('values' in it ? bytesOf(it) : it.bytes),
    });
    this.#footers = new LRUCache({ maxSize: footerBytes, sizeCalculation: ({ bytes }) => bytes });
    this.#runs = new LRUCache({ maxSize: runBytes, sizeCalculation: ({ bytes }) => bytes });
    this.#values = new LRUCache({ maxSize: Math.max(1, valueBytes), sizeCalculation: bytesOf });
    this.#last = new LRUCache({ maxSize: Math.max(1, lastBytes), sizeCalculation: ({ bytes }) => bytes });
  }

  /** Returns the footer of a file if it is in memory. */
  knownFooter({ path }: SegmentFile): SegmentFooter | undefined {
    return this.#footers.get(path);
  }

  /** Opens a file, which the caller closes. @throws `UnknownLayout` if the engine must read the file. */
  async open(file: SegmentFile): Promise<OpenSegment> {
    const segment = await OpenSegment.open(this.#store, file, this.#footers.get(file.path));
    this.#footers.set(file.path, segment.footer);
    return segment;
  }

  /** Returns values of unflushed rows that `keep` kept. */
  kept(key: string): ColumnValues | undefined {
    const found = this.#fresh.get(key);
    return found !== undefined && 'values' in found ? found : undefined;
  }

  /** Returns runs of unflushed rows that `keep` kept. */
  keptRuns(key: string): Runs | undefined {
    const found = this.#fresh.get(key);
    return found !== undefined && 'sids' in found ? found : undefined;
  }

  /** Keeps runs or values of unflushed rows until `remove`, or until others need the memory. */
  keep(key: string, rows: Runs | ColumnValues): void {
    this.#fresh.set(key, rows);
  }

  /** Removes what `keep` kept. */
  remove(key: string): void {
    this.#fresh.delete(key);
  }

  /** Returns the runs of a row group if they are in memory. */
  knownRuns(file: SegmentFile, timeId: number, group: number): Runs | undefined {
    return this.#runs.get(keyOf(file, group, timeId));
  }

  /**
   * Decodes the runs of a row group, and keeps them.
   *
   * @param pages of the columns that `placesOfRuns` returns
   * @throws `UnknownLayout` if the engine must read the file.
   */
  addRuns({ file, footer, timeId }: RunsRequest, group: number, pages: readonly Uint8Array[]): Runs {
    const runs = decodeRuns(placesOfRuns(footer, timeId, group), pages, footer.rowCounts[group]);
    this.#runs.set(keyOf(file, group, timeId), runs);
    return runs;
  }

  /** Returns row groups if all that they need is in memory. */
  known({ file, footer, timeId, fieldIds }: ColumnRequest, groups: readonly number[]): GroupColumns[] | undefined {
    const found: GroupColumns[] = [];
    for (const group of groups) {
      const runs = this.#runs.get(keyOf(file, group, timeId));
      if (runs === undefined) return undefined;
      const fields: (ColumnValues | undefined)[] = [];
      for (const id of fieldIds) {
        const values = this.#values.get(keyOf(file, group, id));
        if (values === undefined && hasColumn(footer, id)) return undefined;
        fields.push(values);
      }
      found.push({ rowCount: runs.rows[runs.count], runs, fields });
    }
    return found;
  }

  /** Returns the last rows of the runs of a row group if all that they need is in memory. */
  knownLast({ file, timeId, fieldIds }: ColumnRequest, group: number): GroupColumns | undefined {
    return asGroup(this.#last.get(keyOf(file, group, timeId)), fieldIds);
  }

  /** Keeps the last rows of the runs of a row group, and returns them. @param columns of the request */
  keepLast({ file, timeId, fieldIds }: ColumnRequest, group: number, columns: GroupColumns): GroupColumns {
    const key = keyOf(file, group, timeId);
    const last = lastRowsOf(columns, fieldIds, this.#last.get(key));
    this.#last.set(key, last);
    return asGroup(last, fieldIds) ?? columns;
  }

  /**
   * Reads row groups.
   *
   * @param scratch has the memory of pages, and of values unless these are kept
   * @param isKept whether values are kept
   * @throws `UnknownLayout` if the engine must read the file.
   */
  async load(
    segment: OpenSegment,
    request: ColumnRequest,
    groups: readonly number[],
    { scratch, isKept }: { readonly scratch: ScratchArrays; readonly isKept: boolean },
  ): Promise<GroupColumns[]> {
    const { file, footer, timeId, fieldIds } = request;
    const places: ChunkPlace[] = [];
    const planned = groups.map((group) => {
      const runs = this.#runs.get(keyOf(file, group, timeId));
      const runsAt = runs === undefined ? places.push(...placesOfRuns(footer, timeId, group)) - 2 : 0;
      const columns = fieldIds.map((id) => {
        const key = keyOf(file, group, id);
        const known = this.#values.get(key);
        const own = known === undefined ? placesOf(footer, id, group) : [];
        const from = places.push(...own) - own.length;
        return { key, known, own, from };
      });
      return { group, runs, runsAt, columns };
    });
    const pages = await segment.chunks(places, scratch);
    return planned.map(({ group, runs: known, runsAt, columns }) => {
      const runs = known ?? this.addRuns(request, group, pages.slice(runsAt, runsAt + 2));
      const fields = columns.map(({ key, known: values, own, from }) => {
        if (values !== undefined) return values;
        const part = pages.slice(from, from + own.length);
        const decoded = decodeColumn(own, part, footer.rowCounts[group], isKept ? undefined : scratch);
        if (decoded !== undefined && isKept) this.#values.set(key, decoded);
        return decoded;
      });
      return { rowCount: runs.rows[runs.count], runs, fields };
    });
  }
}

/** Returns the places of what `decodeRuns` takes. @throws `UnknownLayout` if the engine must read the file. */
export function placesOfRuns({ columns }: SegmentFooter, timeId: number, group: number): [ChunkPlace, ChunkPlace] {
  const [sids, times] = [columns.get(SID_FIELD_ID), columns.get(timeId)];
  if (sids === undefined || times === undefined) throw new UnknownLayout('rows without series or times');
  return [
    { column: sids, group },
    { column: times, group },
  ];
}

function decodeRuns([sids, times]: [ChunkPlace, ChunkPlace], pages: readonly Uint8Array[], rowCount: number): Runs {
  const rows = untimedRuns(withoutNulls(decodeGroup(pages[0], sids.column, sids.group, rowCount)), rowCount);
  return runsOf(rows, withoutNulls(decodeGroup(pages[1], times.column, times.group, rowCount)));
}

function withoutNulls(rows: DecodedRows): DecodedRows {
  if (rows.present !== undefined) throw new UnknownLayout('rows without series or times');
  return rows;
}

function hasColumn({ columns, otherIds }: SegmentFooter, id: number): boolean {
  return columns.has(id) || otherIds.has(id);
}

function keyOf({ path }: SegmentFile, group: number, id: number): string {
  return `${path} ${group} ${id}`;
}

/** Returns the memory of a column. */
export function bytesOf({ values, valid }: ColumnValues): number {
  return BYTES_PER_COLUMN + values.byteLength + (valid?.byteLength ?? 0);
}

/** Rows that a query can match; times are `[from, to)` in the unit of the time index. */
export interface GroupFilter {
  readonly timeFrom: bigint | undefined;
  readonly timeTo: bigint | undefined;
  /** Series, ascending; undefined: all. */
  readonly sids: ArrayLike<number> | undefined;
}

/** Returns the row groups that may have such rows, by the statistics of the file. */
export function groupsWith({ columns, rowCounts }: SegmentFooter, timeId: number, filter: GroupFilter): number[] {
  const times = columns.get(timeId);
  const series = columns.get(SID_FIELD_ID);
  const { timeFrom, timeTo, sids } = filter;
  const groups: number[] = [];
  for (let group = 0; group < rowCounts.length; group++) {
    if (times?.min !== undefined && times.max !== undefined) {
      if (timeFrom !== undefined && times.max[group] < timeFrom) continue;
      if (timeTo !== undefined && times.min[group] >= timeTo) continue;
    }
    if (sids !== undefined && series?.min !== undefined && series.max !== undefined) {
      const [first, last] = [Number(series.min[group]), Number(series.max[group])];
      if (!hasBetween(sids, first, last)) continue;
    }
    groups.push(group);
  }
  return groups;
}

/** Reports whether one of the ascending numbers is between others, or one of them. */
export function hasBetween(numbers: ArrayLike<number>, first: number, last: number): boolean {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numbers[middle] < first) low = middle + 1;
    else high = middle;
  }
  return low < numbers.length && numbers[low] <= last;
}
