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

export interface SegmentSamplesDeps {
  readonly files: SegmentFiles;
  readonly connection: DuckDBConnection;
  readonly clock: Clock;
  /** What decoded samples may take, of all tables. */
  readonly limitBytes: number;
}

/** What is wanted of a segment. */
export interface SegmentRequest extends SelectedSeries {
  readonly segment: Segment;
  readonly range: MillisRange;
  /** Whether the range is all of the segment. */
  readonly isWhole: boolean;
}

/** What is known of a series in a segment: its rows in `[fromMs, toMs]`. */
interface CachedSlice {
  readonly fromMs: number;
  readonly toMs: number;
  /** Undefined: it has none there. */
  readonly piece: SampleSlice | undefined;
  readonly load: SegmentLoad;
}

/** A segment of which something has to be read. */
interface MissingRows extends SegmentRequest {
  /** Of what is known of it. */
  readonly key: string;
  /** Places of the series that have to be read. */
  readonly places: readonly number[];
  readonly found: (SampleSlice | undefined)[];
}

/** What one question to the engine is about. */
interface Batch {
  readonly columns: FileColumns;
  readonly segments: readonly MissingRows[];
}

/** What one question to the engine brought of one segment. */
interface SegmentLoad {
  readonly bytes: number;
  /** Of the segment, in what is known. */
  readonly key: string;
  readonly sids: readonly number[];
  usedAt: number;
}

/** Bounds of one question: files are opened for it, and its rows are in memory twice. */
const BATCH_FILES = 64;
const BATCH_ROWS = 4 * 1024 * 1024;
const BYTES_PER_SERIES = 100;
/** Series of a load at most. */
const LOAD_SERIES = 4096;
/** What it takes to look for what is known of a series, and to keep it, as so many numbers. */
const LOOK_WORK = 8;
const KEEP_WORK = 64;
/** What is around the series of a load. */
const BYTES_PER_LOAD = 500;

/** Samples of segments, decoded, by series; those that were not asked for the longest go when there are too many. */
export class SegmentSamples {
  readonly #deps: SegmentSamplesDeps;
  /** By file and columns, then by series; none is empty: files come and go. */
  readonly #known = new Map<string, Map<number, CachedSlice>>();
  readonly #loads = new Set<SegmentLoad>();
  #bytes = 0;
  #clock = 0;
  /** The engine's connection takes one question at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: SegmentSamplesDeps) {
    this.#deps = deps;
  }

  /** Pairs of a file and columns of which something is kept. */
  get keptCount(): number {
    return this.#known.size;
  }

  /**
   * Rows of series of segments, at least those in the ranges; for each segment in the order of its series.
   *
   * @param wanted of files that were checked.
   * @param place of the query.
   */
  async read(
    table: Table,
    wanted: readonly SegmentRequest[],
    columns: SampleColumns,
    { call, slot }: { readonly call: Call; readonly slot: AdmissionSlot },
  ): Promise<(SampleSlice | undefined)[][]> {
    const now = ++this.#clock;
    const slices = new Slices(this.#deps.clock, { check: () => checkCall(call) });
    const found = wanted.map(({ sids }) => new Array<SampleSlice | undefined>(sids.length));
    const rowsMax = wanted.reduce((sum, { segment }) => sum + segment.rowCount, 0);
    const lacking: MissingRows[] = [];
    for (const [i, it] of wanted.entries()) {
      const key = `${it.segment.path} ${columns.value} ${columns.histogram ?? ''} ${columns.start ?? ''}`;
      const places = gaps(it, this.#known.get(key) ?? NOTHING, found[i], now);
      const share = (it.share * it.segment.rowCount) / rowsMax;
      if (places.length > 0) lacking.push({ ...it, share, key, places, found: found[i] });
      if (slices.isOver(it.sids.length * LOOK_WORK)) await slices.yield();
    }
    const { files } = this.#deps;
    const lackingFiles = lacking.map(({ segment }) => segment);
    for (const batch of await files.reading(lackingFiles, () => this.#batchesOf(lacking), call.signal)) {
      await this.#inTurn(call, slot, async () => {
        const batchFiles = batch.segments.map(({ segment }) => segment);
        const read = await files.reading(batchFiles, () => this.#read(table, batch, columns, call), call.signal);
        for (const [i, bySid] of read.entries()) await this.#keepAll(batch.segments[i], bySid, now, slices);
      });
      checkCall(call);
    }
    return found;
  }

  /** Reads come one after the other: there is one connection. Those in front are waited for aside. */
  async #inTurn(call: Call, slot: AdmissionSlot, read: () => Promise<void>): Promise<void> {
    const before = this.#turn;
    let end = (): void => undefined;
    const own = new Promise<void>((resolve) => (end = resolve));
    this.#turn = before.then(() => own);
    try {
      await slot.releaseWhile(() => unlessAborted(call, before));
      await read();
    } finally {
      end();
    }
  }

  /** Segments that one question can be about: they have the same columns, and not too many rows. */
  async #batchesOf(lacking: readonly MissingRows[]): Promise<Batch[]> {
    const batches: Batch[] = [];
    const open = new Map<FileColumns, { segments: MissingRows[]; rowsMax: number }>();
    for (const one of lacking) {
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

  /** Some series at a time, each of which is kept and forgotten by itself. */
  async #keepAll(segment: MissingRows, bySid: SlicesBySid, now: number, slices: Slices): Promise<void> {
    const { places } = segment;
    for (let from = 0; from < places.length; from += LOAD_SERIES) {
      const some = places.slice(from, from + LOAD_SERIES);
      this.#keep({ ...segment, places: some }, bySid, now);
      if (slices.isOver(some.length * KEEP_WORK)) await slices.yield();
    }
  }

  #keep({ key, places, sids, range, found, share }: MissingRows, bySid: SlicesBySid, now: number): void {
    const pieces = places.map((at) => bySid.get(sids[at]));
    const around = BYTES_PER_LOAD + places.length * BYTES_PER_SERIES;
    const bytes = around + sliceBytes(pieces.filter((piece) => piece !== undefined));
    for (const [i, at] of places.entries()) found[at] = pieces[i];
    // What would push itself out is not kept: it would push out the rest too.
    if (bytes > this.#deps.limitBytes * share * (places.length / sids.length)) return;
    const load: SegmentLoad = { bytes, key, sids: places.map((at) => sids[at]), usedAt: now };
    // Looked up only now: what was known when the read began may be gone.
    const known = this.#known.get(key) ?? new Map<number, CachedSlice>();
    this.#known.set(key, known);
    for (const [i, at] of places.entries()) {
      known.set(sids[at], { ...range, piece: pieces[i], load });
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
      this.#forget(it);
    }
  }

  #forget(load: SegmentLoad): void {
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

/** Looks for what is known. @returns places of the series of which it is not enough. */
function gaps(
  { sids, range }: SegmentRequest,
  known: ReadonlyMap<number, CachedSlice>,
  found: (SampleSlice | undefined)[],
  now: number,
): number[] {
  const places: number[] = [];
  for (const [i, sid] of sids.entries()) {
    const it = known.get(sid);
    if (it === undefined || it.fromMs > range.fromMs || it.toMs < range.toMs) {
      places.push(i);
      continue;
    }
    it.load.usedAt = now;
    found[i] = it.piece;
  }
  return places;
}

/** What has to be read of all segments, so that each has what it lacks. */
function conditionsOf(segments: readonly MissingRows[]): Omit<RowSelection, 'paths'> {
  const range = { fromMs: Infinity, toMs: -Infinity };
  for (const one of segments) {
    range.fromMs = Math.min(range.fromMs, one.range.fromMs);
    range.toMs = Math.max(range.toMs, one.range.toMs);
  }
  const isNumbered = segments.every(({ metrics }) => metrics !== undefined);
  const areMost = segments.every(({ places, sids, areMost: most }) => most && places.length === sids.length);
  const isPart = segments.some((one) => one.isPart);
  return {
    sids: isNumbered && areMost ? (isPart ? ends(segments) : undefined) : distinct(segments, ({ sids }) => sids),
    metrics: isNumbered ? distinct(segments, ({ metrics }) => metrics) : undefined,
    range: segments.every(({ isWhole }) => isWhole) ? undefined : range,
  };
}

/** The first and the last of the series. */
function ends(segments: readonly MissingRows[]): SidRange {
  return {
    first: Math.min(...segments.map(({ sids }) => sids[0])),
    last: Math.max(...segments.map(({ sids }) => sids[sids.length - 1])),
  };
}

/** What the series have that have to be read, ascending. */
function distinct(
  segments: readonly MissingRows[],
  of: (segment: MissingRows) => Int32Array | Uint32Array | undefined,
): number[] {
  const found = new Set<number>();
  for (const one of segments) {
    const numbers = of(one);
    if (numbers !== undefined) for (const at of one.places) found.add(numbers[at]);
  }
  return [...Uint32Array.from(found).sort()];
}
