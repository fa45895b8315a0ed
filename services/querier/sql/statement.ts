import type { Clock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import type { Column, Table } from '#shared/contracts/gen/common';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import type { ResultColumn } from '#shared/contracts/gen/querier';
import type { ViewCatalog } from '#shared/discovery/catalog';
import type { Ingesters } from '#shared/discovery/ingesters';
import type { ConfinedFolder } from '#shared/fs/confined-folder';
import type { QueryConnections } from '#shared/duckdb/query-connection';
import type { AdmissionSlot, BoundedQueue } from '#shared/limits/bounded-queue';
import type { Zone } from '#shared/time/zone';
import type { ResultFormat } from '#shared/formats/format';
import type { CellValue } from '#shared/write/cell-value';
import type { Deleted } from '#shared/write/row-sink';

import type { ProcessDirectory } from '../run/process-directory.js';
import type { ListedProcess } from '../run/processes.js';
import type { Snapshot, Snapshots } from '../snapshot/snapshots.js';
import type { Cursor } from './syntax/cursor.js';
import type { Kernels, QueryPath } from '../kernels/run.js';
import type { KnownResult, Results } from '../kernels/result/result-cache.js';
import type { Planner } from './plan/plan.js';

import type { SourceRange } from './plan/plan-table.js';
import type { TableNames } from './plan/table-names.js';
import type { RunValues } from './syntax/literals.js';
import type { PromEngine } from '../promql/engine.js';

/** State that statements of one request leave to later ones; it ends with the request. */
export interface Session {
  database: string;
  zone: Zone;
}

/** A small result in memory. */
export interface TableOutput {
  readonly columns: readonly { readonly name: string; readonly type: 'String' | 'Int64' | 'Float64' }[];
  readonly rows: readonly (readonly (string | number | null)[])[];
}

/** Stores the rows of INSERT and DELETE. */
export interface StatementRowSink {
  /**
   * Stores rows; atomic per region of the table. @param rows blocks of rows. @returns the number of rows.
   */
  insert(
    table: Table,
    columns: readonly Column[],
    rows: AsyncIterable<readonly CellValue[][]> | Iterable<readonly CellValue[][]>,
    call: Call,
  ): Promise<number>;
  /**
   * Deletes rows by tags and time, unless they were written again since the table was read.
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

/** Services that statements use. */
export interface StatementDeps {
  readonly metadata: MetadataService;
  readonly catalog: ViewCatalog;
  readonly ingesters: Ingesters;
  readonly clock: Clock;
  readonly snapshots: Snapshots;
  readonly insert: StatementRowSink;
  readonly connections: QueryConnections;
  readonly planner: Planner;
  readonly names: TableNames;
  readonly promql: PromEngine;
  /** Folder of the files that statements may name; undefined: none may. */
  readonly copyRoot: ConfinedFolder | undefined;
  /** What runs in the queriers of the cluster. */
  readonly processes: ProcessDirectory;
  /** Hashes of passwords, which need much time and memory: any user may request them. */
  readonly hashing: BoundedQueue;
  /** The flows that this process runs. */
  readonly flows: FlowRunner;
  /** Undefined: the engine runs all queries. */
  readonly kernels: SqlKernels | undefined;
  /** Counts a query by what ran it. */
  queryRun(path: QueryPath): void;
}

/** The kernels, and the results that they made before. */
export interface SqlKernels extends Kernels {
  readonly results: Results<StatementEvent>;
}

/** Runs flows in the background. */
export interface FlowRunner {
  /** Looks for work now instead of at the next interval. */
  wake(): void;
}

/** Where the result of a request is kept. */
export interface ResultSlot {
  /** The text, and all else of the request that the result depends on. */
  readonly key: string;
  /** Of the catalog when the request came, before it was planned. */
  readonly catalogVersion: bigint;
  /** The result, if it is known. */
  readonly known: KnownResult<StatementEvent> | undefined;
}

/** One run of a statement. */
export interface StatementContext {
  readonly deps: StatementDeps;
  readonly session: Session;
  readonly call: Call;
  /** The query's admission slot; released while waiting for other processes. */
  readonly slot: AdmissionSlot;
  readonly format: ResultFormat;
  /** Number of rows after which a result is cut. */
  readonly limit: number | undefined;
  /** One reading of the clock for the whole statement. */
  readonly nowNs: bigint;
  /** The tail that the statement is part of; undefined: it reads whole tables. */
  readonly tail?: TailReading | undefined;
  /** The statement in the list of processes, which shows what it has read; undefined: it is not listed. */
  readonly listed?: ListedProcess | undefined;
  /** Called when kernels have answered the statement. @param plan its number */
  readonly answered?: ((plan: number) => void) | undefined;
  /** Undefined: the result is neither known nor kept. */
  readonly result?: ResultSlot | undefined;
  /** Rows that the statement reads of one of its tables; undefined: all. */
  readonly timeRange?: SourceRange | undefined;
}

/** The values of a statement on which a run depends. */
export class StatementRun implements RunValues {
  readonly literals: RunValues['literals'];
  readonly zone: Zone;
  readonly database: string;
  readonly user: string;
  /** Whether the run has read its time, so that the same query may have another result later. */
  hasReadTime = false;
  readonly #nowNs: bigint;

  constructor({ nowNs, session, call }: StatementContext, literals: RunValues['literals']) {
    this.literals = literals;
    this.zone = session.zone;
    this.database = session.database;
    this.user = call.rights?.user ?? '';
    this.#nowNs = nowNs;
  }

  get nowNs(): bigint {
    this.hasReadTime = true;
    return this.#nowNs;
  }
}

/** What a tail has read, and where the statement notes what it reads. */
export interface TailReading {
  readonly after: ReadonlyMap<number, bigint>;
  snapshot: Pick<Snapshot, 'sequences' | 'mayRepeat'> | undefined;
}

/** A statement returns a schema followed by text, or a number of affected rows. */
export type StatementEvent =
  | { readonly kind: 'schema'; readonly columns: readonly ResultColumn[] }
  | TextEvent
  /** A whole result, which is small. */
  | (Omit<TextEvent, 'kind'> & { readonly kind: 'result'; readonly columns: readonly ResultColumn[] })
  | { readonly kind: 'affected'; readonly rows: number };

/** Some rows of a result, in the format of the request. */
export interface TextEvent {
  readonly kind: 'text';
  readonly text: string | Uint8Array;
  readonly rows: number;
}

/** A parsed statement. */
export interface Statement {
  /** Whether it runs in the engine, and so needs an admission slot. */
  readonly isQuery: boolean;
  /** Checks grammar that only the engine's parser knows; called for all statements of a request before the first runs. */
  check?(context: StatementContext): Promise<void>;
  run(context: StatementContext): AsyncIterable<StatementEvent>;
}

/** A kind of statement: one file each in `statements/`. */
export interface StatementKind {
  /** As documentation names it: `CREATE TABLE`. */
  readonly name: string;
  /** Whether its texts are passwords, which logs leave out. */
  readonly hidesTexts?: boolean;
  /** Returns whether a statement is of this kind, by its first words. */
  matches(cursor: Cursor): boolean;
  /** Parses a statement. @throws `invalid_syntax`, `unsupported`, `invalid_arguments`. */
  parse(cursor: Cursor): Statement;
}

/** Creates a statement that changes something and returns the number of affected rows. */
export function command(run: (context: StatementContext) => Promise<number>): Statement {
  return {
    isQuery: false,
    async *run(context) {
      yield { kind: 'affected', rows: await run(context) };
    },
  };
}
