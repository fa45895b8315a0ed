import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { checkCall, unlessAborted, type Call } from '#shared/contracts/call';
import type { Segment, Table } from '#shared/contracts/gen/common';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';

import type { FileColumns, SegmentFiles } from '../snapshot/segment-files.js';
import type { SelectedSeries } from '../series/selected-series.js';
import type { SampleSlice, SampleColumns } from './sample-slice.js';
import { sliceBytes, decodeRows, type SlicesBySid } from './segment-rows.js';
import { segmentQuery, type MillisRange, type RowSelection, type SidRange } from './segment-query.js';

/** Collaborators and limit of a `SegmentSamples`. */
export interface SegmentSamplesDeps {
  readonly files: SegmentFiles;
  readonly connection: DuckDBConnection;
  readonly clock: Clock;
  /** Memory limit of decoded samples of all tables, in bytes. */
  readonly limitBytes: number;
}

/** A request for the rows of series of one segment. */
export interface SegmentRequest extends SelectedSeries {
  readonly segment: Segment;
  readonly range: MillisRange;
  /** Whether the range covers the whole segment. */
  readonly isWhole: boolean;
}

/** Cached rows of a series of a segment, in `[fromMs, toMs]`. */
interface CachedSlice {
  readonly fromMs: number;
  readonly toMs: number;
  /** Undefined: the series has no rows there. */
  readonly run: SampleSlice | undefined;
  readonly load: SegmentLoad;
}

/** A request for rows that are not cached. */
interface MissingRows extends SegmentRequest {
  /** Key of the segment and columns in the cache. */
  readonly key: string;
  /** Positions of the series to read. */
  readonly positions: readonly number[];
  readonly found: (SampleSlice | undefined)[];
}

/** Segments that one engine query reads. */
interface Batch {
  readonly columns: FileColumns;
  readonly segments: readonly MissingRows[];
}

/** Rows that one engine query read from one segment: the unit of eviction. */
interface SegmentLoad {
  readonly bytes: number;
  /** Key of the segment and columns in the cache. */
  readonly key: string;
  readonly sids: readonly number[];
  usedAt: number;
}

/** Limits of one engine query, which opens all its files and holds its rows in memory twice. */
const BATCH_FILES = 64;
const BATCH_ROWS = 4 * 1024 * 1024;
const BYTES_PER_SERIES = 100;
/** Largest number of series in a load. */
const LOAD_SERIES = 4096;
/** Costs of looking up a cached series and of adding one, in units of reading one number. */
const LOOKUP_WORK = 8;
const KEEP_WORK = 64;
/** Memory of a load without its series. */
const BYTES_PER_LOAD = 500;

/** Cache of decoded samples of segments by series. Evicts the least recently used rows. */
export class SegmentSamples {
  readonly #deps: SegmentSamplesDeps;
  /** By file and columns, then by series. No inner map is empty, because segments come and go. */
  readonly #known = new Map<string, Map<number, CachedSlice>>();
  readonly #loads = new Set<SegmentLoad>();
  #bytes = 0;
  #clock = 0;
  /** End of the last read: the connection runs one query at a time. */
  #reads: Promise<unknown> = Promise.resolve();

  constructor(deps: SegmentSamplesDeps) {
    this.#deps = deps;
  }

  /** Number of pairs of a file and columns with cached rows. */
  get keptCount(): number {
    return this.#known.size;
  }

  /**
   * Returns the rows of series of segments, at least those in the requested ranges, in the order of the requests and of
   * their series.
   *
   * @param requests for segments that were checked
   */
  async read(
    table: Table,
    requests: readonly SegmentRequest[],
    columns: SampleColumns,
    { call, slot }: { readonly call: Call; readonly slot: AdmissionSlot },
  ): Promise<(SampleSlice | undefined)[][]> {
    const now = ++this.#clock;
    const slices = new Slices(this.#deps.clock, { check: () => checkCall(call) });
    const found = requests.map(({ sids }) => new Array<SampleSlice | undefined>(sids.length));
    const rowsMax = requests.reduce((sum, { segment }) => sum + segment.rowCount, 0);
    const missing: MissingRows[] = [];
    for (const [i, it] of requests.entries()) {
      const key = `${it.segment.path} ${columns.value} ${columns.histogram ?? ''} ${columns.start ?? ''}`;
      const positions = gaps(it, this.#known.get(key) ?? NOTHING, found[i], now);
      const share = (it.share * it.segment.rowCount) / rowsMax;
      if (positions.length > 0) missing.push({ ...it, share, key, positions, found: found[i] });
      if (slices.isOver(it.sids.length * LOOKUP_WORK)) await slices.yield();
    }
    const { files } = this.#deps;
    const missingFiles = missing.map(({ segment }) => segment);
    for (const batch of await files.readChecked(missingFiles, () => this.#batchesOf(missing), call.signal)) {
      await this.#exclusively(call, slot, async () => {
        const batchFiles = batch.segments.map(({ segment }) => segment);
        const read = await files.readChecked(batchFiles, () => this.#read(table, batch, columns, call), call.signal);
        for (const [i, bySid] of read.entries()) await this.#keepAll(batch.segments[i], bySid, now, slices);
      });
      checkCall(call);
    }
    return found;
  }

  /** Runs a read after all earlier reads. Releases the admission slot while waiting for them. */
  async #exclusively(call: Call, slot: AdmissionSlot, read: () => Promise<void>): Promise<void> {
    const before = this.#reads;
    let end = (): void => undefined;
    const own = new Promise<void>((resolve) => (end = resolve));
    this.#reads = before.then(() => own);
    try {
      await slot.releaseWhile(() => unlessAborted(call, before));
      await read();
    } finally {
      end();
    }
  }

  /** Groups segments for engine queries: segments of a batch have the same columns, and a limited number of rows. */
  async #batchesOf(missing: readonly MissingRows[]): Promise<Batch[]> {
    const batches: Batch[] = [];
    const open = new Map<FileColumns, { segments: MissingRows[]; rowsMax: number }>();
    for (const one of missing) {
      const columns = await this.#deps.files.columnsOf(one.segment);
      const { rowCount } = one.segment;
      let batch = open.get(columns);
      if (batch === undefined || batch.rowsMax + rowCount > BATCH_ROWS || batch.segments.length === BATCH_FILES) {
        batch = { segments: [], rowsMax: 0 };
        open.set(columns, batch);
        batches.push({ columns, segments: batch.segments });
      }
      batch.segments.push(one);
      batch.rowsMax += rowCount;
    }
    return batches;
  }

  /** Caches the rows in groups of series, which are evicted separately. */
  async #keepAll(segment: MissingRows, bySid: SlicesBySid, now: number, slices: Slices): Promise<void> {
    const { positions } = segment;
    for (let from = 0; from < positions.length; from += LOAD_SERIES) {
      const some = positions.slice(from, from + LOAD_SERIES);
      this.#keep({ ...segment, positions: some }, bySid, now);
      if (slices.isOver(some.length * KEEP_WORK)) await slices.yield();
    }
  }

  #keep({ key, positions, sids, range, found, share }: MissingRows, bySid: SlicesBySid, now: number): void {
    const runs = positions.map((at) => bySid.get(sids[at]));
    const around = BYTES_PER_LOAD + positions.length * BYTES_PER_SERIES;
    const bytes = around + sliceBytes(runs.filter((run) => run !== undefined));
    for (const [i, at] of positions.entries()) found[at] = runs[i];
    // A load that exceeds its share would evict the other rows of the same query.
    if (bytes > this.#deps.limitBytes * share * (positions.length / sids.length)) return;
    const load: SegmentLoad = { bytes, key, sids: positions.map((at) => sids[at]), usedAt: now };
    // Looked up here, because the map may have been removed during the read.
    const known = this.#known.get(key) ?? new Map<number, CachedSlice>();
    this.#known.set(key, known);
    for (const [i, at] of positions.entries()) {
      known.set(sids[at], { ...range, run: runs[i], load });
    }
    this.#add(load);
  }

  #add(load: SegmentLoad): void {
    this.#loads.add(load);
    this.#bytes += load.bytes;
    if (this.#bytes <= this.#deps.limitBytes) return;
    const oldest = [...this.#loads].sort((a, b) => a.usedAt - b.usedAt);
    for (const it of oldest) {
      if (this.#bytes <= this.#deps.limitBytes / 2 || it === load) return;
      this.#evict(it);
    }
  }

  #evict(load: SegmentLoad): void {
    const { bytes, key, sids } = load;
    this.#loads.delete(load);
    this.#bytes -= bytes;
    const known = this.#known.get(key);
    if (known === undefined) return;
    for (const sid of sids) if (known.get(sid)?.load === load) known.delete(sid);
    if (known.size === 0) this.#known.delete(key);
  }

  async #read(
    table: Table,
    { columns: names, segments }: Batch,
    columns: SampleColumns,
    call: Call,
  ): Promise<SlicesBySid[]> {
    const check = (): void => checkCall(call);
    check();
    const { files, connection, clock } = this.#deps;
    const isEarly = segments.some(({ segment }) => segment.timeFirst < 0n);
    const query = segmentQuery(table, names, columns, isEarly);
    const paths = segments.map(({ segment }) => files.absolute(segment.path));
    const sql = query.sql({ paths, ...conditionsOf(segments) });
    const result = await connection.run(sql);
    return decodeRows(result, query, paths.length, new Slices(clock, { check }));
  }
}

const NOTHING: ReadonlyMap<number, CachedSlice> = new Map();

/** Fills `found` from the cache. @returns the positions of the series that must be read. */
function gaps(
  { sids, range }: SegmentRequest,
  known: ReadonlyMap<number, CachedSlice>,
  found: (SampleSlice | undefined)[],
  now: number,
): number[] {
  const positions: number[] = [];
  for (const [i, sid] of sids.entries()) {
    const it = known.get(sid);
    if (it === undefined || it.fromMs > range.fromMs || it.toMs < range.toMs) {
      positions.push(i);
      continue;
    }
    it.load.usedAt = now;
    found[i] = it.run;
  }
  return positions;
}

/** Returns conditions that cover the missing rows of all segments. */
function conditionsOf(segments: readonly MissingRows[]): Omit<RowSelection, 'paths'> {
  const range = { fromMs: Infinity, toMs: -Infinity };
  for (const one of segments) {
    range.fromMs = Math.min(range.fromMs, one.range.fromMs);
    range.toMs = Math.max(range.toMs, one.range.toMs);
  }
  const isNumbered = segments.every(({ metrics }) => metrics !== undefined);
  const isMajority = segments.every((one) => one.isMajority && one.positions.length === one.sids.length);
  const isPart = segments.some((one) => one.isPart);
  return {
    sids: isNumbered && isMajority ? (isPart ? ends(segments) : undefined) : distinct(segments, ({ sids }) => sids),
    metrics: isNumbered ? distinct(segments, ({ metrics }) => metrics) : undefined,
    range: segments.every(({ isWhole }) => isWhole) ? undefined : range,
  };
}

/** Returns the range of the series numbers. */
function ends(segments: readonly MissingRows[]): SidRange {
  return {
    first: Math.min(...segments.map(({ sids }) => sids[0])),
    last: Math.max(...segments.map(({ sids }) => sids[sids.length - 1])),
  };
}

/** Returns the distinct numbers of the series to read, ascending. */
function distinct(
  segments: readonly MissingRows[],
  of: (segment: MissingRows) => Int32Array | Uint32Array | undefined,
): number[] {
  const found = new Set<number>();
  for (const one of segments) {
    const numbers = of(one);
    if (numbers !== undefined) for (const at of one.positions) found.add(numbers[at]);
  }
  return [...Uint32Array.from(found).sort()];
}
