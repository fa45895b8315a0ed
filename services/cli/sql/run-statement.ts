import { readAnswer } from './answer.js';
import type { SqlConnection } from './connection.js';
import { printCsv, printExpanded, printJson, printNdjson, printTable, type Print } from './outputs.js';
import { usedDatabase } from './statements.js';

/** Output formats of the `--output` option. */
export const OUTPUTS = ['table', 'json', 'ndjson', 'csv'] as const;
/** An output format; the shell adds `expanded`. */
export type Output = (typeof OUTPUTS)[number] | 'expanded';

const PRINTS: Readonly<Record<Output, Print>> = {
  table: printTable,
  csv: printCsv,
  json: printJson,
  ndjson: printNdjson,
  expanded: printExpanded,
};

/**
 * Runs one statement and writes its result; a `USE` moves the connection to its database.
 *
 * @throws `CommandFailure` if the server cannot be reached or refuses.
 */
export async function runStatement(
  connection: SqlConnection,
  sql: string,
  output: Output,
  { stdout, signal }: { readonly stdout: NodeJS.WritableStream; readonly signal: AbortSignal },
): Promise<void> {
  const body = await connection.run(sql, signal);
  connection.database = usedDatabase(sql) ?? connection.database;
  for (const answer of readAnswer(body)) {
    if (answer.kind === 'rows') await write(stdout, PRINTS[output](answer.columns, answer.rows));
    else await write(stdout, `${answer.rowCount}\n`);
  }
}

/** Waits while the reader is slower than the server. */
async function write(stream: NodeJS.WritableStream, chunk: Uint8Array | string): Promise<void> {
  if (!stream.write(chunk)) await new Promise((resolve) => stream.once('drain', resolve));
}
