import type { ColumnValues } from './decode-chunk.js';
import { bytesOf, type ColumnCache, type ColumnRequest, type GroupColumns, type SegmentFile } from './column-cache.js';
import type { SegmentFooter } from './footer.js';
import type { OpenSegments } from './open-segments.js';
import { ScratchArrays } from './scratch-arrays.js';

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
}

/** Part of the memory for values that one query may take; what exceeds it is not kept, so that other queries find theirs. */
const SHARE_MAX = 0.25;

/** Reads columns of segments for one query. */
export class QueryColumns {
  /** What is kept for other queries. */
  readonly cache: ColumnCache;
  readonly #open: OpenSegments;
  readonly #scratch = new ScratchArrays();
  readonly #counts = { knownGroups: 0, readGroups: 0, decodedBytes: 0 };
  #bytesLeft: number;

  constructor({ cache, open }: ColumnSources) {
    this.cache = cache;
    this.#open = open;
    this.#bytesLeft = cache.valueBytes * SHARE_MAX;
  }

  /** What was read so far. */
  get counts(): ColumnCounts {
    return this.#counts;
  }

  /** Keeps values of unflushed rows (`ColumnCache.keep`), unless this query keeps too many. */
  keep(key: string, values: ColumnValues): void {
    if (this.#bytesLeft <= 0) return;
    this.#bytesLeft -= bytesOf(values);
    this.cache.keep(key, values);
  }

  /** Adds what other threads read. */
  add({ knownGroups, readGroups, decodedBytes }: ColumnCounts): void {
    this.#counts.knownGroups += knownGroups;
    this.#counts.readGroups += readGroups;
    this.#counts.decodedBytes += decodedBytes;
  }

  /** Returns the footer of a file. @throws `UnknownLayout` if the engine must read the file. */
  async footer(file: SegmentFile): Promise<SegmentFooter> {
    return this.cache.knownFooter(file) ?? this.#open.use(file, ({ footer }) => Promise.resolve(footer));
  }

  /** Reads row groups; they are valid until the next call. @throws `UnknownLayout` if the engine must read the file. */
  async groups(request: ColumnRequest, groups: readonly number[]): Promise<GroupColumns[]> {
    const known = this.cache.known(request, groups);
    if (known !== undefined) {
      this.#counts.knownGroups += groups.length;
      return known;
    }
    const isKept = this.#bytesLeft > 0;
    this.#scratch.reset();
    const found = await this.#open.use(request.file, (segment) => {
      return this.cache.load(segment, request, groups, { scratch: this.#scratch, isKept });
    });
    const bytes = found
      .flatMap(({ fields }) => fields)
      .reduce((sum, it) => sum + (it === undefined ? 0 : bytesOf(it)), 0);
    this.#counts.readGroups += groups.length;
    this.#counts.decodedBytes += bytes;
    if (isKept) this.#bytesLeft -= bytes;
    return found;
  }
}
