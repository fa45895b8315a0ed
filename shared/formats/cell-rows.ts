import { TextWriter } from '#shared/bytes/text-writer';
import { wholeText } from '#shared/bytes/whole-text';
import type { Cell } from '#shared/duckdb/chunk-reader';
import {
  plainCells,
  type ColumnCells,
  type LongCells,
  type NumberCells,
  type SharedCells,
} from '#shared/duckdb/column-cells';

import type { Encoder } from './format.js';

/** Writes one value that is not null. */
export type CellWriter = (out: TextWriter, cell: Cell) => void;

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

/** Returns the text of rows. @param writers of the columns */
export function encodeCellRows(
  cells: readonly ColumnCells[],
  rowCount: number,
  writers: readonly CellWriter[],
  { open, close, nullText }: RowShape,
): Uint8Array {
  try {
    const members = membersOf(cells, rowCount, writers, nullText);
    for (let row = 0; row < rowCount; row++) {
      open(out, row);
      for (let i = 0; i < members.length; i++) {
        if (i > 0) out.byte(COMMA);
        members[i](row);
      }
      close(out);
    }
    return out.take();
  } catch (error) {
    out.clear();
    throw error;
  }
}

/** Writes the cells of a row that follow each other, with commas between them. */
type RowWriter = (row: number) => void;

function membersOf(
  cells: readonly ColumnCells[],
  rowCount: number,
  writers: readonly CellWriter[],
  nullText: string,
): RowWriter[] {
  const members: RowWriter[] = [];
  for (let i = 0; i < cells.length;) {
    const given = cells[i];
    const column = 'bytes' in given ? plainCells(given, rowCount) : given;
    let end = i + 1;
    if ('numbers' in column) {
      const shared: SharedCells[] = [column];
      for (let next = cells[end]; end < cells.length && 'numbers' in next; next = cells[++end]) {
        if (next.numbers !== column.numbers) break;
        shared.push(next);
      }
      members.push(sharedMember(shared, writers.slice(i, end), nullText));
    } else {
      members.push(memberOf(column, writers[i], nullText));
    }
    i = end;
  }
  return members;
}

function memberOf(column: readonly Cell[] | NumberCells | LongCells, write: CellWriter, nullText: string): RowWriter {
  if ('words' in column) {
    // Formats that change them, such as times of `influxdb_v1`, take no arrays.
    const { words, present } = column;
    if (present === undefined) return (row) => out.int64(words[2 * row], words[2 * row + 1]);
    return (row) => {
      if (present[row] === 0) out.text(nullText);
      else out.int64(words[2 * row], words[2 * row + 1]);
    };
  }
  if ('present' in column) return numberMember(column, write, nullText);
  return (row) => writeCell(column[row], write, nullText);
}

/** Returns a function of its own for the usual types, which has their writer in it. */
function numberMember({ values, present }: NumberCells, write: CellWriter, nullText: string): RowWriter {
  if (write === writeInteger) {
    return (row) => {
      if (present[row] === 0) out.text(nullText);
      else writeInteger(out, values[row]);
    };
  }
  if (write === writeFloat64) {
    return (row) => {
      if (present[row] === 0) out.text(nullText);
      else writeFloat64(out, values[row]);
    };
  }
  return (row) => writeCell(present[row] === 0 ? null : values[row], write, nullText);
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

function writeCell(cell: Cell, write: CellWriter, nullText: string): void {
  if (cell === null) out.text(nullText);
  else write(out, cell);
}

/** Returns what writes the text of an encoder. */
export function encodedBy(encoder: Encoder): CellWriter {
  return (to, cell) => to.text(encoder(cell));
}

/** Writes an integer. */
export function writeInteger(to: TextWriter, cell: Cell): void {
  if (typeof cell === 'number' && Number.isSafeInteger(cell)) to.whole(cell);
  else if (typeof cell === 'bigint') to.bigint(cell);
  else to.text(bareText(cell));
}

/** Writes a number as `float64Text`, in less time. */
export function writeFloat64(to: TextWriter, cell: Cell): void {
  const value = cell as number;
  if (Number.isSafeInteger(value) && value !== 0) {
    to.whole(value);
    to.text('.0');
    return;
  }
  const thousandths = Math.round(value * 1000);
  // Up to 15 digits are the shortest text of a number that reads back equal.
  if (thousandths / 1000 === value && value !== 0 && Math.abs(thousandths) < 1e15) to.thousandths(thousandths);
  else if (!to.shortest(value)) to.text(float64Text(value));
}

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
