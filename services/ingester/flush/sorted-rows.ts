/**
 * Brings the rows of a generation into the order of their series by counting, in time that grows with the rows alone.
 *
 * Rows of a series keep the order in which they were put: without late rows that is the order of time. Where some are
 * late, the times are read and sorted first, and say where the rows go. Rows are read as they lie and written to one
 * place a series: scraped data changes its series with each row, and reading it series by series misses the processor's
 * caches at each.
 */
import type { Slices } from '#shared/clock/slices';

import type { TimeBand, Generation, HeldBatch } from '../memtable/generation.js';
import { moveTimes, type RowSelection, type ColumnArrays } from './column-arrays.js';
import type { SeriesOrder } from './series-order.js';
import { STEP_ROWS, TimeOrder, type Versions } from './time-order.js';
import type { TimeWindow } from './windows.js';

/** Rows of one segment that are in memory in order at one time. */
export interface Part {
  /** Which segment of the window. */
  readonly segment: number;
  /** Places `[from, to)` in the order of all rows of the window. */
  readonly from: number;
  readonly to: number;
  /** Where they begin in the arrays of their slice: a multiple of 8, because validity is handed on by bytes. */
  readonly at: number;
  /** Whether they are all rows of their segment. */
  readonly isWhole: boolean;
}

/** What became of a part. */
export interface PlacedPart {
  /** Behind its last row: older versions of others may be left out. */
  readonly end: number;
  /** Whether the rows of each series are in order of time, and what `versions` says was done. */
  readonly isOrdered: boolean;
}

/** What is in memory at one time: some whole segments, or a part of one. */
export interface Slice {
  readonly parts: readonly Part[];
  /** Of its arrays, with gaps between parts. */
  readonly length: number;
}

type PartProgress = { -readonly [K in keyof PlacedPart]: PlacedPart[K] };

function notPlaced({ at, isWhole }: Part, isLate: boolean, order: TimeOrder | undefined): PartProgress {
  return { end: at, isOrdered: !isLate || (order !== undefined && isWhole) };
}

/** Rows of a batch that are moved together. */
const RUN_ROWS = 16_384;

/** The rows of a generation that are of one window. */
export class WindowRows {
  readonly #generation: Generation;
  /** Undefined: that of their numbers. */
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

  /** How many rows the series at each place has. */
  async counts(): Promise<Uint32Array> {
    const counts = new Uint32Array(this.#generation.seriesCount);
    for (const held of this.#generation.batches) {
      if (isOutside(held, this.#window)) continue;
      for (const run of runsOf(held)) {
        count(held, this.#order, insideOf(held, this.#window, run), run, counts);
        if (this.#slices.isOver(run.to - run.from)) await this.#slices.yield();
      }
    }
    return counts;
  }

  /**
   * Writes the rows of a slice to their places.
   *
   * @param versions undefined: late rows stay in order of arrival.
   * @returns what became of each part.
   */
  async place(slice: Slice, counts: Uint32Array, arrays: ColumnArrays, versions?: Versions): Promise<PlacedPart[]> {
    const next = firstPlaces(slice, counts);
    const isLate = this.#isLate();
    const isOrdering = isLate && versions !== undefined && slice.parts.some(({ isWhole }) => isWhole);
    const order = isOrdering ? await this.#timeOrder(slice, next, versions) : undefined;
    const placed = slice.parts.map((part) => notPlaced(part, isLate, order));
    let index = 0;
    for (const [place, first] of next.entries()) {
      const [from, to] = [Math.max(0, first), Math.min(first + counts[place], slice.length)];
      if (from >= to) continue;
      while (index + 1 < placed.length && from >= slice.parts[index + 1].at) index++;
      const part = placed[index];
      const begin = part.end;
      if (order === undefined) part.end = to;
      else if (slice.parts[index].isWhole) await this.#placeInTime(order, from, to, part);
      else part.end = order.keep(from, to);
      const sid = this.#order?.sids[place] ?? place;
      arrays.setSeries(sid, this.#order?.metrics[sid], begin, part.end);
      if (this.#slices.isOver(to - from)) await this.#slices.yield();
    }
    await this.#eachChosen({ next, length: slice.length, places: order?.places }, (held, chosen) => {
      arrays.put(held.batch, chosen);
      return chosen.count * arrays.width;
    });
    return placed;
  }

  /** Places the rows of a series in order of time behind those that the part has. */
  async #placeInTime(order: TimeOrder, from: number, to: number, part: PartProgress): Promise<void> {
    order.begin(from, to, part.end);
    const work = Math.min(to - from, STEP_ROWS);
    while (!order.step()) if (this.#slices.isOver(work)) await this.#slices.yield();
    part.end = order.end;
  }

  /** Whether some row of the window may be late. */
  #isLate(): boolean {
    const window = this.#window;
    return this.#generation.batches.some(({ late }) => {
      return late !== undefined && (window === undefined || (late.first < window.to && late.last >= window.from));
    });
  }

  /** @param next where the first row of each series goes in order of arrival. */
  async #timeOrder({ length }: Slice, next: Int32Array, versions: Versions): Promise<TimeOrder> {
    const times = new BigInt64Array(length);
    await this.#eachChosen({ next: next.slice(), length, places: undefined }, ({ batch }, chosen) => {
      moveTimes(batch.times, times, chosen);
      return chosen.count;
    });
    return new TimeOrder(times, versions);
  }

  /** Calls `use` for rows of the window that are of the slice; it tells what that cost. */
  async #eachChosen(
    target: Pick<SelectionTarget, 'next' | 'length' | 'places'>,
    use: (held: HeldBatch, chosen: RowSelection) => number,
  ): Promise<void> {
    const chosen: RowSelection = { rows: new Uint32Array(RUN_ROWS), places: new Uint32Array(RUN_ROWS), count: 0 };
    for (const held of this.#generation.batches) {
      if (isOutside(held, this.#window)) continue;
      for (const run of runsOf(held)) {
        selectRows(held, insideOf(held, this.#window, run), { run, ...target, order: this.#order }, chosen);
        const work = chosen.count > 0 ? use(held, chosen) : 0;
        if (this.#slices.isOver(run.to - run.from + work)) await this.#slices.yield();
      }
    }
  }
}

/** Rows `[from, to)` of a batch. */
interface Run {
  readonly from: number;
  readonly to: number;
}

function* runsOf({ batch: { rowCount } }: HeldBatch): Iterable<Run> {
  for (let from = 0; from < rowCount; from += RUN_ROWS) yield { from, to: Math.min(from + RUN_ROWS, rowCount) };
}

function isOutside({ times }: HeldBatch, window: TimeWindow | undefined): boolean {
  return window !== undefined && (times.last < window.from || times.first >= window.to);
}

/** 1 for each row of the run that is of the window; undefined if all are. */
function insideOf({ batch, times }: HeldBatch, window: TimeWindow | undefined, run: Run): Uint8Array | undefined {
  if (window === undefined || isWithin(times, window)) return undefined;
  const inside = new Uint8Array(run.to - run.from);
  const words = new Int32Array(batch.times.buffer, batch.times.byteOffset, batch.rowCount * 2);
  const [from, to] = [halvesOf(window.from), halvesOf(window.to)];
  for (let i = 0; i < inside.length; i++) {
    const at = 2 * (run.from + i);
    const [low, high] = [words[at] >>> 0, words[at + 1]];
    const isBehind = high > from.high || (high === from.high && low >= from.low);
    if (isBehind && (high < to.high || (high === to.high && low < to.low))) inside[i] = 1;
  }
  return inside;
}

/** The halves of an integer that may be beyond 64 bits, as windows at the ends of time are. */
function halvesOf(value: bigint): { readonly low: number; readonly high: number } {
  return { low: Number(value & 0xffffffffn), high: Number(value >> 32n) };
}

function isWithin(times: TimeBand, { from, to }: TimeWindow): boolean {
  return times.first >= from && times.last < to;
}

function count(
  { batch: { seriesIndex }, sids }: HeldBatch,
  order: SeriesOrder | undefined,
  inside: Uint8Array | undefined,
  { from, to }: Run,
  counts: Uint32Array,
): void {
  const placeOf = order?.placeOf;
  for (let row = from; row < to; row++) {
    if (inside?.[row - from] === 0) continue;
    const sid = sids[seriesIndex[row]];
    counts[placeOf === undefined ? sid : placeOf[sid]]++;
  }
}

interface SelectionTarget {
  readonly run: Run;
  /** By place of the series: where its next row goes; outside of the slice it is negative or beyond `length`. */
  readonly next: Int32Array;
  readonly length: number;
  /** By place in order of arrival: the final one, -1 for rows that are left out; undefined: they are the same. */
  readonly places: Int32Array | undefined;
  readonly order: SeriesOrder | undefined;
}

/** The rows of a run that are of the slice. */
function selectRows(
  { batch: { seriesIndex }, sids }: HeldBatch,
  inside: Uint8Array | undefined,
  { run: { from, to }, next, length, places: finalPlaces, order }: SelectionTarget,
  chosen: RowSelection,
): void {
  const { rows, places } = chosen;
  const placeOf = order?.placeOf;
  let chosenCount = 0;
  for (let row = from; row < to; row++) {
    if (inside?.[row - from] === 0) continue;
    const sid = sids[seriesIndex[row]];
    const arrived = next[placeOf === undefined ? sid : placeOf[sid]]++;
    if (arrived < 0 || arrived >= length) continue;
    const place = finalPlaces === undefined ? arrived : finalPlaces[arrived];
    if (place < 0) continue;
    rows[chosenCount] = row;
    places[chosenCount++] = place;
  }
  chosen.count = chosenCount;
}

/** Where the first row of each series goes in the arrays of the slice. */
function firstPlaces({ parts, length }: Slice, counts: Uint32Array): Int32Array {
  const places = new Int32Array(counts.length);
  let part = 0;
  let row = 0;
  for (let series = 0; series < counts.length; series++) {
    while (part < parts.length && row >= parts[part].to) part++;
    // A series in front of the slice never gets as far as its rows.
    places[series] = part === parts.length ? length : row - parts[part].from + parts[part].at;
    row += counts[series];
  }
  return places;
}

/** Cuts series into segments of at least `segmentRows` rows, but for the last; a series is never in two. @returns their ends. */
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

/** Slices of at most `sliceRows` rows, a multiple of 8. @param ends of segments. */
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
