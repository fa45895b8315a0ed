import type { ColumnValues, DecodedRows } from './decode-chunk.js';

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

/** A row group: its runs, and columns. */
export interface GroupColumns {
  readonly rowCount: number;
  readonly runs: Runs;
  /** In the order of the request; undefined: the file does not have the column. */
  readonly fields: readonly (ColumnValues | undefined)[];
}

const TWO_32 = 2 ** 32;
const BYTES_PER_RUN = 24;
const BYTES_PER_GROUP = 500;

/** Successive rows of one series. */
export interface UntimedRuns {
  readonly sids: Uint32Array;
  /** First row of each run, and the number of rows at the end. */
  readonly rows: Uint32Array;
}

/** Memory for the first rows of runs, kept between calls. */
let starts = new Uint32Array(1 << 15);

/** Finds the runs of a row group. @param sids without nulls */
export function untimedRuns({ numbers, base }: DecodedRows, rowCount: number): UntimedRuns {
  const rows = startsOf(numbers, rowCount);
  const sids = new Uint32Array(rows.length - 1);
  const firstSid = Number(base);
  for (let run = 0; run < sids.length; run++) sids[run] = firstSid + numbers[rows[run]];
  return { sids, rows };
}

/**
 * Returns the first row of each run of equal numbers, and the number of rows at the end. V8 compiles a long loop while it runs.
 * It would compile this one again for each row group if the code after the loop were in the same function.
 */
function startsOf(numbers: Float64Array, rowCount: number): Uint32Array {
  if (starts.length <= rowCount) starts = new Uint32Array(rowCount + 1);
  const count = findStarts(numbers, rowCount);
  starts[count] = rowCount;
  return starts.slice(0, count + 1);
}

function findStarts(numbers: Float64Array, rowCount: number): number {
  let count = 0;
  let last = NaN;
  for (let row = 0; row < rowCount; row++) {
    const number = numbers[row];
    if (number === last) continue;
    last = number;
    starts[count++] = row;
  }
  return count;
}

/** Adds the times of a row group to its runs. @param times without nulls */
export function runsOf({ sids, rows }: UntimedRuns, { numbers, base }: DecodedRows): Runs {
  const count = sids.length;
  const first = new Float64Array(count);
  const steps = new Float64Array(count);
  let isRegular = true;
  for (let run = 0; run < count; run++) {
    first[run] = numbers[rows[run]];
    steps[run] = stepOf(numbers, rows[run], rows[run + 1]);
    if (steps[run] === 0) isRegular = false;
  }
  const times = isRegular ? undefined : copyOf(numbers, rows[count]);
  const bytes = BYTES_PER_GROUP + count * BYTES_PER_RUN + (times?.byteLength ?? 0);
  return { count, sids, rows, first, steps, times, base, bytes };
}

/** Rows, and their order by series and time. */
export interface OrderedRows {
  readonly order: Uint32Array;
  readonly sids: Uint32Array;
  readonly times: Float64Array;
}

/** Returns the runs of rows in their order. @param base to which their times are relative */
export function sortedRuns({ order, sids, times }: OrderedRows, base: bigint): Runs {
  const rowCount = order.length;
  const numbers = new Float64Array(rowCount);
  const sidNumbers = new Float64Array(rowCount);
  for (let at = 0; at < rowCount; at++) sidNumbers[at] = sids[order[at]];
  const rows = startsOf(sidNumbers, rowCount);
  const ofRuns = new Uint32Array(rows.length - 1);
  for (let run = 0; run < ofRuns.length; run++) ofRuns[run] = sidNumbers[rows[run]];
  for (let at = 0; at < rowCount; at++) numbers[at] = times[order[at]];
  return runsOf({ sids: ofRuns, rows }, { numbers, base, present: undefined });
}

/** Returns the difference between all successive times; 1 for a single row, 0 if they are several. */
function stepOf(times: Float64Array, from: number, to: number): number {
  if (to - from < 2) return 1;
  const step = times[from + 1] - times[from];
  for (let row = from + 2; row < to; row++) if (times[row] - times[row - 1] !== step) return 0;
  return step;
}

function copyOf(times: Float64Array, count: number): Uint32Array | Float64Array {
  let greatest = 0;
  for (let row = 0; row < count; row++) if (times[row] > greatest) greatest = times[row];
  return greatest < TWO_32 ? new Uint32Array(times.subarray(0, count)) : times.slice(0, count);
}
