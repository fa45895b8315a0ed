import type { ColumnValues } from './decode-chunk.js';

/**
 * The runs of a row group: successive rows of one series, in the order of their times. Segments are sorted by series and time,
 * so a series has one run in a row group.
 */
export interface Runs {
  readonly count: number;
  /** Series numbers, ascending unless the segment is sorted by metric first. */
  readonly sids: Uint32Array;
  /** First row of each run, and the number of rows at the end. */
  readonly rows: Uint32Array;
  /** Time of the first row of each run, relative to `base`. */
  readonly first: Float64Array;
  /** Difference between successive times of each run; 0: they are not regular, and `times` has them. */
  readonly steps: Float64Array;
  /** Times of all rows, relative to `base`; undefined if all runs are regular. */
  readonly times: Uint32Array | Float64Array | undefined;
  /** Least time, in the unit of the column. */
  readonly base: bigint;
  /** Estimated memory in bytes. */
  readonly bytes: number;
}

const BYTES_PER_RUN = 24;
const BYTES_PER_GROUP = 500;

/** Finds the runs of a row group. Neither column has nulls. */
export function runsOf(sids: ColumnValues, times: ColumnValues): Runs {
  const own = asNumbers(sids);
  const firstSid = Number(sids.base);
  const relative = asNumbers(times);
  const length = own.length;
  const starts: number[] = [];
  for (let row = 0; row < length; row++) if (row === 0 || own[row] !== own[row - 1]) starts.push(row);
  const count = starts.length;
  const found = {
    sids: new Uint32Array(count),
    rows: new Uint32Array(count + 1),
    first: new Float64Array(count),
    steps: new Float64Array(count),
  };
  found.rows[count] = length;
  let isRegular = true;
  for (let run = 0; run < count; run++) {
    const from = starts[run];
    const to = run + 1 < count ? starts[run + 1] : length;
    found.sids[run] = firstSid + own[from];
    found.rows[run] = from;
    found.first[run] = relative[from];
    found.steps[run] = stepOf(relative, from, to);
    if (found.steps[run] === 0) isRegular = false;
  }
  const kept = isRegular ? undefined : times.values.length === 0 ? undefined : wide(times.values);
  const bytes = BYTES_PER_GROUP + count * BYTES_PER_RUN + (kept?.byteLength ?? 0);
  return { count, ...found, times: kept, base: times.base, bytes };
}

/** Returns the difference between all successive times; 1 for a single row, 0 if there are several. */
function stepOf(times: Float64Array, from: number, to: number): number {
  if (to - from < 2) return 1;
  const step = times[from + 1] - times[from];
  for (let row = from + 2; row < to; row++) if (times[row] - times[row - 1] !== step) return 0;
  return step;
}

/** One type of array for the loops here, which are slow for several. */
function asNumbers({ values }: ColumnValues): Float64Array {
  return values instanceof Float64Array ? values : Float64Array.from(values);
}

function wide(values: ColumnValues['values']): Uint32Array | Float64Array {
  return values instanceof Float64Array || values instanceof Uint32Array ? values : Uint32Array.from(values);
}
