import { LRUCache } from 'lru-cache';

import { SID_FIELD_ID } from '#shared/schema/segment-columns';
import type { LocalStore } from '#shared/segments/local-store';

import { UnknownLayout } from './compact-protocol.js';
import { decodeGroup, type ColumnValues, type DecodedRows } from './decode-chunk.js';
import type { SegmentFooter } from './footer.js';
import { runsOf, untimedRuns, type Runs } from './runs.js';
import { OpenSegment, type ChunkPlace } from './segment-reader.js';

/** Limits of a `ColumnCache`, in bytes. */
export interface ColumnCacheLimits {
  readonly footerBytes: number;
  readonly runBytes: number;
  /** 0: values are not kept. */
  readonly valueBytes: number;
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

/** A row group: its runs, and columns. */
export interface GroupColumns {
  readonly rowCount: number;
  readonly runs: Runs;
  /** In the order of the request; undefined: the file does not have the column. */
  readonly fields: readonly (ColumnValues | undefined)[];
}

/** Part of the memory for values that one segment of one query may take; what exceeds it is not kept. */
const SHARE_MAX = 0.25;
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
  readonly #valueBytes: number;

  constructor(store: LocalStore, { footerBytes, runBytes, valueBytes }: ColumnCacheLimits) {
    this.#store = store;
    this.#valueBytes = valueBytes;
    this.#footers = new LRUCache({ maxSize: footerBytes, sizeCalculation: ({ bytes }) => bytes });
    this.#runs = new LRUCache({ maxSize: runBytes, sizeCalculation: ({ bytes }) => bytes });
    this.#values = new LRUCache({ maxSize: Math.max(1, valueBytes), sizeCalculation: bytesOf });
  }

  /** Returns the footer of a file if it is in memory. */
  knownFooter({ path }: SegmentFile): SegmentFooter | undefined {
    return this.#footers.get(path);
  }

  /** Reads the footer of a file. @throws `UnknownLayout` if the engine must read the file. */
  async loadFooter(file: SegmentFile): Promise<SegmentFooter> {
    const segment = await this.open(file);
    await segment.close();
    return segment.footer;
  }

  /** Opens a file, which the caller closes. @throws `UnknownLayout` if the engine must read the file. */
  async open(file: SegmentFile): Promise<OpenSegment> {
    const segment = await OpenSegment.open(this.#store, file, this.#footers.get(file.path));
    this.#footers.set(file.path, segment.footer);
    return segment;
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

  /** Reads row groups, and keeps them. @throws `UnknownLayout` if the engine must read the file. */
  async load(request: ColumnRequest, groups: readonly number[]): Promise<GroupColumns[]> {
    const { file, footer, fieldIds } = request;
    const rowCount = groups.reduce((sum, group) => sum + footer.rowCounts[group], 0);
    const isKept = rowCount * fieldIds.length * 8 <= this.#valueBytes * SHARE_MAX;
    const segment = await OpenSegment.open(this.#store, file, footer);
    try {
      const found: GroupColumns[] = [];
      for (const group of groups) found.push(await this.#group(segment, request, group, isKept));
      return found;
    } finally {
      await segment.close();
    }
  }

  async #loadRuns(segment: OpenSegment, request: RunsRequest, group: number): Promise<Runs> {
    const pages = await segment.chunks(placesOfRuns(request.footer, request.timeId, group));
    return this.addRuns(request, group, pages);
  }

  async #group(
    segment: OpenSegment,
    { file, footer, timeId, fieldIds }: ColumnRequest,
    group: number,
    isKept: boolean,
  ): Promise<GroupColumns> {
    const runs =
      this.knownRuns(file, timeId, group) ?? (await this.#loadRuns(segment, { file, footer, timeId }, group));
    const fields: (ColumnValues | undefined)[] = [];
    for (const id of fieldIds) {
      const key = keyOf(file, group, id);
      const values = this.#values.get(key) ?? (await segment.read(id, group));
      if (values !== undefined && isKept) this.#values.set(key, values);
      fields.push(values);
    }
    return { rowCount: runs.rows[runs.count], runs, fields };
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

function bytesOf({ values, valid }: ColumnValues): number {
  return BYTES_PER_COLUMN + values.byteLength + (valid?.byteLength ?? 0);
}

/** Rows that a query can match; times are `[from, to)` in the unit of the time index. */
export interface GroupFilter {
  readonly timeFrom: bigint | undefined;
  readonly timeTo: bigint | undefined;
  /** Series, ascending; undefined: all. */
  readonly sids: readonly number[] | undefined;
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
      if (!sids.some((sid) => sid >= first && sid <= last)) continue;
    }
    groups.push(group);
  }
  return groups;
}
