/** Rows of a segment, or of a part of it, that may match a query. */
export interface RowSet {
  /** Ascending and without duplicates; undefined: all rows. */
  readonly rows: Uint32Array | undefined;
  /** Whether every one of the rows matches. */
  readonly isExact: boolean;
}

/** All rows, of which some may match. */
export const ANY_ROW: RowSet = { rows: undefined, isExact: false };
/** No row. */
export const NO_ROW: RowSet = { rows: new Uint32Array(0), isExact: true };

/** Returns the rows that are in all sets. */
export function intersectRows(sets: readonly RowSet[]): RowSet {
  const isExact = sets.every((set) => set.isExact);
  const given = sets.flatMap(({ rows }) => rows ?? []).sort((a, b) => a.length - b.length);
  if (given.length === 0) return { rows: undefined, isExact };
  return { rows: given.reduce(intersection), isExact };
}

/** Returns the rows that are in any of the sets. @param rowCount number of rows that there are. */
export function uniteRows(sets: readonly RowSet[], rowCount: number): RowSet {
  if (sets.length === 1) return sets[0];
  if (sets.some(({ rows }) => rows === undefined)) return ANY_ROW;
  const marks = new Uint8Array(rowCount);
  let count = 0;
  for (const { rows = NO_ROW.rows } of sets) {
    for (const row of rows ?? []) {
      count += 1 - marks[row];
      marks[row] = 1;
    }
  }
  const rows = new Uint32Array(count);
  for (let row = 0, at = 0; at < count; row++) if (marks[row] === 1) rows[at++] = row;
  return { rows, isExact: sets.every(({ isExact }) => isExact) };
}

function intersection(few: Uint32Array, many: Uint32Array): Uint32Array {
  const common = new Uint32Array(few.length);
  let count = 0;
  for (let i = 0, j = 0; i < few.length && j < many.length;) {
    if (few[i] < many[j]) i++;
    else if (few[i] > many[j]) j++;
    else {
      common[count++] = few[i++];
      j++;
    }
  }
  return common.subarray(0, count);
}
