import type { DuckDBDataChunk } from '#shared/duckdb/engine';

import { copyDoubles, copyIntegers, markNulls } from '#shared/duckdb/typed-chunk';

import { joined, type Piece } from './piece.js';
import type { SegmentQuery } from './segment-query.js';

/** Rows of a segment, by series. */
export interface DecodedRows {
  readonly bySid: ReadonlyMap<number, Piece>;
  /** What they take, about. */
  readonly bytes: number;
}

const BYTES_PER_SERIES = 200;
/** Series, time, value, mark. */
const BYTES_PER_ROW = 21;

/** Arrays of all rows, in the order of the file: by series, then by time. */
class Rows {
  readonly sids: Int32Array;
  readonly times: Float64Array;
  readonly values: Float64Array;
  readonly missing: Uint8Array;
  readonly starts: Float64Array | undefined;
  readonly histograms: (Uint8Array | undefined)[] | undefined;
  isMissing = false;
  #count = 0;

  constructor(length: number, { startAt, histogramAt }: SegmentQuery) {
    this.sids = new Int32Array(length);
    this.times = new Float64Array(length);
    this.values = new Float64Array(length);
    this.missing = new Uint8Array(length);
    this.starts = startAt === undefined ? undefined : new Float64Array(length);
    this.histograms = histogramAt === undefined ? undefined : new Array<Uint8Array | undefined>(length);
  }

  add(chunk: DuckDBDataChunk, { startAt, histogramAt }: SegmentQuery): void {
    const at = this.#count;
    copyIntegers(chunk, 0, this.sids, at);
    copyDoubles(chunk, 1, this.times, at);
    copyDoubles(chunk, 2, this.values, at);
    if (markNulls(chunk, 2, this.missing, at)) this.isMissing = true;
    if (startAt !== undefined && this.starts !== undefined) copyDoubles(chunk, startAt, this.starts, at);
    if (histogramAt !== undefined && this.histograms !== undefined) {
      for (const [i, cell] of chunk.getColumnValues(histogramAt).entries()) this.histograms[at + i] = blobOf(cell);
    }
    this.#count += chunk.rowCount;
  }

  /** The rows `[from, to)`, which are one series's. */
  piece(from: number, to: number): Piece {
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

  get bytes(): number {
    let bytes = this.#count * (BYTES_PER_ROW + (this.starts === undefined ? 0 : 8));
    for (const one of this.histograms ?? []) bytes += 16 + (one?.length ?? 0);
    return bytes;
  }
}

/** @param seriesCount how many were asked for. */
export function decodeRows(chunks: readonly DuckDBDataChunk[], query: SegmentQuery, seriesCount: number): DecodedRows {
  const filled = chunks.filter(({ rowCount }) => rowCount > 0);
  const count = filled.reduce((sum, { rowCount }) => sum + rowCount, 0);
  const rows = new Rows(count, query);
  for (const chunk of filled) rows.add(chunk, query);
  const runs = new Map<number, Piece[]>();
  for (let from = 0; from < count;) {
    const sid = rows.sids[from];
    let to = from + 1;
    while (to < count && rows.sids[to] === sid) to++;
    const own = runs.get(sid);
    if (own === undefined) runs.set(sid, [rows.piece(from, to)]);
    else own.push(rows.piece(from, to));
    from = to;
  }
  const bySid = new Map<number, Piece>();
  // A long list of series is joined by the engine, which then gives blocks of rows in any order.
  for (const [sid, own] of runs) bySid.set(sid, own.length === 1 ? own[0] : joined(inTime(own)));
  return { bySid, bytes: rows.bytes + seriesCount * BYTES_PER_SERIES };
}

function inTime(pieces: Piece[]): Piece[] {
  return pieces.sort((a, b) => a.times[0] - b.times[0]);
}

function blobOf(cell: unknown): Uint8Array | undefined {
  if (cell === null || cell === undefined) return undefined;
  const { bytes } = cell as { readonly bytes: Uint8Array };
  // A view of the engine's memory.
  return bytes.slice();
}
