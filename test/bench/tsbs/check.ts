import type { TsbsData } from './generator.js';
import type { TsbsQuery } from './queries.js';
import { answer, type AnswerColumn, type ExpectedAnswer } from './reference.js';

type Cell = string | number | null;

/** What `/v1/sql` answers, as far as a check needs it. */
interface Records {
  readonly schema: { readonly column_schemas: readonly { readonly name: string; readonly data_type: string }[] };
  readonly rows: readonly (readonly Cell[])[];
}

const NUMBER_TOLERANCE = 1e-9;
const NS_PER_UNIT: Readonly<Record<string, bigint>> = {
  TimestampSecond: 1_000_000_000n,
  TimestampMillisecond: 1_000_000n,
  TimestampMicrosecond: 1_000n,
  TimestampNanosecond: 1n,
};

/**
 * Compares an answer of `/v1/sql` (default JSON format) with the one right answer.
 *
 * @param responseText the body as it came, so that nanoseconds stay exact.
 * @returns '' if they are equal, else the first difference.
 */
export function checkQuery(query: TsbsQuery, data: TsbsData, responseText: string): string {
  return checkAnswer(answer(query, data), responseText);
}

/** The comparison alone: columns by name, numbers within 1e-9, rows in any order unless one was requested. */
export function checkAnswer(expected: ExpectedAnswer, responseText: string): string {
  const records = parseRecords(responseText);
  if (typeof records === 'string') return records;
  const { column_schemas: columns } = records.schema;
  const wanted = expected.columns.map((column) => column.name);
  const got = columns.map((column) => column.name);
  if (wanted.slice().sort().join() !== got.slice().sort().join()) {
    return `columns ${got.join()} instead of ${wanted.join()}`;
  }
  if (records.rows.length !== expected.rows.length) {
    return `${records.rows.length} rows instead of ${expected.rows.length}`;
  }

  const places = expected.columns.map((column) => got.indexOf(column.name));
  const types = places.map((place) => columns[place].data_type);
  let rows = records.rows.map((row) => places.map((place, i) => readCell(row[place], expected.columns[i], types[i])));
  let expectedRows = expected.rows;
  if (!expected.ordered) {
    rows = sortByKey(rows, expected.columns);
    expectedRows = sortByKey(expectedRows, expected.columns);
  }
  for (let i = 0; i < rows.length; i++) {
    const column = rows[i].findIndex((cell, k) => !isSame(cell, expectedRows[i][k]));
    if (column >= 0) {
      const where = `row ${i}, column ${wanted[column]}`;
      return `${where}: ${JSON.stringify(rows[i][column])} instead of ${JSON.stringify(expectedRows[i][column])}`;
    }
  }
  return '';
}

function parseRecords(responseText: string): Records | string {
  // Integers beyond 2^53 are quoted before parsing, so that no digit is lost.
  const exact = responseText.replace(/([[,])(-?\d{16,})(?=[,\]])/g, '$1"$2"');
  const body = JSON.parse(exact) as { readonly output?: readonly { readonly records?: Records }[] };
  return body.output?.[0]?.records ?? `no records: ${responseText.slice(0, 300)}`;
}

/** A cell as the reference has it; what cannot be read so stays as it is and compares unequal. */
function readCell(cell: Cell, column: AnswerColumn, dataType: string): Cell {
  if (column.type !== 'time' || cell === null) return cell;
  const nsPerUnit = NS_PER_UNIT[dataType];
  if (nsPerUnit === undefined) return `${dataType} ${cell}`;
  const ns = BigInt(cell) * nsPerUnit;
  return ns % 1_000_000_000n === 0n ? Number(ns / 1_000_000_000n) : `${ns} ns`;
}

function sortByKey<T extends Cell>(rows: readonly (readonly T[])[], columns: readonly AnswerColumn[]): T[][] {
  const keyColumns = columns.flatMap((column, i) => (column.type === 'number' ? [] : [i]));
  const keyed = rows.map((row) => ({ row, key: keyColumns.map((i) => row[i]).join('\0') }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));
  return keyed.map(({ row }) => [...row]);
}

function isSame(got: Cell, expected: Cell): boolean {
  if (typeof got !== 'number' || typeof expected !== 'number') return got === expected;
  return Math.abs(got - expected) <= NUMBER_TOLERANCE * Math.max(1, Math.abs(expected));
}
