import type { Clock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import type { Column, Table } from '#shared/contracts/gen/common';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import type { ResultColumn } from '#shared/contracts/gen/querier';
import type { Catalog } from '#shared/discovery/catalog';
import type { Ingesters } from '#shared/discovery/ingesters';
import type { QueryConnections } from '#shared/duckdb/query-connection';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';
import type { CellValue } from '#shared/write/cell-value';
import type { Deleted } from '#shared/write/row-sink';

import type { ResultFormat } from '#shared/formats/format';
import type { Snapshots } from '../../snapshot/binding.js';
import type { Cursor } from '../syntax/cursor.js';
import type { Planner } from '../plan/plan.js';
import type { Session } from './session.js';
import type { TableNames } from '../plan/table-names.js';
import type { PromEngine } from '../tql/engine.js';

/** Where INSERT and DELETE hand their rows to. */
export interface RowSink {
  /**
   * Stores rows; atomic per region of the table. @param rows blocks of rows. @returns how many there were.
   */
  insert(
    table: Table,
    columns: readonly Column[],
    rows: AsyncIterable<readonly CellValue[][]> | Iterable<readonly CellValue[][]>,
    call: Call,
  ): Promise<number>;
  /**
   * Deletes rows by tags and time, as far as none was written anew since the table was read.
   *
   * @param asOf by region: the last row that was read.
   */
  delete(
    table: Table,
    columns: readonly Column[],
    rows: AsyncIterable<readonly CellValue[][]>,
    asOf: ReadonlyMap<number, bigint>,
    call: Call,
  ): Promise<Deleted>;
}

/** What statements stand on. */
export interface StatementDeps {
  readonly metadata: MetadataService;
  readonly catalog: Catalog;
  readonly ingesters: Ingesters;
  readonly clock: Clock;
  readonly snapshots: Snapshots;
  readonly insert: RowSink;
  readonly connections: QueryConnections;
  readonly planner: Planner;
  readonly names: TableNames;
  readonly promql: PromEngine;
}

/** One run of a statement. */
export interface StatementContext {
  readonly deps: StatementDeps;
  readonly session: Session;
  readonly call: Call;
  /** Its place among the running queries; waits for other processes are to be made aside. */
  readonly slot: AdmissionSlot;
  readonly format: ResultFormat;
  /** Rows after which a result is cut. */
  readonly limit: number | undefined;
  /** One reading of the clock for the whole statement. */
  readonly nowNs: bigint;
}

/** A statement answers with a schema and then text, or with a count of rows. */
export type StatementEvent =
  | { readonly kind: 'schema'; readonly columns: readonly ResultColumn[] }
  | { readonly kind: 'text'; readonly text: string; readonly rows: number }
  | { readonly kind: 'affected'; readonly rows: number };

export interface Statement {
  /** Whether it works in the engine, and so takes a place among the running queries. */
  readonly isQuery: boolean;
  /** Grammar that only the engine's parser can check; done for all statements of a request before the first runs. */
  check?(context: StatementContext): Promise<void>;
  run(context: StatementContext): AsyncIterable<StatementEvent>;
}

/** A kind of statement: one file each in this folder. */
export interface StatementKind {
  /** As documentation names it: `CREATE TABLE`. */
  readonly name: string;
  /** Whether the statement is of this kind, by its first words. */
  matches(cursor: Cursor): boolean;
  /** @throws `invalid_syntax`, `unsupported`, `invalid_arguments`. */
  parse(cursor: Cursor): Statement;
}

/** A statement that changes something and answers with a count. */
export function command(run: (context: StatementContext) => Promise<number>): Statement {
  return {
    isQuery: false,
    async *run(context) {
      yield { kind: 'affected', rows: await run(context) };
    },
  };
}
