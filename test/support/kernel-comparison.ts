import { expect } from 'chai';

import type { Almanac } from './almanac.js';
import type { RandomQuery } from './kernel-queries.js';

async function csv(sql: string, almanac: Almanac): Promise<string> {
  const body = new URLSearchParams({ sql, format: 'csvWithNamesAndTypes' }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const { status, text } = await almanac.post('/v1/sql', body, headers);
  if (status !== 200) expect.fail(`${sql}: ${text}`);
  return text;
}

/** Returns the cells of the rows as JSON, as texts: numbers as they are written, null as an empty one. */
async function jsonRows(sql: string, almanac: Almanac): Promise<string[][]> {
  const body = new URLSearchParams({ sql }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const { status, text } = await almanac.post('/v1/sql', body, headers);
  if (status !== 200) expect.fail(`${sql}: ${text}`);
  const exact = text.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') ? token : `"${token}"`,
  );
  const { output } = JSON.parse(exact) as { output: [{ records: { rows: (string | boolean | null)[][] } }] };
  return output[0].records.rows.map((row) => row.map((cell) => String(cell ?? '')));
}

/** Returns the cells of CSV as those of JSON, which has null for numbers that are not finite. */
function asJson(cells: readonly string[][]): string[][] {
  return cells.map((row) =>
    row.map((cell) => {
      if (/^(?:NaN|-?inf)$/.test(cell)) return '';
      return cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;
    }),
  );
}

function areSameLines(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  const [lines, others] = [one, other].map((text) => text.split('\r\n'));
  const isSameHead = lines[0] === others[0] && lines[1] === others[1];
  return isSameHead && lines.sort().join('\n') === others.sort().join('\n');
}

function cellsOf(text: string): string[][] {
  return text
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line) => line.split(','));
}

/** Returns the line of EXPLAIN that says what runs a query. */
export async function pathOf(sql: string, almanac: Almanac): Promise<string> {
  const [[, plan]] = await almanac.rows(`EXPLAIN ${sql}`);
  return String(plan).split('\n').at(-1) ?? '';
}

/** Compares the results of kernels and of the engine, which runs all queries with a subquery. @returns who ran it. */
export async function compareWithEngine(query: RandomQuery, almanac: Almanac): Promise<string> {
  await compareOnly(query, almanac);
  const [[, , plan]] = await almanac.rows(`EXPLAIN ANALYZE ${query.sql}`);
  return /^path: .*$/m.exec(String(plan))?.[0] ?? '';
}

/** Returns how many queries kernels have run until now. */
export async function kernelQueryCount(almanac: Almanac): Promise<number> {
  const { text } = await almanac.get('/metrics');
  return Number(/^almanac_querier_query_paths_total\{path="kernels"\} (\d+)$/m.exec(text)?.[1] ?? 0);
}

/** How often `compareOnly` lets kernels run a query: for CSV, and for JSON, which is made in another way. */
export const RUNS_OF_COMPARISON = 2;

/** Compares the results, without finding out who ran the query. */
export async function compareOnly({ sql, isOrdered, inexact }: RandomQuery, almanac: Almanac): Promise<void> {
  const [text, engineText, json] = await Promise.all([
    csv(sql, almanac),
    csv(`SELECT * FROM (${sql}) AS q`, almanac),
    jsonRows(sql, almanac),
  ]);
  const found = cellsOf(text);
  compareRows(json, asJson(found.slice(2)), { sql: `JSON of ${sql}`, isOrdered, inexact });
  if (text === engineText || (!isOrdered && areSameLines(text, engineText))) return;
  const expected = cellsOf(engineText);
  expect(found.slice(0, 2), sql).to.deep.equal(expected.slice(0, 2));
  compareRows(found.slice(2), expected.slice(2), { sql, isOrdered, inexact, types: found[1] });
}

/** A query, and the types of its columns if these are known. */
interface ComparedQuery extends RandomQuery {
  readonly types?: readonly string[];
}

function compareRows(
  found: readonly string[][],
  expected: readonly string[][],
  { sql, isOrdered, inexact, types = [] }: ComparedQuery,
): void {
  const [rows, others] = [found, expected].map((all) => {
    const data = all.map((row) => row.map((cell, i) => normal(cell, inexact.has(i))));
    if (isOrdered) return data;
    const keyed = data.map((row) => ({ row, key: keyOf(row, inexact) }));
    return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ row }) => row);
  });
  expect(rows.length, sql).to.equal(others.length);
  for (const [i, row] of rows.entries()) {
    for (const [k, cell] of row.entries()) {
      const other = others[i][k];
      if (types.at(k) === 'Float32' && isLongerFloat(cell, other)) continue;
      if (cell === other || (inexact.has(k) && areClose(Number(cell), Number(other)))) continue;
      expect.fail(`${sql}, row ${i}: ${row.join()} instead of ${others[i].join()}`);
    }
  }
}

/** Whether the engine wrote a longer text of a number where two shortest ones are equally close: 3.79296875 for 3.7929688. */
function isLongerFloat(text: string, other: string): boolean {
  return text !== '' && other.length > text.length && Math.fround(Number(text)) === Number(other);
}

function normal(cell: string, isInexact: boolean): string {
  const isNumber = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/.test(cell);
  // Which of the two zeros is the least or greatest depends on the order of the rows.
  if (cell === '-0.0' || (isInexact && cell === '-0')) return '0.0';
  // The engine writes other exponents.
  const size = isNumber ? Math.abs(Number(cell)) : 1;
  return size >= 1e15 || (size > 0 && size < 1e-3) ? String(Number(cell)) : cell;
}

/** Sorts rows by the columns that are equal on both sides. */
function keyOf(row: readonly string[], inexact: ReadonlySet<number>): string {
  return JSON.stringify(row.filter((_, i) => !inexact.has(i)));
}

function areClose(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b), 1);
}
