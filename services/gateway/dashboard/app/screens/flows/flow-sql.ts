import { quotedName, quotedText, runSql, sqlRows } from '../../data/sql.js';

/** A query whose result a table keeps. */
export interface ListedFlow {
  readonly name: string;
  /** The statement that creates it. */
  readonly definition: string;
  readonly comment: string;
  /** Full names of the tables that it reads. */
  readonly sources: string;
  /** The table that has its results. */
  readonly sink: FlowSink;
  /** End of the last run that had something to do; undefined before the first one. */
  readonly lastRunMs: number | undefined;
  /** Why the last run failed; empty if it did not. */
  readonly error: string;
}

/** A table and its database. */
export interface FlowSink {
  readonly database: string;
  readonly table: string;
}

interface FlowRow {
  readonly flow_name: string;
  readonly flow_definition: string;
  readonly comment: string | null;
  readonly source_table_names: string | null;
  readonly sink_table_name: string;
  readonly last_execution_time: bigint | null;
  readonly last_error: string | null;
}

/** Returns the flows that the user may see; they belong to no database. */
export async function listFlows(signal: AbortSignal): Promise<readonly ListedFlow[]> {
  const rows = await sqlRows<FlowRow>(
    'SELECT flow_name, flow_definition, comment, source_table_names, sink_table_name, last_execution_time, last_error ' +
      'FROM information_schema.flows ORDER BY flow_name',
    { signal },
  );
  return rows.map((row) => ({
    name: row.flow_name,
    definition: row.flow_definition,
    comment: row.comment ?? '',
    sources: row.source_table_names ?? '',
    sink: sinkOf(row),
    lastRunMs: row.last_execution_time === null ? undefined : Number(row.last_execution_time),
    error: row.last_error ?? '',
  }));
}

/** A name as definitions write it. */
const NAME = '("(?:[^"]|"")*"|\\w+)';
const SINK = new RegExp(`\nSINK TO ${NAME}\\.${NAME}(?:\n|$)`);

function sinkOf({ flow_definition: definition, sink_table_name: fullName }: FlowRow): FlowSink {
  const [, database, table] = SINK.exec(definition) ?? [];
  if (database === undefined) return { database: '', table: fullName };
  return { database: plainName(database), table: plainName(table) };
}

function plainName(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name;
}

/** Runs a flow over all rows that are stored now. @returns the number of rows that it wrote or deleted. */
export async function runFlow(name: string): Promise<number> {
  const result = await runSql(`ADMIN flush_flow(${quotedText(name)})`);
  return Number(result.value(0, 0));
}

/** Ends a flow; its results stay. */
export async function dropFlow(name: string): Promise<void> {
  await runSql(`DROP FLOW ${quotedName(name)}`);
}

/** What the editor shows first for a new flow. */
export const FLOW_TEMPLATE = `CREATE FLOW my_flow SINK TO my_results AS
SELECT host, date_bin(INTERVAL '1 minute', ts) AS minute, avg(value) AS average
FROM my_table
GROUP BY host, minute`;
