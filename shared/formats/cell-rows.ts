import { TextWriter } from '#shared/bytes/text-writer';
import { wholeText } from '#shared/bytes/whole-text';
import type { Cell } from '#shared/duckdb/chunk-reader';
import { plainCells, type ColumnCells, type NumberCells, type SharedCells } from '#shared/duckdb/column-cells';

import type { Encoder } from './format.js';
import { NumberGroup, type NumberColumn } from './number-group.js';

/** Writes values that are not null. */
export interface CellWriter {
  readonly write: (out: TextWriter, cell: Cell) => void;
  /** What numbers are written as, if these are written together. */
  readonly kind?: 'integer' | 'float';
}

/** What rows consist of, apart from their values, which commas separate. */
export interface RowShape {
  /** Writes what is before the first value of a row. */
  readonly open: (out: TextWriter, row: number) => void;
  /** Writes what is after its last value. */
  readonly close: (out: TextWriter) => void;
  readonly nullText: string;
}

const COMMA = 0x2c;

/** Shared by all calls, which do not interrupt each other. */
const out = new TextWriter();

/** Numbers whose text is made together. */
const NUMBERS_AT_ONCE = 1 << 13;

/** Returns the text of rows. @param writers of the columns */
export function encodeCellRows(
  cells: readonly ColumnCells[],
  rowCount: number,
  writers: readonly CellWriter[],
  { open, close, nullText }: RowShape,
): Uint8Array {
  try {
    const { members, groups } = membersOf(cells, rowCount, writers, nullText);
    const rowsAtOnce = Math.max(1, Math.floor(NUMBERS_AT_ONCE / cells.length));
    for (let from = 0; from < rowCount;) {
      const to = Math.min(from + rowsAtOnce, rowCount);
      NumberGroup.prepare(groups, from, to);
      for (let row = from; row < to; row++) {
        open(out, row);
        for (let i = 0; i < members.length; i++) {
          if (i > 0) out.byte(COMMA);
          members[i](row);
        }
        close(out);
      }
      from = to;
    }
    return out.take();
  } catch (error) {
    out.clear();
    throw error;
  }
}

/** Writes the cells of a row that follow each other, with commas between them. */
type RowWriter = (row: number) => void;

interface RowMembers {
  readonly members: readonly RowWriter[];
  /** Those of the members whose texts are made for several rows. */
  readonly groups: readonly NumberGroup[];
}

function membersOf(
  cells: readonly ColumnCells[],
  rowCount: number,
  writers: readonly CellWriter[],
  nullText: string,
): RowMembers {
  const members: RowWriter[] = [];
  const groups: NumberGroup[] = [];
  for (let i = 0; i < cells.length;) {
    const numbers = numbersFrom(cells, rowCount, writers, i);
    const column = cells[i];
    if (numbers.length > 0) {
      const group = new NumberGroup(numbers, nullText);
      groups.push(group);
      members.push((row) => group.write(out, row));
      i += numbers.length;
    } else if ('numbers' in column) {
      const shared = sharedFrom(cells, i, column);
      members.push(sharedMember(shared, writers.slice(i, i + shared.length), nullText));
      i += shared.length;
    } else {
      const plain = plainCells(column, rowCount);
      const writer = writers[i];
      members.push((row) => writeCell(plain[row], writer, nullText));
      i++;
    }
  }
  return { members, groups };
}

/** Returns the columns of numbers that follow each other from a position on. */
function numbersFrom(
  cells: readonly ColumnCells[],
  rowCount: number,
  writers: readonly CellWriter[],
  from: number,
): NumberColumn[] {
  const found: NumberColumn[] = [];
  for (let i = from; i < cells.length; i++) {
    const { kind, write } = writers[i];
    const column = cells[i];
    // Formats that change 64-bit integers, such as times of `influxdb_v1`, take no arrays.
    if ('words' in column) found.push({ kind: undefined, cells: column, write });
    else {
      const numbers = kind === undefined ? undefined : numberCells(column, rowCount);
      if (numbers === undefined) break;
      found.push({ kind, cells: numbers, write });
    }
  }
  return found;
}

/** Returns a column as numbers; undefined if it has others. */
function numberCells(column: ColumnCells, rowCount: number): NumberCells | undefined {
  if ('values' in column && 'present' in column) return column;
  if ('numbers' in column || 'bytes' in column) return undefined;
  const values = new Float64Array(rowCount);
  const present = new Uint8Array(rowCount);
  for (let row = 0; row < rowCount; row++) {
    const cell = (column as readonly Cell[])[row];
    if (cell === null) continue;
    if (typeof cell !== 'number') return undefined;
    values[row] = cell;
    present[row] = 1;
  }
  return { values, present };
}

/** Returns the columns that follow each other from a position on, and share their cells as the first does. */
function sharedFrom(cells: readonly ColumnCells[], from: number, first: SharedCells): SharedCells[] {
  const shared = [first];
  for (let i = from + 1; i < cells.length; i++) {
    const next = cells[i];
    if (!('numbers' in next) || next.numbers !== first.numbers) break;
    shared.push(next);
  }
  return shared;
}

/** Returns what copies the text of an earlier row with the same cells. */
function sharedMember(columns: readonly SharedCells[], writers: readonly CellWriter[], nullText: string): RowWriter {
  const [{ numbers, cells: first }] = columns;
  // Where the text of each number is, if it has been written.
  const starts = new Uint32Array(first.length);
  const ends = new Uint32Array(first.length);
  return (row) => {
    const number = numbers[row];
    if (ends[number] > 0) {
      out.repeat(starts[number], ends[number]);
      return;
    }
    starts[number] = out.length;
    for (const [i, { cells }] of columns.entries()) {
      if (i > 0) out.byte(COMMA);
      writeCell(cells[number], writers[i], nullText);
    }
    ends[number] = out.length;
  };
}

function writeCell(cell: Cell, { write }: CellWriter, nullText: string): void {
  if (cell === null) out.text(nullText);
  else write(out, cell);
}

/** Returns what writes the text of an encoder. */
export function encodedBy(encoder: Encoder): CellWriter {
  return { write: (to, cell) => to.text(encoder(cell)) };
}

/** Writes integers. */
export const INTEGER_WRITER: CellWriter = {
  kind: 'integer',
  write(to, cell) {
    if (typeof cell === 'number' && Number.isSafeInteger(cell)) to.whole(cell);
    else if (typeof cell === 'bigint') to.bigint(cell);
    else to.text(bareText(cell));
  },
};

/** Writes numbers as `float64Text`. */
export const FLOAT_WRITER: CellWriter = { kind: 'float', write: (to, cell) => to.text(float64Text(cell as number)) };

/** Returns the text of an integer, a boolean, or a text as it stands. */
export function bareText(cell: Cell): string {
  return typeof cell === 'number' ? wholeText(cell) : (cell as bigint | boolean | string).toString();
}

/** Returns the shortest text that reads back equal, always with a point or an exponent. */
export function float64Text(value: number): string {
  if (!Number.isFinite(value)) return 'null';
  if (Object.is(value, -0)) return '-0.0';
  return withPoint(String(value));
}

/** Returns the text of a number with a point or an exponent. */
export function withPoint(text: string): string {
  return text.includes('.') || text.includes('e') ? text : `${text}.0`;
}
