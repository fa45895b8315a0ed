/** Columns of a table that make samples, by column id. */
export interface SampleColumns {
  readonly value: number;
  /** A native histogram, which stands instead of a value; absent if the table has none. */
  readonly histogram: number | undefined;
  /** When the counter of a sample began; absent if the table does not tell. */
  readonly start: number | undefined;
}

/** Mark of a row that has no value, but maybe a histogram. */
export const MISSING = 1;
/** Mark of a row before which none of the same time counts: a deletion, or the first row behind one. */
export const HIDES = 2;

/** Rows of one series from one source, in the order in which they count: of equal times the later row does. */
export interface SampleSlice {
  /** Milliseconds. */
  readonly times: Float64Array;
  readonly values: Float64Array;
  /** `MISSING` and `HIDES`; absent where no row is marked. */
  readonly missing: Uint8Array | undefined;
  /** By place; absent where there are none. */
  readonly histograms: readonly (Uint8Array | undefined)[] | undefined;
  /** Milliseconds, 0 where it is not known; absent where it never is. */
  readonly starts: Float64Array | undefined;
  /** Whether each time is greater than the one before. */
  readonly isAscending: boolean;
}

/** The rows of a piece in `(fromMs, toMs]`; a view if it is ascending. */
export function sliceBetween(piece: SampleSlice, fromMs: number, toMs: number): SampleSlice {
  const { times } = piece;
  if (!piece.isAscending) return picked(piece, placesBetween(times, fromMs, toMs));
  const from = countUpTo(times, fromMs);
  const to = countUpTo(times, toMs);
  return from === 0 && to === times.length ? piece : sliced(piece, from, to);
}

/** One piece of all, ascending: of equal times the last row stays. */
export function mergeSlices(pieces: readonly SampleSlice[], keepsMissing: boolean): SampleSlice {
  const all = unhidden(pieces.length === 1 ? pieces[0] : concatSlices(pieces));
  const whole = keepsMissing ? all : withoutMissing(all);
  if (whole.isAscending) return keepsMissing ? withoutMissing(whole) : whole;
  const order = Int32Array.from(whole.times, (_, i) => i);
  // Equal times stay in the order in which they count.
  order.sort((a, b) => whole.times[a] - whole.times[b] || a - b);
  const last = order.filter((at, i) => i === order.length - 1 || whole.times[at] !== whole.times[order[i + 1]]);
  const sorted: SampleSlice = { ...picked(whole, last), isAscending: true };
  return keepsMissing ? withoutMissing(sorted) : sorted;
}

/** Without the rows that deletions hide; those are missing rows from then on. */
function unhidden(piece: SampleSlice): SampleSlice {
  const { missing, times } = piece;
  if (missing?.some((mark) => (mark & HIDES) !== 0) !== true) return piece;
  const hiding = new Map<number, number>();
  for (let i = 0; i < missing.length; i++) if ((missing[i] & HIDES) !== 0) hiding.set(times[i], i);
  const places: number[] = [];
  for (let i = 0; i < times.length; i++) if (i >= (hiding.get(times[i]) ?? 0)) places.push(i);
  const counting = picked(piece, Int32Array.from(places));
  return {
    ...counting,
    missing: counting.missing?.map((mark) => mark & MISSING),
    isAscending: piece.isAscending,
  };
}

function withoutMissing(piece: SampleSlice): SampleSlice {
  const { missing, histograms } = piece;
  if (missing === undefined) return piece;
  const places: number[] = [];
  for (let i = 0; i < missing.length; i++) {
    if ((missing[i] & MISSING) === 0 || histograms?.[i] !== undefined) places.push(i);
  }
  if (places.length === missing.length) return { ...piece, missing: undefined };
  return { ...picked(piece, Int32Array.from(places)), missing: undefined, isAscending: piece.isAscending };
}

/** One piece after the other. */
export function concatSlices(pieces: readonly SampleSlice[]): SampleSlice {
  const length = pieces.reduce((sum, { times }) => sum + times.length, 0);
  const whole = {
    times: new Float64Array(length),
    values: new Float64Array(length),
    missing: pieces.some(({ missing }) => missing !== undefined) ? new Uint8Array(length) : undefined,
    histograms: pieces.some(({ histograms }) => histograms !== undefined)
      ? new Array<Uint8Array | undefined>(length)
      : undefined,
    starts: pieces.some(({ starts }) => starts !== undefined) ? new Float64Array(length) : undefined,
  };
  let at = 0;
  let isAscending = true;
  for (const piece of pieces) {
    isAscending &&= piece.isAscending && (at === 0 || piece.times[0] > whole.times[at - 1]);
    whole.times.set(piece.times, at);
    whole.values.set(piece.values, at);
    if (piece.missing !== undefined) whole.missing?.set(piece.missing, at);
    if (piece.starts !== undefined) whole.starts?.set(piece.starts, at);
    copyHistograms(piece, whole.histograms, at);
    at += piece.times.length;
  }
  return { ...whole, isAscending };
}

function copyHistograms({ histograms }: SampleSlice, target: (Uint8Array | undefined)[] | undefined, at: number): void {
  if (histograms === undefined || target === undefined) return;
  for (let i = 0; i < histograms.length; i++) target[at + i] = histograms[i];
}

function sliced({ times, values, missing, histograms, starts }: SampleSlice, from: number, to: number): SampleSlice {
  return {
    times: times.subarray(from, to),
    values: values.subarray(from, to),
    missing: missing?.subarray(from, to),
    histograms: histograms?.slice(from, to),
    starts: starts?.subarray(from, to),
    isAscending: true,
  };
}

function picked(piece: SampleSlice, places: Int32Array): SampleSlice {
  const of = (source: Float64Array): Float64Array => {
    const target = new Float64Array(places.length);
    for (let i = 0; i < places.length; i++) target[i] = source[places[i]];
    return target;
  };
  const { times, values, missing, histograms, starts } = piece;
  return {
    times: of(times),
    values: of(values),
    missing: missing === undefined ? undefined : Uint8Array.from(places, (at) => missing[at]),
    histograms: histograms === undefined ? undefined : Array.from(places, (at) => histograms[at]),
    starts: starts === undefined ? undefined : of(starts),
    isAscending: false,
  };
}

function placesBetween(times: Float64Array, fromMs: number, toMs: number): Int32Array {
  const places: number[] = [];
  for (let i = 0; i < times.length; i++) if (times[i] > fromMs && times[i] <= toMs) places.push(i);
  return Int32Array.from(places);
}

/** How many times are at most `limit`. */
export function countUpTo(times: ArrayLike<number>, limit: number, length = times.length): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
