/** Column IDs of a field that make up its samples. */
export interface SampleColumns {
  readonly value: number;
  /** Native histogram, which replaces the value; undefined if the table has none. */
  readonly histogram: number | undefined;
  /** Start time of a counter; undefined if the table does not store it. */
  readonly start: number | undefined;
}

/** Mark of a row without a value; the row may have a histogram. */
export const MISSING = 1;
/** Mark of a row that hides earlier rows of the same time: a deletion, or the first row after one. */
export const HIDES = 2;

/** Rows of one series from one source in the order of precedence: of rows with equal times the last one wins. */
export interface SampleSlice {
  /** Milliseconds since the epoch. */
  readonly times: Float64Array;
  readonly values: Float64Array;
  /** `MISSING` and `HIDES` by row; undefined if no row is marked. */
  readonly missing: Uint8Array | undefined;
  /** Encoded histograms by row; undefined if there are none. */
  readonly histograms: readonly (Uint8Array | undefined)[] | undefined;
  /** Milliseconds, 0 for unknown; undefined if all are unknown. */
  readonly starts: Float64Array | undefined;
  /** Whether the times are strictly ascending. */
  readonly isAscending: boolean;
}

/** Makes a slice of floats, which are ascending by time. */
export function floatSlice(times: Float64Array, values: Float64Array): SampleSlice {
  return { times, values, missing: undefined, histograms: undefined, starts: undefined, isAscending: true };
}

/** Returns the rows in `(fromMs, toMs]`; a view if the slice is ascending. */
export function sliceBetween(slice: SampleSlice, fromMs: number, toMs: number): SampleSlice {
  const { times } = slice;
  if (!slice.isAscending) return picked(slice, positionsBetween(times, fromMs, toMs));
  const from = countUpTo(times, fromMs);
  const to = countUpTo(times, toMs);
  return from === 0 && to === times.length ? slice : sliced(slice, from, to);
}

/** Merges slices into one ascending slice. Of rows with equal times the last one wins. */
export function mergeSlices(slices: readonly SampleSlice[], keepsMissing: boolean): SampleSlice {
  const all = unhidden(slices.length === 1 ? slices[0] : concatSlices(slices));
  const whole = keepsMissing ? all : withoutMissing(all);
  if (whole.isAscending) return keepsMissing ? withoutMissing(whole) : whole;
  const order = Int32Array.from(whole.times, (_, i) => i);
  // Rows with equal times keep their order of precedence.
  order.sort((a, b) => whole.times[a] - whole.times[b] || a - b);
  const last = order.filter((at, i) => i === order.length - 1 || whole.times[at] !== whole.times[order[i + 1]]);
  const sorted: SampleSlice = { ...picked(whole, last), isAscending: true };
  return keepsMissing ? withoutMissing(sorted) : sorted;
}

/** Removes rows that deletions hide. The deletions become missing rows. */
function unhidden(slice: SampleSlice): SampleSlice {
  const { missing, times } = slice;
  if (missing?.some((mark) => (mark & HIDES) !== 0) !== true) return slice;
  const hiding = new Map<number, number>();
  for (let i = 0; i < missing.length; i++) if ((missing[i] & HIDES) !== 0) hiding.set(times[i], i);
  const positions: number[] = [];
  for (let i = 0; i < times.length; i++) if (i >= (hiding.get(times[i]) ?? 0)) positions.push(i);
  const counting = picked(slice, Int32Array.from(positions));
  return {
    ...counting,
    missing: counting.missing?.map((mark) => mark & MISSING),
    isAscending: slice.isAscending,
  };
}

function withoutMissing(slice: SampleSlice): SampleSlice {
  const { missing, histograms } = slice;
  if (missing === undefined) return slice;
  const positions: number[] = [];
  for (let i = 0; i < missing.length; i++) {
    if ((missing[i] & MISSING) === 0 || histograms?.[i] !== undefined) positions.push(i);
  }
  if (positions.length === missing.length) return { ...slice, missing: undefined };
  return { ...picked(slice, Int32Array.from(positions)), missing: undefined, isAscending: slice.isAscending };
}

/** Concatenates slices. */
export function concatSlices(slices: readonly SampleSlice[]): SampleSlice {
  const length = slices.reduce((sum, { times }) => sum + times.length, 0);
  const whole = {
    times: new Float64Array(length),
    values: new Float64Array(length),
    missing: slices.some(({ missing }) => missing !== undefined) ? new Uint8Array(length) : undefined,
    histograms: slices.some(({ histograms }) => histograms !== undefined)
      ? new Array<Uint8Array | undefined>(length)
      : undefined,
    starts: slices.some(({ starts }) => starts !== undefined) ? new Float64Array(length) : undefined,
  };
  let at = 0;
  let isAscending = true;
  for (const slice of slices) {
    isAscending &&= slice.isAscending && (at === 0 || slice.times[0] > whole.times[at - 1]);
    whole.times.set(slice.times, at);
    whole.values.set(slice.values, at);
    if (slice.missing !== undefined) whole.missing?.set(slice.missing, at);
    if (slice.starts !== undefined) whole.starts?.set(slice.starts, at);
    copyHistograms(slice, whole.histograms, at);
    at += slice.times.length;
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

function picked(slice: SampleSlice, positions: Int32Array): SampleSlice {
  const of = (source: Float64Array): Float64Array => {
    const target = new Float64Array(positions.length);
    for (let i = 0; i < positions.length; i++) target[i] = source[positions[i]];
    return target;
  };
  const { times, values, missing, histograms, starts } = slice;
  return {
    times: of(times),
    values: of(values),
    missing: missing === undefined ? undefined : Uint8Array.from(positions, (at) => missing[at]),
    histograms: histograms === undefined ? undefined : Array.from(positions, (at) => histograms[at]),
    starts: starts === undefined ? undefined : of(starts),
    isAscending: false,
  };
}

function positionsBetween(times: Float64Array, fromMs: number, toMs: number): Int32Array {
  const positions: number[] = [];
  for (let i = 0; i < times.length; i++) if (times[i] > fromMs && times[i] <= toMs) positions.push(i);
  return Int32Array.from(positions);
}

/** Returns how many of the ascending times are at most `limit`. */
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
