import type { QueryConnection } from '#shared/duckdb/query-connection';
import { quoteText } from '#shared/duckdb/quote';
import type { ConfinedFile } from '#shared/fs/confined-folder';

/**
 * Returns the files whose names have a part that matches a regular expression. It is the engine's, which needs linear time.
 *
 * @param pattern undefined: all files. @throws `execute_query` if it is malformed.
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
  const matches = [...(await connection.run(sql, signal)).blocks()].flatMap((block) => block.cells(0));
  return files.filter((_, i) => matches[i] === true);
}
