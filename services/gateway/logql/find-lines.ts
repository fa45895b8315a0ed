import { quoteName } from '#shared/duckdb/quote';

import { countedRows, lineWork, RowReader, rowColumnsSql, safeBase, type LogSource } from './source/log-rows.js';
import { inRangeSql, pushDown } from './source/push-down.js';
import type { SqlRow } from '../query/sql-rows.js';
import { compileStages } from './stages/pipeline.js';
import type { LineStage, PipelineLine } from './line/pipeline-line.js';
import type { LogQuery } from './syntax/ast.js';

/** A search for lines, in the order of their times. */
export interface LineSearch {
  readonly query: LogQuery;
  readonly fromNs: bigint;
  /** Excluded. */
  readonly toNs: bigint;
  readonly isForward: boolean;
  readonly limit: number;
  /** Whether `visit` may skip lines, so that more rows than `limit` can be needed. */
  readonly isSparse?: boolean;
}

/** A range is searched in parts, of which the first is this small: most searches end in it. */
const FIRST_PART = 64n;
const GROWTH = 4n;
/** Rows that the engine sorts at once. */
const BATCH_ROWS = 20_000;
const GROWN_BATCH_ROWS = 160_000;
const BATCH_ROWS_MAX = 1_280_000;

/** Calls `visit` for each line found, until it returns false or there are `limit` lines. */
export async function findLines(
  search: LineSearch,
  source: LogSource,
  visit: (line: PipelineLine) => boolean,
): Promise<void> {
  const { query, isForward, limit } = search;
  if (limit <= 0 || search.toNs <= search.fromNs) return;
  const pushed = pushDown(query, source.table);
  const stages = compileStages(pushed.stages);
  const finder = new LineFinder(source, {
    conditions: pushed.conditions,
    stages,
    isForward,
    visit,
    left: limit,
    isSparse: search.isSparse === true,
  });
  // Without stages the engine finds exactly what is needed.
  if (stages.length === 0 && search.isSparse !== true) {
    return void (await finder.batch(search.fromNs, search.toNs, limit));
  }
  const span = search.toNs - search.fromNs;
  let width = span / FIRST_PART + 1n;
  let { fromNs, toNs } = search;
  while (toNs > fromNs) {
    const partFrom = isForward ? fromNs : max(fromNs, toNs - width);
    const partTo = isForward ? min(toNs, fromNs + width) : toNs;
    if (!(await finder.part(partFrom, partTo))) return;
    if (isForward) fromNs = partTo;
    else toNs = partFrom;
    width *= GROWTH;
  }
}

interface FinderOptions {
  readonly conditions: readonly string[];
  readonly stages: readonly LineStage[];
  readonly isForward: boolean;
  readonly visit: (line: PipelineLine) => boolean;
  readonly isSparse: boolean;
  left: number;
}

class LineFinder {
  readonly #source: LogSource;
  readonly #options: FinderOptions;

  constructor(source: LogSource, options: FinderOptions) {
    this.#source = source;
    this.#options = options;
  }

  /** Visits the lines of a part of the range, batch by batch. Returns whether to continue. */
  async part(fromNs: bigint, toNs: bigint): Promise<boolean> {
    let [from, to] = [fromNs, toNs];
    let rowsMax = BATCH_ROWS;
    for (;;) {
      const end = await this.batch(from, to, rowsMax);
      if (end === 'enough') return false;
      if (end === 'complete') return true;
      // Each batch reads the rest of the part again, so a search that finds little takes larger ones. If all rows of a
      // batch have one time, only a larger one makes progress.
      const most = end === undefined ? BATCH_ROWS_MAX : GROWN_BATCH_ROWS;
      rowsMax = Math.max(rowsMax, Math.min(rowsMax * 4, most));
      if (end === undefined) continue;
      if (this.#options.isForward) from = end;
      else to = end + 1n;
    }
  }

  /**
   * Visits up to `rowsMax` rows. Rows with the time of the last one are left for the next batch, unless the part is complete.
   *
   * @returns the time where the next batch begins; undefined if that would be this batch again.
   */
  async batch(fromNs: bigint, toNs: bigint, rowsMax: number): Promise<'enough' | 'complete' | bigint | undefined> {
    const sql = this.#sql(fromNs, toNs, rowsMax);
    const { stages, isSparse } = this.#options;
    const reader = new RowReader(this.#source.table, safeBase(fromNs));
    const isExact = stages.length === 0 && !isSparse;
    let held: SqlRow[] = [];
    let count = 0;
    for await (const rows of countedRows(this.#source, sql)) {
      count += rows.length;
      for (const row of rows) {
        if (!isExact && isOfOtherTime(row, held)) {
          const passed = this.#passHeld(held, reader);
          if (passed !== true && !(await passed)) return 'enough';
          held = [];
        }
        held.push(row);
      }
    }
    if (isExact || count < rowsMax || rowsMax === BATCH_ROWS_MAX) {
      return (await this.#passAll(held, reader)) && (isExact || count < rowsMax) ? 'complete' : 'enough';
    }
    return held.length === count ? undefined : safeBase(fromNs) + BigInt(held[0][0] as number | bigint);
  }

  #sql(fromNs: bigint, toNs: bigint, rowsMax: number): string {
    const { table } = this.#source;
    const { conditions, isForward } = this.#options;
    const where = [inRangeSql(table, fromNs, toNs), ...conditions].join(' AND ');
    const order = `${quoteName(table.timeColumn)} ${isForward ? 'ASC' : 'DESC'}`;
    const select = `SELECT ${rowColumnsSql(table, safeBase(fromNs))} FROM ${quoteName(table.name)}`;
    return `${select} WHERE ${where} ORDER BY ${order} LIMIT ${rowsMax}`;
  }

  /** Visits rows of one time. Most lines have a time of their own, for which a promise would be wasteful. */
  #passHeld(rows: readonly SqlRow[], reader: RowReader): boolean | Promise<boolean> {
    if (rows.length > 1) return this.#passAll(rows, reader);
    const { slices } = this.#source;
    const mayContinue = this.#pass(rows[0], reader);
    return slices.isOver(lineWork(rows[0])) ? slices.yield().then(() => mayContinue) : mayContinue;
  }

  async #passAll(rows: readonly SqlRow[], reader: RowReader): Promise<boolean> {
    const { slices } = this.#source;
    for (const row of rows) {
      if (!this.#pass(row, reader)) return false;
      if (slices.isOver(lineWork(row))) await slices.yield();
    }
    return true;
  }

  /** Returns whether to continue. */
  #pass(row: SqlRow, reader: RowReader): boolean {
    const options = this.#options;
    const line = reader.read(row);
    for (const stage of options.stages) if (!stage(line)) return true;
    return options.visit(line) && --options.left > 0;
  }
}

/** Whether the held rows are complete, since rows come in the order of time. */
function isOfOtherTime(row: SqlRow, held: readonly SqlRow[]): boolean {
  return held.length > 0 && held[0][0] !== row[0];
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
