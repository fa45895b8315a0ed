import type { ColumnValues } from './decode-chunk.js';
import type { GroupColumns, Runs } from './runs.js';

/** The last row of each run of a row group, with the fields that were read so far. */
export interface LastRows {
  readonly runs: Runs;
  /** By column ID; undefined: the file does not have the column. */
  readonly fields: ReadonlyMap<number, ColumnValues | undefined>;
  /** Estimated memory in bytes. */
  readonly bytes: number;
}

const BYTES_PER_FIELD = 350;

/** Takes the last rows of a row group: of each run, those with its greatest time. @param known of the same row group; its fields are kept. */
export function lastRowsOf(
  { runs, fields }: GroupColumns,
  fieldIds: readonly number[],
  known: LastRows | undefined,
): LastRows {
  const { rows, ends } = lastOfRuns(runs);
  const all = new Map(known?.fields);
  for (const [i, id] of fieldIds.entries()) all.set(id, chosen(fields[i], rows));
  const last = known?.runs ?? lastRuns(runs, rows, ends);
  let bytes = last.bytes;
  for (const values of all.values()) bytes += BYTES_PER_FIELD + (values?.values.byteLength ?? 0);
  return { runs: last, fields: all, bytes };
}

/** Returns last rows as a row group of their own; undefined if a field was not read yet. */
export function asGroup(last: LastRows | undefined, fieldIds: readonly number[]): GroupColumns | undefined {
  if (last === undefined || fieldIds.some((id) => !last.fields.has(id))) return undefined;
  return { rowCount: last.runs.count, runs: last.runs, fields: fieldIds.map((id) => last.fields.get(id)) };
}

/** Returns the numbers of the last rows, and how many there are up to each run; append-only tables may have several of one time. */
function lastOfRuns(runs: Runs): { readonly rows: Uint32Array; readonly ends: Uint32Array } {
  const rows: number[] = [];
  const ends = new Uint32Array(runs.count + 1);
  for (let run = 0; run < runs.count; run++) {
    const last = runs.rows[run + 1] - 1;
    let first = last;
    const { times } = runs;
    if (runs.steps[run] === 0 && times !== undefined) {
      while (first > runs.rows[run] && times[first - 1] === times[last]) first--;
    }
    for (let row = first; row <= last; row++) rows.push(row);
    ends[run + 1] = rows.length;
  }
  return { rows: Uint32Array.from(rows), ends };
}

function lastRuns(runs: Runs, rows: Uint32Array, ends: Uint32Array): Runs {
  const { count, sids, first, steps, times, base } = runs;
  const own = Float64Array.from({ length: count }, (_, run) => {
    const row = rows[ends[run]];
    return steps[run] === 0 ? (times?.[row] ?? 0) : first[run] + (row - runs.rows[run]) * steps[run];
  });
  // Rows of the same time have no step.
  const isRegular = rows.length === count;
  const ownTimes = isRegular ? undefined : Float64Array.from(rows, (row) => times?.[row] ?? 0);
  const bytes = BYTES_PER_FIELD + sids.byteLength + 3 * own.byteLength + (ownTimes?.byteLength ?? 0);
  const ownSteps = new Float64Array(count).fill(isRegular ? 1 : 0);
  return { count, sids, rows: ends, first: own, steps: ownSteps, times: ownTimes, base, bytes };
}

/** Copies some values of a column. */
function chosen(column: ColumnValues | undefined, rows: Uint32Array): ColumnValues | undefined {
  if (column === undefined) return undefined;
  const { values, base, valid } = column;
  const copied = new (values.constructor as new (length: number) => typeof values)(rows.length);
  for (let i = 0; i < rows.length; i++) copied[i] = values[rows[i]];
  if (valid === undefined) return { values: copied, base, valid: undefined };
  const bits = new Uint8Array((rows.length + 7) >> 3);
  for (let i = 0; i < rows.length; i++) {
    if ((valid[rows[i] >> 3] & (1 << (rows[i] & 7))) !== 0) bits[i >> 3] |= 1 << (i & 7);
  }
  return { values: copied, base, valid: bits };
}
