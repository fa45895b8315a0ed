import { quoteText } from './quote.js';

/** A column that may have been added to a table with rows. */
export interface Backfilled {
  /** SQL text of a literal; empty: null. */
  readonly backfillSql: string;
}

/** The value that rows have which are older than the column, as a text that the engine casts; undefined: null. */
export function backfillText({ backfillSql }: Backfilled): string | undefined {
  if (backfillSql === '') return undefined;
  if (backfillSql.startsWith("'")) return backfillSql.slice(1, -1).replaceAll("''", "'");
  if (backfillSql.startsWith('0x')) return backfillSql.slice(2).replaceAll(/../g, (byte) => `\\x${byte}`);
  return backfillSql;
}

/** The same as an expression of the engine. @param type of the engine. */
export function backfillExpression(column: Backfilled, type: string): string {
  const text = backfillText(column);
  return text === undefined ? `NULL::${type}` : `${quoteText(text)}::${type}`;
}
