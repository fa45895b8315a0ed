import type { Slices } from '#shared/clock/slices';
import type { DuckDBConnection, DuckDBDataChunk } from '#shared/duckdb/engine';
import { copyDoubles, copyIntegers, markNulls } from '#shared/duckdb/typed-chunk';

import { PUT_AFTER_DELETE, DELETED } from '#shared/schema/segment-columns';

import { HIDES, concatSlices, MISSING, type SampleSlice } from './sample-slice.js';
import type { SegmentQuery } from './segment-query.js';

/** Rows of a segment by series number. */
export type SlicesBySid = Map<number, SampleSlice>;

/** Estimated memory of the objects around one slice. */
const BYTES_PER_SLICE = 200;
/** Memory of a time, a value and a mark. */
const BYTES_PER_ROW = 17;
/** Costs of decoding a row, and of starting a series, in units of reading one number. */
const ROW_WORK = 8;
const RUN_WORK = 32;

/** Arrays of all rows in the order of the files, usually by series and then by time. */
class Rows {
  readonly files: Int32Array;
  readonly sids: Int32Array;
  readonly times: Float64Array;
  readonly values: Float64Array;
  readonly missing: Uint8Array;
  readonly starts: Float64Array | undefined;
  readonly histograms: (Uint8Array | undefined)[] | undefined;
  readonly #ops: Int32Array | undefined;
  isMissing = false;
  #count = 0;

  constructor(length: number, { startAt, histogramAt, opAt }: SegmentQuery) {
    this.files = new Int32Array(length);
    this.sids = new Int32Array(length);
    this.times = new Float64Array(length);
    this.values = new Float64Array(length);
    this.missing = new Uint8Array(length);
    this.starts = startAt === undefined ? undefined : new Float64Array(length);
    this.histograms = histogramAt === undefined ? undefined : new Array<Uint8Array | undefined>(length);
    this.#ops = opAt === undefined ? undefined : new Int32Array(length);
  }

  add(chunk: DuckDBDataChunk, { startAt, histogramAt, opAt }: SegmentQuery): void {
    const at = this.#count;
    copyIntegers(chunk, 0, this.files, at);
    copyIntegers(chunk, 1, this.sids, at);
    copyDoubles(chunk, 2, this.times, at);
    copyDoubles(chunk, 3, this.values, at);
    if (markNulls(chunk, 3, this.missing, at)) this.isMissing = true;
    if (startAt !== undefined && this.starts !== undefined) copyDoubles(chunk, startAt, this.starts, at);
    if (histogramAt !== undefined && this.histograms !== undefined) {
      for (const [i, cell] of chunk.getColumnValues(histogramAt).entries()) this.histograms[at + i] = blobOf(cell);
    }
    if (opAt !== undefined && this.#ops !== undefined) {
      copyIntegers(chunk, opAt, this.#ops, at);
      this.#markOps(this.#ops, at, at + chunk.rowCount);
    }
    this.#count += chunk.rowCount;
  }

  #markOps(ops: Int32Array, from: number, to: number): void {
    for (let row = from; row < to; row++) {
      if (ops[row] === DELETED) this.missing[row] = MISSING | HIDES;
      else if (ops[row] === PUT_AFTER_DELETE) this.missing[row] |= HIDES;
      else continue;
      this.isMissing = true;
    }
  }

  /** Returns the end of the run of rows from `from` that belong to one series and file. */
  endOf(from: number): number {
    const { files, sids } = this;
    const file = files[from];
    const sid = sids[from];
    let to = from + 1;
    while (to < this.#count && sids[to] === sid && files[to] === file) to++;
    return to;
  }

  /** Returns the rows `[from, to)`, which belong to one series. */
  slice(from: number, to: number): SampleSlice {
    let isAscending = true;
    for (let i = from + 1; i < to; i++) if (this.times[i] <= this.times[i - 1]) isAscending = false;
    return {
      times: this.times.subarray(from, to),
      values: this.values.subarray(from, to),
      missing: this.isMissing ? this.missing.subarray(from, to) : undefined,
      histograms: this.histograms?.slice(from, to),
      starts: this.starts?.subarray(from, to),
      isAscending,
    };
  }
}

/**
 * Decodes the rows of several files, grouped by file and series.
 *
 * @param fileCount number of files that the query reads
 */
export async function decodeRows(
  result: Awaited<ReturnType<DuckDBConnection['run']>>,
  query: SegmentQuery,
  fileCount: number,
  slices: Slices,
): Promise<SlicesBySid[]> {
  const { rowCount: count, chunkCount } = result;
  const rows = new Rows(count, query);
  for (let i = 0; i < chunkCount; i++) {
    // One chunk at a time: fetching all at once is slower and needs memory for all of them.
    const chunk = result.getChunk(i);
    rows.add(chunk, query);
    if (slices.isOver(chunk.rowCount * ROW_WORK)) await slices.yield();
  }
  const bySeries = Array.from({ length: fileCount }, (): SlicesBySid => new Map());
  /** All runs of the series that have several. */
  const split = Array.from({ length: fileCount }, () => new Map<number, SampleSlice[]>());
  for (let from = 0; from < count;) {
    const to = rows.endOf(from);
    const file = rows.files[from];
    const sid = rows.sids[from];
    const run = rows.slice(from, to);
    const first = bySeries[file].get(sid);
    const all = first === undefined ? undefined : split[file].get(sid);
    if (first === undefined) bySeries[file].set(sid, run);
    else if (all === undefined) split[file].set(sid, [first, run]);
    else all.push(run);
    if (slices.isOver(RUN_WORK + (to - from) * ROW_WORK)) await slices.yield();
    from = to;
  }
  // The engine filters a long list of series with a join, which returns blocks of rows in any order.
  for (const [file, bySid] of split.entries()) {
    for (const [sid, own] of bySid) {
      bySeries[file].set(sid, concatSlices(inTime(own)));
      if (slices.isOver(own.length * RUN_WORK)) await slices.yield();
    }
  }
  return bySeries;
}

/** Estimates the memory of slices in bytes. */
export function sliceBytes(sampleSlices: Iterable<SampleSlice>): number {
  let bytes = 0;
  for (const { times, starts, histograms } of sampleSlices) {
    bytes += BYTES_PER_SLICE + times.length * (BYTES_PER_ROW + (starts === undefined ? 0 : 8));
    for (const one of histograms ?? []) bytes += 16 + (one?.length ?? 0);
  }
  return bytes;
}

function inTime(runs: SampleSlice[]): SampleSlice[] {
  return runs.sort((a, b) => a.times[0] - b.times[0]);
}

function blobOf(cell: unknown): Uint8Array | undefined {
  if (cell === null || cell === undefined) return undefined;
  const { bytes } = cell as { readonly bytes: Uint8Array };
  // A copy, because the bytes are a view of the engine's memory.
  return bytes.slice();
}
