import type { QueryConnection } from '#shared/duckdb/query-connection';
import { quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { ConfinedFile } from '#shared/fs/confined-folder';

/**
 * Returns the files whose names have a part that matches a regular expression. It is the engine's, which needs linear time.
 *
 * @param pattern undefined: all files. @throws `invalid_arguments` if it is malformed.
 */
export async function matchingFiles(
  files: readonly ConfinedFile[],
  pattern: string | undefined,
  connection: QueryConnection,
): Promise<readonly ConfinedFile[]> {
  if (pattern === undefined || files.length === 0) return files;
  const names = files.map(({ name }) => quoteText(name)).join(', ');
  const sql = `SELECT regexp_matches(n, ${quoteText(pattern)}) FROM (SELECT unnest([${names}]) AS n)`;
  const { signal } = new AbortController();
  const result = await connection.run(sql, signal).catch((error: unknown) => {
    throw patternError(pattern, error);
  });
  const matches = [...result.blocks()].flatMap((block) => block.cells(0));
  return files.filter((_, i) => matches[i] === true);
}

function patternError(pattern: string, error: unknown): unknown {
  if (!(error instanceof AlmanacError) || error.code !== 'execute_query') return error;
  const text = `invalid pattern "${pattern.slice(0, 100)}": it is not a regular expression: ${error.message}`;
  return new AlmanacError('invalid_arguments', text, { cause: error });
}
