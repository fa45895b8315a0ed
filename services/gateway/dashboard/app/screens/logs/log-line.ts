import { levelInLine, levelOf, type Level } from './search/levels.js';
import type { LogTable } from './search/log-table.js';

/** A value of a line; null if it has none. */
export type FieldValue = string | number | bigint | boolean | null;

/** A line with all of its fields. */
export interface LogLine {
  /** Unique in the list: the time and, of lines with the same one, their number. */
  readonly key: string;
  readonly timeNs: bigint;
  readonly text: string;
  readonly level: Level | undefined;
  /** All columns but the time, those without a value left out; JSON as text. */
  readonly fields: ReadonlyMap<string, string>;
}

/** The columns and cells of a result. */
export interface CellSource {
  readonly columns: readonly { readonly name: string; readonly fractionDigits: number }[];
  readonly rowCount: number;
  value(column: number, row: number): FieldValue | Uint8Array;
}

/** Rows that are read before the page may do something else. */
const SLICE = 1000;

/** Returns the rows of a result as lines. @param pause called between slices of the work. */
export async function linesOf(rows: CellSource, table: LogTable, pause: () => Promise<void>): Promise<LogLine[]> {
  const time = rows.columns.findIndex(({ name }) => name === table.timeColumn);
  const scale = 10n ** BigInt(9 - rows.columns[time].fractionDigits);
  const keys = new LineKeys();
  const lines: LogLine[] = [];
  for (let row = 0; row < rows.rowCount; row++) {
    if (row % SLICE === SLICE - 1) await pause();
    const fields = new Map<string, string>();
    rows.columns.forEach(({ name }, column) => {
      if (column === time) return;
      const value = rows.value(column, row);
      if (value !== null) fields.set(name, value instanceof Uint8Array ? hexText(value) : String(value));
    });
    const timeNs = (rows.value(time, row) as bigint) * scale;
    lines.push(lineOf(timeNs, fields, table, keys));
  }
  return lines;
}

/** Returns a row of `/v1/logs` as a line. @param json the row's object as text. */
export function lineOfJson(json: string, table: LogTable, keys: LineKeys): LogLine {
  const row = parseExact(json) as Record<string, unknown>;
  const fields = new Map<string, string>();
  for (const [name, value] of Object.entries(row)) {
    if (name === table.timeColumn || value === null) continue;
    fields.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  return lineOf(nanosecondsOf(String(row[table.timeColumn])), fields, table, keys);
}

/** Numbers lines that have the same time. */
export class LineKeys {
  readonly #counts = new Map<bigint, number>();

  next(timeNs: bigint): string {
    // Times of a live tail are many, and each is seen for a short time only.
    if (this.#counts.size > 50_000) this.#counts.clear();
    const count = this.#counts.get(timeNs) ?? 0;
    this.#counts.set(timeNs, count + 1);
    return count === 0 ? String(timeNs) : `${timeNs}-${count}`;
  }
}

/** Reads a time of the server: RFC 3339 with up to nine digits of the second. @returns nanoseconds since 1970. */
export function nanosecondsOf(text: string): bigint {
  const match = /^(.{19})(?:\.(\d{1,9}))?Z$/.exec(text);
  if (match === null) return BigInt(Date.parse(text) || 0) * 1_000_000n;
  return BigInt(Date.parse(`${match[1]}Z`)) * 1_000_000n + BigInt((match[2] ?? '').padEnd(9, '0'));
}

/** Parses JSON; integers that a number does not hold exactly stay texts, where the browser can tell. */
function parseExact(json: string): unknown {
  // The third parameter is not in the types of this version of the language yet.
  const exact = (_: string, value: unknown, context?: { readonly source?: string }): unknown =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '')
      ? context?.source
      : value;
  return JSON.parse(json, exact);
}

function lineOf(timeNs: bigint, fields: ReadonlyMap<string, string>, table: LogTable, keys: LineKeys): LogLine {
  const text = fields.get(table.lineColumn) ?? '';
  return { key: keys.next(timeNs), timeNs, text, level: levelOfLine(text, fields, table), fields };
}

function levelOfLine(text: string, fields: ReadonlyMap<string, string>, table: LogTable): Level | undefined {
  if (table.levelColumn === undefined) return levelInLine(text);
  const own = fields.get(table.levelColumn) ?? '';
  if (own !== '') return levelOf(own);
  const number = Number(fields.get('severity_number') ?? 0);
  const names = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
  return number >= 1 && number <= 24 ? names[Math.floor((number - 1) / 4)] : undefined;
}

function hexText(bytes: Uint8Array): string {
  return Array.from(bytes.subarray(0, 512), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A line, and how many equal ones follow it that are not shown. */
export interface CountedLine {
  readonly line: LogLine;
  readonly repeats: number;
}

/** Joins neighbours with the same text and level. */
export function withoutRepeats(lines: readonly LogLine[]): CountedLine[] {
  const joined: { line: LogLine; repeats: number }[] = [];
  for (const line of lines) {
    const last = joined.at(-1);
    if (last?.line.text === line.text && last.line.level === line.level) last.repeats++;
    else joined.push({ line, repeats: 0 });
  }
  return joined;
}
