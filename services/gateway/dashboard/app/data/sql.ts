import { bodyParts, request } from '../core/http.js';
import { parameter } from '../core/route.js';
import { zone } from '../time/zones.js';
import type { SqlResult } from './sql-result.js';

export { quotedName, quotedText } from './quote.js';

/** How a statement is run. */
export interface SqlOptions {
  readonly signal?: AbortSignal | undefined;
  /** Default: the database of the page. */
  readonly database?: string;
  /** Rows after this many are not sent. */
  readonly limit?: number;
  /** Whether the server refuses statements that change anything. */
  readonly isReadOnly?: boolean;
  /** ID under which the statement can be found and killed while it runs. */
  readonly queryId?: string;
}

/** Called as rows arrive: once when the columns are known, then after each batch. */
export type OnRows = (result: SqlResult) => void;

/** The database that all screens use; the link names it. */
export function database(): string {
  return parameter('db', 'public');
}

/** Runs one statement. Rows are usable while more arrive. @throws RequestError. */
export async function runSql(statement: string, options: SqlOptions = {}, onRows?: OnRows): Promise<SqlResult> {
  const { signal, limit, queryId, isReadOnly = false } = options;
  const response = await request('v1/sql', {
    parameters: {
      format: 'arrow',
      db: options.database ?? database(),
      limit,
      read_only: isReadOnly ? 'true' : undefined,
    },
    body: statement,
    headers: {
      'content-type': 'application/sql',
      'x-almanac-timezone': zone.value,
      ...(queryId === undefined ? {} : { 'x-almanac-query-id': queryId }),
    },
    signal,
  });
  // Screens without results of SQL do not load the reader.
  const { readArrow } = await import('./arrow.js');
  return readArrow(bodyParts(response), onRows, signal);
}

/** Runs one statement, and returns its rows as objects: for small results such as lists. */
export async function sqlRows<T extends object>(statement: string, options: SqlOptions = {}): Promise<T[]> {
  const result = await runSql(statement, options);
  return Array.from({ length: result.rowCount }, (_, row) => {
    const entries = result.columns.map(({ name }, column) => [name, result.value(column, row)]);
    return Object.fromEntries(entries) as T;
  });
}
