import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { checkCall, type Call } from '#shared/contracts/call';
import type { Segment, Table } from '#shared/contracts/gen/common';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';
import { timeIndexOf } from '#shared/schema/table-schema';

import type { ColumnSources } from '../columns/query-columns.js';
import type { SelectedSeries } from '../series/selected-series.js';
import type { SegmentFiles } from '../snapshot/segment-files.js';
import { Backfills } from './backfills.js';
import { eachColumnSlice, readColumnSamples, type ColumnSelection, type SliceVisitor } from './column-samples.js';
import { EngineSamples } from './engine-samples.js';
import type { SampleSlice, SampleColumns } from './sample-slice.js';
import type { SampleCount } from './sample-source.js';
import type { MillisRange } from './segment-query.js';
import { sliceBytes, type SlicesBySid } from './segment-rows.js';

/** How a segment was read: by the querier's own decoder, or by the engine. */
export type SegmentReader = 'columns' | 'engine';

/** Collaborators and limit of a `SegmentSamples`. */
export interface SegmentSamplesDeps {
  readonly files: SegmentFiles;
  /** Footers and runs of segments. */
  readonly columns: ColumnSources;
  /** Reads segments that the querier cannot decode itself. */
  readonly connection: DuckDBConnection;
  readonly clock: Clock;
  /** Called for each segment that was read. */
  readonly segmentRead: (reader: SegmentReader) => void;
  /** Memory limit of decoded samples of all tables, in bytes. */
  readonly limitBytes: () => number;
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

/** Rows that were read together from one segment: the unit of eviction. */
interface SegmentLoad {
  readonly bytes: number;
  /** Key of the segment and columns in the cache. */
  readonly key: string;
  readonly sids: readonly number[];
  usedAt: number;
}

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
  readonly #engine: EngineSamples;
  readonly #backfills: Backfills;
  #bytes = 0;
  #clock = 0;

  constructor(deps: SegmentSamplesDeps) {
    this.#deps = deps;
    this.#engine = new EngineSamples(deps);
    this.#backfills = new Backfills(deps.connection);
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
    { call, slot, count }: { readonly call: Call; readonly slot: AdmissionSlot; readonly count?: SampleCount },
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
    const others: MissingRows[] = [];
    for (const one of missing) {
      const bySid = await this.#readColumns(table, one, columns, slices);
      checkCall(call);
      if (bySid === undefined) {
        others.push(one);
        continue;
      }
      countSamples(bySid, count);
      await this.#keepAll(one, bySid, now, slices);
    }
    if (others.length > 0) {
      await this.#engine.read(table, others, columns, { call, slot }, async (one, bySid) => {
        countSamples(bySid, count);
        await this.#keepAll(one, bySid, now, slices);
        this.#deps.segmentRead('engine');
      });
    }
    return found;
  }

  /**
   * Calls `visit` with the rows of a segment that was checked, in the order of the file and without keeping them.
   *
   * @returns false if `read` must be used instead, whatever was visited.
   */
  async visit(
    table: Table,
    request: SegmentRequest,
    columns: SampleColumns,
    slices: Slices,
    visit: SliceVisitor,
  ): Promise<boolean> {
    try {
      await eachColumnSlice(this.#deps.columns, await this.#selection(table, request, columns), slices, visit);
      this.#deps.segmentRead('columns');
      return true;
    } catch {
      return false;
    }
  }

  /** Reads a segment without the engine. @returns undefined if the engine must read it. */
  async #readColumns(
    table: Table,
    { segment, sids: all, metrics: allMetrics, positions, range }: MissingRows,
    columns: SampleColumns,
    slices: Slices,
  ): Promise<SlicesBySid | undefined> {
    const { columns: sources, segmentRead } = this.#deps;
    const isWhole = positions.length === all.length;
    const sids = isWhole ? all : Int32Array.from(positions, (at) => all[at]);
    const metrics = isWhole ? allMetrics : allMetrics && Uint32Array.from(positions, (at) => allMetrics[at]);
    try {
      const selection = await this.#selection(table, { segment, sids, metrics, range }, columns);
      const bySid = await readColumnSamples(sources, selection, slices);
      segmentRead('columns');
      return bySid;
    } catch {
      // The reason may also be a damaged or missing file: the engine's error starts its verification.
      return undefined;
    }
  }

  async #selection(
    table: Table,
    { segment, sids, metrics, range }: Pick<SegmentRequest, 'segment' | 'sids' | 'metrics' | 'range'>,
    columns: SampleColumns,
  ): Promise<ColumnSelection> {
    const file = { path: this.#deps.files.nameOf(segment.path), bytes: segment.bytes };
    const backfill = await this.#backfills.of(table, columns.value);
    const own = metrics && Uint32Array.from(new Set(metrics)).sort();
    return { file, timeId: timeIndexOf(table).id, sids, metrics: own, range, columns, backfill };
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
    if (bytes > this.#deps.limitBytes() * share * (positions.length / sids.length)) return;
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
    if (this.#bytes <= this.#deps.limitBytes()) return;
    const oldest = [...this.#loads].sort((a, b) => a.usedAt - b.usedAt);
    for (const it of oldest) {
      if (this.#bytes <= this.#deps.limitBytes() / 2 || it === load) return;
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
}

const NOTHING: ReadonlyMap<number, CachedSlice> = new Map();

function countSamples(bySid: SlicesBySid, count: SampleCount | undefined): void {
  if (count !== undefined) for (const { times } of bySid.values()) count.samples += times.length;
}

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
