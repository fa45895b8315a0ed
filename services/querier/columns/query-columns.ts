import type { ColumnValues } from './decode-chunk.js';
import { bytesOf, type ColumnCache, type ColumnRequest, type SegmentFile } from './column-cache.js';
import type { SegmentFooter } from './footer.js';
import type { OpenSegments } from './open-segments.js';
import type { GroupColumns } from './runs.js';
import { ScratchArrays } from './scratch-arrays.js';
import type { SharedProgress } from './shared-progress.js';

/** What columns of segments are read with. */
export interface ColumnSources {
  readonly cache: ColumnCache;
  readonly open: OpenSegments;
}

/** What a query read of segments. */
export interface ColumnCounts {
  /** Row groups whose columns were all in memory. */
  readonly knownGroups: number;
  /** Row groups that were read from segments. */
  readonly readGroups: number;
  /** Size of the decoded columns of these, in bytes. */
  readonly decodedBytes: number;
  /** Rows of row groups, and unflushed rows. A row is counted each time that it is read. */
  readonly rows: number;
  /** Size of the rows of row groups in their segments, in bytes. */
  readonly segmentBytes: number;
}

/** Part of the memory for columns of unflushed rows that one query may take. */
const FRESH_SHARE_MAX = 0.5;

/** Reads columns of segments for one query. */
export class QueryColumns {
  /** What is kept for other queries. */
  readonly cache: ColumnCache;
  readonly #open: OpenSegments;
  readonly #scratch = new ScratchArrays();
  readonly #counts = { knownGroups: 0, readGroups: 0, decodedBytes: 0, rows: 0, segmentBytes: 0 };
  /** Where a worker thread publishes what it has read. */
  readonly #shared: SharedProgress | undefined;
  #bytesLeft: number;
  /** What has been counted: some row groups are read several times. */
  readonly #counted = new WeakSet<ColumnValues>();
  #freshLeft: number;

  /** Work of other threads that runs; undefined: none does. */
  scan: { readonly progress: SharedProgress; readonly rows: number } | undefined;

  /** @param valueShare part of its part of the memory for values that it may use */
  constructor({ cache, open }: ColumnSources, shared?: SharedProgress, valueShare = 1) {
    this.cache = cache;
    this.#shared = shared;
    this.#open = open;
    this.#bytesLeft = cache.valueBytesOfQuery * valueShare;
    this.#freshLeft = cache.freshBytes * FRESH_SHARE_MAX;
  }

  /** What was read so far. */
  get counts(): ColumnCounts {
    return this.#counts;
  }

  /**
   * Counts rows that are read.
   *
   * @param bytes their size in a segment
   * @param done how much of the rows of the segments that a thread looks at is done with them: it leaves out row groups
   */
  addRows(rows: number, bytes: number, done = 0): void {
    this.#counts.rows += rows;
    this.#counts.segmentBytes += bytes;
    this.#shared?.add(rows, bytes, done);
  }

  /** Keeps values of unflushed rows (`ColumnCache.keep`), unless this query keeps too many. */
  keep(key: string, values: ColumnValues): void {
    if (this.#freshLeft <= 0) return;
    this.#freshLeft -= bytesOf(values);
    this.cache.keep(key, values);
  }

  /** Adds what other threads read. */
  add({ knownGroups, readGroups, decodedBytes, rows, segmentBytes }: ColumnCounts): void {
    this.#counts.knownGroups += knownGroups;
    this.#counts.readGroups += readGroups;
    this.#counts.decodedBytes += decodedBytes;
    this.#counts.rows += rows;
    this.#counts.segmentBytes += segmentBytes;
  }

  /** Returns the footer of a file. @throws `UnknownLayout` if the engine must read the file. */
  async footer(file: SegmentFile): Promise<SegmentFooter> {
    return this.cache.knownFooter(file) ?? this.#open.use(file, ({ footer }) => Promise.resolve(footer));
  }

  /**
   * Returns the last rows of the runs of row groups, which are far fewer than all rows: they are kept, and the row groups
   * that they were taken from are not.
   *
   * @throws `UnknownLayout` if the engine must read the file.
   */
  async lastRows(request: ColumnRequest, groups: readonly number[]): Promise<GroupColumns[]> {
    const known = groups.map((group) => this.cache.knownLast(request, group));
    const missing = groups.filter((_, i) => known[i] === undefined);
    this.#counts.knownGroups += groups.length - missing.length;
    if (missing.length === 0) return known.flatMap((group) => group ?? []);
    const whole = this.cache.known(request, missing) ?? (await this.#loadLast(request, missing));
    const found = new Map(missing.map((group, i) => [group, this.cache.keepLast(request, group, whole[i])]));
    return groups.flatMap((group, i) => known[i] ?? found.get(group) ?? []);
  }

  async #loadLast(request: ColumnRequest, groups: readonly number[]): Promise<GroupColumns[]> {
    this.#scratch.reset();
    const found = await this.#open.use(request.file, (segment) => {
      return this.cache.load(segment, request, groups, { scratch: this.#scratch, isKept: false });
    });
    this.#counts.readGroups += groups.length;
    this.#counts.decodedBytes += decodedBytes(found);
    return found;
  }

  /** Reads row groups; they are valid until the next call. @throws `UnknownLayout` if the engine must read the file. */
  async groups(request: ColumnRequest, groups: readonly number[]): Promise<GroupColumns[]> {
    const known = this.cache.known(request, groups);
    if (known !== undefined) {
      this.#counts.knownGroups += groups.length;
      this.#count(known);
      return known;
    }
    const isKept = this.#bytesLeft >= bytesMax(request, groups);
    this.#scratch.reset();
    const found = await this.#open.use(request.file, (segment) => {
      return this.cache.load(segment, request, groups, { scratch: this.#scratch, isKept });
    });
    const bytes = decodedBytes(found);
    this.#counts.readGroups += groups.length;
    this.#counts.decodedBytes += bytes;
    if (isKept) this.#count(found);
    return found;
  }

  /**
   * Counts what the query uses of the memory for values. If what was known did not count, a query that needs more than its part
   * would remove what it reads first, each time.
   */
  #count(groups: readonly GroupColumns[]): void {
    for (const { fields } of groups) {
      for (const values of fields) {
        if (values === undefined || this.#counted.has(values)) continue;
        this.#counted.add(values);
        this.#bytesLeft -= bytesOf(values);
      }
    }
  }
}

/** Returns the most memory that row groups can take. */
function bytesMax({ footer, fieldIds }: ColumnRequest, groups: readonly number[]): number {
  let rows = 0;
  for (const group of groups) rows += footer.rowCounts[group];
  return rows * fieldIds.length * Float64Array.BYTES_PER_ELEMENT;
}

function decodedBytes(groups: readonly GroupColumns[]): number {
  let bytes = 0;
  for (const { fields } of groups) {
    for (const values of fields) if (values !== undefined) bytes += bytesOf(values);
  }
  return bytes;
}
