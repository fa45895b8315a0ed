import type { Table } from '#shared/contracts/gen/common';
import type { QueryConnection } from '#shared/duckdb/query-connection';
import { quoteName } from '#shared/duckdb/quote';
import { timeIndexOf } from '#shared/schema/table-schema';

import type { BindRequest } from '../snapshot/binding.js';
import { logicalRelation, physicalRequest, sourceOf } from '../snapshot/logical-table.js';
import type { StatementContext } from '../sql/statement.js';
import type { WindowGrid, WindowRun } from './window-grid.js';

/** Runs of windows that are kept apart while they are read. */
const RUNS_MAX = 10_000;

/** Last sequence by region ID. */
export type Positions = ReadonlyMap<number, bigint>;

/** Windows with rows after some positions. */
export interface ChangedWindows {
  readonly runs: readonly WindowRun[];
  /** Positions up to which rows were read. */
  readonly sequences: Positions;
}

/** A table whose times are read. */
export interface TimeRead {
  readonly table: Table;
  /** Undefined: all rows, without those that are deleted. */
  readonly after: Positions | undefined;
  readonly timeFrom: bigint | undefined;
}

/** Finds the windows in which rows of a table were written or deleted after some positions. */
export async function changedWindows(
  read: TimeRead,
  grid: WindowGrid,
  context: StatementContext,
): Promise<ChangedWindows> {
  const { deps, call, slot } = context;
  const { table, after } = read;
  const time = timeIndexOf(table).name;
  const own = requestOf(read);
  const source = sourceOf(table);
  const request = source === undefined ? own : physicalRequest(own, source);
  const snapshot = await deps.snapshots.take([request], call, { slot });
  try {
    if (after !== undefined && isReached(snapshot.sequences, after)) return { runs: [], sequences: snapshot.sequences };
    const [relation] = await snapshot.relations();
    const rows = source === undefined ? relation : logicalRelation(relation, own, source);
    const numbers = `SELECT DISTINCT ${grid.numberSql(quoteName(time))} AS n FROM ${rows} AS t`;
    const runs = await deps.connections.use((connection) => readRuns(numbers, connection, context));
    return { runs, sequences: snapshot.sequences };
  } catch (error) {
    throw await snapshot.reasonOf(error, call.signal);
  } finally {
    snapshot.release();
  }
}

function requestOf({ table, after, timeFrom }: TimeRead): BindRequest {
  const columns = new Set([timeIndexOf(table).name]);
  const all = { timeFrom, timeTo: undefined, tagValues: new Map<string, readonly string[]>(), texts: [] };
  return { table, columns, ...all, ...(after === undefined ? {} : { after, everyVersion: true }) };
}

/** Whether positions contain everything up to other ones. */
export function isReached(sequences: Positions, positions: Positions): boolean {
  for (const [regionId, sequence] of sequences) if ((positions.get(regionId) ?? -1n) < sequence) return false;
  return true;
}

async function readRuns(
  numbers: string,
  connection: QueryConnection,
  { call }: StatementContext,
): Promise<WindowRun[]> {
  const islands = `SELECT n, n - row_number() OVER (ORDER BY n) AS island FROM (${numbers})`;
  const sql = `SELECT min(n), max(n) FROM (${islands}) GROUP BY island ORDER BY 1`;
  const runs: { first: bigint; last: bigint }[] = [];
  for await (const block of connection.stream(sql, 2, call.signal)) {
    const firsts = block.cells(0);
    const lasts = block.cells(1);
    for (let i = 0; i < block.rowCount; i++) {
      const run = { first: BigInt(firsts[i] as number | bigint), last: BigInt(lasts[i] as number | bigint) };
      const before = runs.at(-1);
      if (before === undefined || runs.length < RUNS_MAX) runs.push(run);
      else before.last = run.last;
    }
  }
  return runs;
}
