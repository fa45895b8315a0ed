/**
 * Sorts the rows of a generation by series with a counting sort, in time linear in the rows.
 *
 * Rows of a series keep the order in which they were put; without late rows that is time order. If some are late, times
 * are read and sorted first, and determine the positions of rows. Rows are read in memory order and written to one
 * position per series: scraped data changes its series with each row, and reading it series by series would miss the
 * processor's caches each time.
 */
import type { Slices } from '#shared/clock/slices';

import type { Generation } from '../memtable/generation.js';
import type { HeldBatch, TimeBand } from '../memtable/held-batch.js';
import type { RowPlacement, ColumnArrays } from './column-arrays.js';
import type { SeriesOrder } from './series-order.js';
import { STEP_ROWS, TimeOrder, type Versions } from './time-order.js';
import type { TimeWindow } from './windows.js';

/** Rows of one segment that are sorted in memory at the same time. */
export interface Part {
  /** Index of the segment in the window. */
  readonly segment: number;
  /** Positions `[from, to)` in the order of all rows of the window. */
  readonly from: number;
  readonly to: number;
  /** Where they start in the arrays of their slice: a multiple of 8, because validity is passed on by bytes. */
  readonly at: number;
  /** Whether they are all rows of their segment. */
  readonly isWhole: boolean;
}

/** Outcome of sorting a part. */
export interface PlacedPart {
  /** One past its last row: older versions may be left out. */
  readonly end: number;
  /** Whether the rows of each series are in time order, with versions resolved as requested. */
  readonly isOrdered: boolean;
}

/** What is sorted in memory at a time: some whole segments, or a part of one. */
export interface Slice {
  readonly parts: readonly Part[];
  /** Of its arrays, including gaps between parts. */
  readonly length: number;
}

type PartProgress = { -readonly [K in keyof PlacedPart]: PlacedPart[K] };

function notPlaced({ at, isWhole }: Part, isLate: boolean, order: TimeOrder | undefined): PartProgress {
  return { end: at, isOrdered: !isLate || (order !== undefined && isWhole) };
}

/** Rows of a batch that are moved together. */
const RUN_ROWS = 16_384;

/** The rows of a generation that are in one time window. */
export class WindowRows {
  readonly #generation: Generation;
  /** Undefined: in the order of series numbers. */
  readonly #order: SeriesOrder | undefined;
  /** Undefined: all times. */
  readonly #window: TimeWindow | undefined;
  readonly #slices: Slices;

  constructor(generation: Generation, order: SeriesOrder | undefined, window: TimeWindow | undefined, slices: Slices) {
    this.#generation = generation;
    this.#order = order;
    this.#window = window;
    this.#slices = slices;
  }

  /** Counts the rows of the series at each position. */
  async counts(): Promise<Uint32Array> {
    const counts = new Uint32Array(this.#generation.seriesCount);
    const positions = new Uint32Array(RUN_ROWS);
    for (const held of this.#generation.batches) {
      if (isOutside(held, this.#window)) continue;
      for (const run of runsOf(held)) {
        readPositions(held, this.#order, run, positions);
        count(positions, insideOf(held, this.#window, run), run, counts);
        if (this.#slices.isOver(run.to - run.from)) await this.#slices.yield();
      }
    }
    return counts;
  }

  /**
   * Writes the rows of a slice to their positions.
   *
   * @param versions undefined: late rows stay in order of arrival.
   * @returns the outcome of each part.
   */
  async place(slice: Slice, counts: Uint32Array, arrays: ColumnArrays, versions?: Versions): Promise<PlacedPart[]> {
    const next = firstPlaces(slice, counts);
    const isLate = this.#isLate();
    const isOrdering = isLate && versions !== undefined && slice.parts.some(({ isWhole }) => isWhole);
    const order = isOrdering ? await this.#timeOrder(slice, next, versions) : undefined;
    const placed = slice.parts.map((part) => notPlaced(part, isLate, order));
    const series = new SeriesOfSlice(slice, next, counts);
    while (series.advance()) {
      const { place, from, to } = series;
      const part = placed[series.part];
      if (order === undefined) part.end = to;
      else if (slice.parts[series.part].isWhole) await this.#placeInTime(order, from, to, part);
      else part.end = order.keep(from, to);
      const sid = this.#order?.sids[place] ?? place;
      arrays.setSeries(sid, this.#order?.metrics[sid], part.end);
      if (this.#slices.isOver(to - from)) await this.#slices.yield();
    }
    await this.#eachSelection({ next, length: slice.length, places: order?.places }, (held, selection) => {
      arrays.put(held, selection);
      return selection.count * arrays.width;
    });
    return placed;
  }

  /** Places the rows of a series in time order after those of the part so far. */
  async #placeInTime(order: TimeOrder, from: number, to: number, part: PartProgress): Promise<void> {
    order.begin(from, to, part.end);
    const work = Math.min(to - from, STEP_ROWS);
    while (!order.step()) if (this.#slices.isOver(work)) await this.#slices.yield();
    part.end = order.end;
  }

  /** Returns whether a row of the window may be late. */
  #isLate(): boolean {
    const window = this.#window;
    return this.#generation.batches.some(({ late }) => {
      return late !== undefined && (window === undefined || (late.first < window.to && late.last >= window.from));
    });
  }

  /** @param next where the first row of each series goes in order of arrival. */
  async #timeOrder({ length }: Slice, next: Int32Array, versions: Versions): Promise<TimeOrder> {
    const times = new BigInt64Array(length);
    await this.#eachSelection({ next: next.slice(), length, places: undefined }, ({ rowTimes }, selection) => {
      rowTimes.move(times, selection);
      return selection.count;
    });
    return new TimeOrder(times, versions);
  }

  /** Calls `use` for rows of the window that belong to the slice; it returns their cost. */
  async #eachSelection(
    target: Pick<SelectionTarget, 'next' | 'length' | 'places'>,
    use: (held: HeldBatch, selection: RowPlacement) => number,
  ): Promise<void> {
    const selection: RowPlacement = { rows: new Uint32Array(RUN_ROWS), places: new Uint32Array(RUN_ROWS), count: 0 };
    const positions = new Uint32Array(RUN_ROWS);
    for (const held of this.#generation.batches) {
      if (isOutside(held, this.#window)) continue;
      for (const run of runsOf(held)) {
        readPositions(held, this.#order, run, positions);
        selectRows(positions, insideOf(held, this.#window, run), { run, ...target }, selection);
        const work = selection.count > 0 ? use(held, selection) : 0;
        if (this.#slices.isOver(run.to - run.from + work)) await this.#slices.yield();
      }
    }
  }
}

/** Walks over the series that have rows in a slice. */
class SeriesOfSlice {
  /** Position of the series. */
  place = -1;
  /** Index of the part that has its rows, which are those at `[from, to)` in order of arrival. */
  part = 0;
  from = 0;
  to = 0;
  readonly #slice: Slice;
  readonly #next: Int32Array;
  readonly #counts: Uint32Array;

  /** @param next where the first row of each series goes. */
  constructor(slice: Slice, next: Int32Array, counts: Uint32Array) {
    this.#slice = slice;
    this.#next = next;
    this.#counts = counts;
  }

  /** Goes to the next series; returns whether there is one. */
  advance(): boolean {
    const { parts, length } = this.#slice;
    const [next, counts] = [this.#next, this.#counts];
    for (let place = this.place + 1; place < next.length; place++) {
      const from = Math.max(0, next[place]);
      const to = Math.min(next[place] + counts[place], length);
      if (from >= to) continue;
      while (this.part + 1 < parts.length && from >= parts[this.part + 1].at) this.part++;
      [this.place, this.from, this.to] = [place, from, to];
      return true;
    }
    return false;
  }
}

/** Rows `[from, to)` of a batch. */
interface Run {
  readonly from: number;
  readonly to: number;
}

function* runsOf({ rowCount }: HeldBatch): Iterable<Run> {
  for (let from = 0; from < rowCount; from += RUN_ROWS) yield { from, to: Math.min(from + RUN_ROWS, rowCount) };
}

function isOutside({ times }: HeldBatch, window: TimeWindow | undefined): boolean {
  return window !== undefined && (times.last < window.from || times.first >= window.to);
}

/** Returns 1 for each row of the run that is in the window; undefined if all are. */
function insideOf({ rowTimes, times }: HeldBatch, window: TimeWindow | undefined, run: Run): Uint8Array | undefined {
  if (window === undefined || isWithin(times, window)) return undefined;
  const inside = new Uint8Array(run.to - run.from);
  const all = rowTimes.all();
  const words = new Int32Array(all.buffer, all.byteOffset, all.length * 2);
  const [from, to] = [halvesOf(window.from), halvesOf(window.to)];
  for (let i = 0; i < inside.length; i++) {
    const at = 2 * (run.from + i);
    const [low, high] = [words[at] >>> 0, words[at + 1]];
    const isBehind = high > from.high || (high === from.high && low >= from.low);
    if (isBehind && (high < to.high || (high === to.high && low < to.low))) inside[i] = 1;
  }
  return inside;
}

/** Splits an integer that may exceed 64 bits, as windows at the ends of time do, into halves. */
function halvesOf(value: bigint): { readonly low: number; readonly high: number } {
  return { low: Number(value & 0xffffffffn), high: Number(value >> 32n) };
}

function isWithin(times: TimeBand, { from, to }: TimeWindow): boolean {
  return times.first >= from && times.last < to;
}

/** Writes the position of the series of each row of the run to the start of `positions`. */
function readPositions(
  held: HeldBatch,
  order: SeriesOrder | undefined,
  { from, to }: Run,
  positions: Uint32Array,
): void {
  held.readSids(from, to, positions);
  if (order === undefined) return;
  const { placeOf } = order;
  for (let i = 0; i < to - from; i++) positions[i] = placeOf[positions[i]];
}

/** @param positions of the series of the rows of the run. */
function count(positions: Uint32Array, inside: Uint8Array | undefined, { from, to }: Run, counts: Uint32Array): void {
  for (let i = 0; i < to - from; i++) if (inside === undefined || inside[i] === 1) counts[positions[i]]++;
}

interface SelectionTarget {
  readonly run: Run;
  /** By position of the series: where its next row goes. Outside of the slice it is negative or at least `length`. */
  readonly next: Int32Array;
  readonly length: number;
  /** Final position by position in order of arrival, -1 for rows that are left out; undefined: both are equal. */
  readonly places: Int32Array | undefined;
}

/**
 * Selects the rows of a run that belong to the slice.
 *
 * @param positions of the series of the rows of the run.
 */
function selectRows(
  positions: Uint32Array,
  inside: Uint8Array | undefined,
  { run: { from, to }, next, length, places: finalPlaces }: SelectionTarget,
  selection: RowPlacement,
): void {
  const { rows, places } = selection;
  let count = 0;
  for (let i = 0; i < to - from; i++) {
    if (inside?.[i] === 0) continue;
    const arrived = next[positions[i]]++;
    if (arrived < 0 || arrived >= length) continue;
    const place = finalPlaces === undefined ? arrived : finalPlaces[arrived];
    if (place < 0) continue;
    rows[count] = from + i;
    places[count++] = place;
  }
  selection.count = count;
}

/** Returns where the first row of each series goes in the arrays of the slice. */
function firstPlaces({ parts, length }: Slice, counts: Uint32Array): Int32Array {
  const places = new Int32Array(counts.length);
  let part = 0;
  let row = 0;
  for (let series = 0; series < counts.length; series++) {
    while (part < parts.length && row >= parts[part].to) part++;
    // A series before the slice has its rows at negative positions.
    places[series] = part === parts.length ? length : row - parts[part].from + parts[part].at;
    row += counts[series];
  }
  return places;
}

/**
 * Cuts series into segments of at least `segmentRows` rows, except the last. A series is never split.
 * @returns the ends of the segments.
 */
export function segmentEnds(counts: Uint32Array, segmentRows: number): number[] {
  const ends: number[] = [];
  let rows = 0;
  for (const rowCount of counts) {
    rows += rowCount;
    if (rows - (ends.at(-1) ?? 0) >= segmentRows) ends.push(rows);
  }
  if (rows > (ends.at(-1) ?? 0)) ends.push(rows);
  return ends;
}

/**
 * Cuts segments into slices of at most `sliceRows` rows, a multiple of 8.
 * @param ends of segments.
 */
export function slicesOf(ends: readonly number[], sliceRows: number): Slice[] {
  const slices: Slice[] = [];
  let parts: Part[] = [];
  let length = 0;
  const finish = (): void => {
    if (parts.length > 0) slices.push({ parts, length });
    parts = [];
    length = 0;
  };
  for (const [piece, end] of ends.entries()) {
    const begin = piece === 0 ? 0 : ends[piece - 1];
    if (length + end - begin > sliceRows) finish();
    for (let from = begin; from < end; from += sliceRows) {
      if (from > begin) finish();
      const to = Math.min(from + sliceRows, end);
      parts.push({ segment: piece, from, to, at: length, isWhole: from === begin && to === end });
      length += (to - from + 7) & ~7;
    }
  }
  finish();
  return slices;
}
