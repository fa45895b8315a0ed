import type { Connection } from './connection.js';
import { expandRow, rowTexts } from './json-rows.js';
import { usedDatabase } from './statements.js';

export const OUTPUTS = ['table', 'json', 'ndjson', 'csv'] as const;
export type Output = (typeof OUTPUTS)[number] | 'expanded';

/** How the server is asked for an output. */
const FORMATS: Readonly<Record<Output, string>> = {
  table: 'table',
  csv: 'csvWithNames',
  json: 'json',
  ndjson: 'json',
  expanded: 'json',
};

/**
 * Runs one statement and writes its result; a `USE` moves the connection to its database.
 *
 * @throws `CommandFailure` if the server cannot be reached or refuses.
 */
export async function runStatement(
  connection: Connection,
  sql: string,
  output: Output,
  { stdout, signal }: { readonly stdout: NodeJS.WritableStream; readonly signal: AbortSignal },
): Promise<void> {
  const answer = await connection.run(sql, FORMATS[output], signal);
  connection.database = usedDatabase(sql) ?? connection.database;
  if (output === 'table' || output === 'csv') {
    for await (const chunk of answer) await write(stdout, chunk);
    return;
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString('utf8');
  if (output === 'json') return write(stdout, `${body.trimEnd()}\n`);
  for (const [index, row] of rowTexts(body).entries()) {
    await write(stdout, output === 'ndjson' ? `${row}\n` : expandRow(row, index + 1));
  }
}

/** Waits while the reader is slower than the server. */
async function write(stream: NodeJS.WritableStream, chunk: Uint8Array | string): Promise<void> {
  if (!stream.write(chunk)) await new Promise((resolve) => stream.once('drain', resolve));
}
