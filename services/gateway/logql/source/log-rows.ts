import type { Slices } from '#shared/clock/slices';
import type { Call } from '#shared/contracts/call';
import type { QuerierService } from '#shared/contracts/gen/querier';
import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import { isJsonObject, stringifyJson, type JsonValue } from '../../protocols/common/json.js';
import { sqlRows, type SqlRow } from '../../query/sql-rows.js';
import { labelName, RowLabels } from '../line/row-labels.js';
import type { PipelineLine } from '../line/pipeline-line.js';
import type { LogTable } from './log-table.js';

/** What reads rows: the table, where it is, and the limits of the query. */
export interface LogSource {
  readonly table: LogTable;
  readonly database: string;
  readonly querier: QuerierService;
  readonly call: Call;
  readonly budget: RowBudget;
  /** Cut the work on lines, which the main thread does between other requests. */
  readonly slices: Slices;
}

/** Counts the rows that a query reads outside of the engine. */
export class RowBudget {
  readonly #rowsMax: number;
  rows = 0;
  bytes = 0;

  constructor(rowsMax: number) {
    this.#rowsMax = rowsMax;
  }

  /** @throws `invalid_arguments` if the query reads too many rows. */
  add(rows: number, bytes: number): void {
    this.rows += rows;
    this.bytes += bytes;
    if (this.rows <= this.#rowsMax) return;
    throw new AlmanacError(
      'invalid_arguments',
      `the query reads more than ${this.#rowsMax} lines: add line filters, use more specific matchers, or a shorter range`,
    );
  }
}

/** Work units of a line besides its characters: the clock is read at least every 32 lines, which can take 0.1 ms each. */
const LINE_WORK = 512;

/** Returns the work units of the stages of a row. */
export function lineWork(row: SqlRow): number {
  return LINE_WORK + (typeof row[1] === 'string' ? row[1].length : 0);
}

/** Columns before those of the labels. */
const FIXED_COUNT = 2;
/** Streams whose labels are kept between rows. */
const STREAMS_MAX = 50_000;

/** Returns the columns that `RowReader` reads, as SQL. @param baseNs times are relative to it, so that they are exact. */
export function rowColumnsSql(table: LogTable, baseNs: bigint): string {
  const columns = [
    `epoch_ns(${quoteName(table.timeColumn)}) - ${baseNs}`,
    table.line,
    ...table.tags.map(({ column }) => quoteName(column)),
    ...table.metadata.map(({ column, isJson }) => {
      return isJson ? quoteName(column) : `CAST(${quoteName(column)} AS VARCHAR)`;
    }),
  ];
  return columns.join(', ');
}

/** Returns the time that times of rows from `fromNs` on are relative to: differences must not exceed 64 bits. */
export function safeBase(fromNs: bigint): bigint {
  return fromNs < 0n ? 0n : fromNs;
}

/** Turns rows of `rowColumnsSql` into lines; each call overwrites the line of the one before. */
export class RowReader {
  readonly #table: LogTable;
  readonly #baseNs: bigint;
  readonly #streams = new Map<string, ReadonlyMap<string, string>>();
  readonly #line: { text: string; timeNs: bigint; readonly labels: RowLabels };

  /** @param wanted names of labels of parsers that are kept; undefined: all. */
  constructor(table: LogTable, baseNs: bigint, wanted?: ReadonlySet<string>) {
    this.#table = table;
    this.#baseNs = baseNs;
    this.#line = { text: '', timeNs: 0n, labels: new RowLabels(wanted) };
  }

  read(row: SqlRow): PipelineLine {
    const { tags, metadata } = this.#table;
    const line = this.#line;
    line.timeNs = this.#baseNs + BigInt(row[0] as number | bigint);
    line.text = typeof row[1] === 'string' ? row[1] : '';
    const { labels } = line;
    labels.reset(this.#streamOf(row, tags.length));
    for (let i = 0; i < metadata.length; i++) {
      const value = row[FIXED_COUNT + tags.length + i];
      if (value !== null) addMetadata(labels, metadata[i], value);
    }
    return line;
  }

  #streamOf(row: SqlRow, tagCount: number): ReadonlyMap<string, string> {
    let key = '';
    for (let i = FIXED_COUNT; i < FIXED_COUNT + tagCount; i++) {
      key += row[i] === null ? '\u0001' : `${row[i] as string}\u0000`;
    }
    const known = this.#streams.get(key);
    if (known !== undefined) return known;
    const labels = new Map<string, string>();
    for (const [i, { label }] of this.#table.tags.entries()) {
      const value = row[FIXED_COUNT + i];
      if (typeof value === 'string' && value !== '') labels.set(label, value);
    }
    if (this.#streams.size >= STREAMS_MAX) this.#streams.clear();
    this.#streams.set(key, labels);
    return labels;
  }
}

function addMetadata(
  labels: RowLabels,
  { label, isJson, isLoki }: LogTable['metadata'][number],
  value: JsonValue,
): void {
  if (!isJson) return labels.addMetadata(label, value as string);
  if (!isJsonObject(value)) return labels.addMetadata(label, stringifyJson(value));
  for (const name in value) {
    const member = value[name];
    if (member === null) continue;
    const text = typeof member === 'string' ? member : stringifyJson(member);
    labels.addMetadata(isLoki ? name : labelName(name), text);
  }
}

/** Runs SQL for a source and counts its rows. */
export async function* countedRows(source: LogSource, sql: string): AsyncGenerator<readonly SqlRow[], void, undefined> {
  const { querier, database, call, budget } = source;
  for await (const rows of sqlRows(querier, { sql, database }, call)) {
    let bytes = 0;
    for (const row of rows) if (typeof row[1] === 'string') bytes += row[1].length;
    budget.add(rows.length, bytes);
    yield rows;
  }
}
