/**
 * Brings the rows of a generation into the order of their series by counting, in time that grows with the rows alone.
 *
 * Rows of a series keep the order in which they were put: without late rows that is the order of time, and the engine has
 * nothing left to sort. Rows are read as they lie and written to one place a series: scraped data changes its series with
 * each row, and reading it series by series misses the processor's caches at each.
 */
import type { RowBatch } from '#shared/rowbatch/row-batch';

import type { TimeBand, Generation, HeldBatch } from '../memtable/generation.js';
import type { Chosen, ColumnArrays } from './column-arrays.js';
import type { SeriesOrder } from './series-order.js';
import type { TimeWindow } from './windows.js';

/** Series that become one segment. */
export interface Piece {
  /** Places in the order of series, `[from, to)`. */
  readonly from: number;
  readonly to: number;
  readonly rowCount: number;
}

/** A piece's place in the arrays of its slice. */
export interface PlacedPiece extends Piece {
  /** A multiple of 8, because validity is handed on by bytes. */
  readonly at: number;
}

/** Pieces whose rows are in memory in order at one time. */
export interface Slice {
  readonly pieces: readonly PlacedPiece[];
  /** Of its arrays, with gaps between pieces. */
  readonly length: number;
}

/** Rows that are looked at between two rests: about 5 ms. */
const REST_ROWS = 500_000;

/** The rows of a generation that are of one window. */
export class WindowRows {
  readonly #generation: Generation;
  /** Undefined: that of their numbers. */
  readonly #order: SeriesOrder | undefined;
  /** Undefined: all times. */
  readonly #window: TimeWindow | undefined;
  readonly #rest: () => Promise<void>;
  #sinceRest = 0;

  constructor(
    generation: Generation,
    order: SeriesOrder | undefined,
    window: TimeWindow | undefined,
    rest: () => Promise<void>,
  ) {
    this.#generation = generation;
    this.#order = order;
    this.#window = window;
    this.#rest = rest;
  }

  /** How many rows the series at each place has. */
  async counts(): Promise<Uint32Array> {
    const counts = new Uint32Array(this.#generation.seriesCount);
    for (const held of this.#generation.batches) {
      const isInside = isInsideOf(held, this.#window);
      if (isInside === NONE) continue;
      count(held.batch, this.#placesOf(held), isInside, counts);
      await this.#worked(held.batch.rowCount);
    }
    return counts;
  }

  /** Writes the rows of a slice to their places. */
  async place(slice: Slice, counts: Uint32Array, arrays: ColumnArrays): Promise<void> {
    const { pieces } = slice;
    const { from } = pieces[0];
    const next = firstPlaces(pieces, counts);
    for (const [i, row] of next.entries()) {
      const sid = this.#order?.sids[from + i] ?? from + i;
      arrays.setSeries(sid, this.#order?.metrics[sid], row, row + counts[from + i]);
    }
    const chosen: Chosen = { rows: new Uint32Array(0), places: new Uint32Array(0), count: 0 };
    for (const held of this.#generation.batches) {
      const isInside = isInsideOf(held, this.#window);
      if (isInside === NONE) continue;
      choose(
        held.batch,
        this.#placesOf(held).map((place) => place - from),
        isInside,
        next,
        chosen,
      );
      if (chosen.count > 0) arrays.put(held.batch, chosen);
      await this.#worked(held.batch.rowCount + chosen.count * arrays.width);
    }
  }

  /** Place of each entry of a batch's list of series. */
  #placesOf({ sids }: HeldBatch): Uint32Array {
    const { placeOf } = this.#order ?? {};
    return placeOf === undefined ? sids : sids.map((sid) => placeOf[sid]);
  }

  async #worked(rows: number): Promise<void> {
    this.#sinceRest += rows;
    if (this.#sinceRest < REST_ROWS) return;
    this.#sinceRest = 0;
    await this.#rest();
  }
}

const NONE = 'none';

/** Which rows of a batch are of the window: all (undefined), none, or those whose entry is 1. */
function isInsideOf({ batch, times }: HeldBatch, window: TimeWindow | undefined): Uint8Array | undefined | typeof NONE {
  if (window === undefined || isWithin(times, window)) return undefined;
  const { from, to } = window;
  if (times.last < from || times.first >= to) return NONE;
  return Uint8Array.from(batch.times, (time) => (time >= from && time < to ? 1 : 0));
}

function isWithin(times: TimeBand, { from, to }: TimeWindow): boolean {
  return times.first >= from && times.last < to;
}

function count(
  { rowCount, seriesIndex }: RowBatch,
  placeOf: Uint32Array,
  isInside: Uint8Array | undefined,
  counts: Uint32Array,
): void {
  for (let row = 0; row < rowCount; row++) {
    if (isInside === undefined || isInside[row] === 1) counts[placeOf[seriesIndex[row]]]++;
  }
}

/** The rows of a batch that are of series of the slice. @param seriesOf place in `next` of each entry of the batch's list. */
function choose(
  { rowCount, seriesIndex }: RowBatch,
  seriesOf: Uint32Array,
  isInside: Uint8Array | undefined,
  next: Uint32Array,
  chosen: Chosen,
): void {
  if (chosen.rows.length < rowCount) {
    chosen.rows = new Uint32Array(rowCount);
    chosen.places = new Uint32Array(rowCount);
  }
  const { rows, places } = chosen;
  let chosenCount = 0;
  for (let row = 0; row < rowCount; row++) {
    const series = seriesOf[seriesIndex[row]];
    // Those before the slice are far behind it, as unsigned numbers.
    if (series >= next.length) continue;
    if (isInside?.[row] === 0) continue;
    rows[chosenCount] = row;
    places[chosenCount++] = next[series]++;
  }
  chosen.count = chosenCount;
}

function firstPlaces(pieces: readonly PlacedPiece[], counts: Uint32Array): Uint32Array {
  const { from } = pieces[0];
  const places = new Uint32Array(pieces[pieces.length - 1].to - from);
  for (const piece of pieces) {
    let place = piece.at;
    for (let series = piece.from; series < piece.to; series++) {
      places[series - from] = place;
      place += counts[series];
    }
  }
  return places;
}

/** Cuts series into pieces of at least `pieceRows` rows, but for the last; a series is never in two. */
export function piecesOf(counts: Uint32Array, pieceRows: number): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  let rowCount = 0;
  for (let series = 0; series < counts.length; series++) {
    rowCount += counts[series];
    const isLast = series === counts.length - 1;
    if (rowCount === 0 || (rowCount < pieceRows && !isLast)) continue;
    pieces.push({ from, to: series + 1, rowCount });
    from = series + 1;
    rowCount = 0;
  }
  return pieces;
}

/** Puts pieces together into slices of at most `sliceRows` rows, or one piece. */
export function slicesOf(pieces: readonly Piece[], sliceRows: number): Slice[] {
  const slices: Slice[] = [];
  let placed: PlacedPiece[] = [];
  let length = 0;
  for (const piece of pieces) {
    if (placed.length > 0 && length + piece.rowCount > sliceRows) {
      slices.push({ pieces: placed, length });
      placed = [];
      length = 0;
    }
    placed.push({ ...piece, at: length });
    length += (piece.rowCount + 7) & ~7;
  }
  if (placed.length > 0) slices.push({ pieces: placed, length });
  return slices;
}
