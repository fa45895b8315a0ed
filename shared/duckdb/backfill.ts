import { dataType } from '#shared/schema/data-type';
import { typesOf, type TypedColumn } from '#shared/schema/former-types';

import { castThrough } from './cast-through.js';
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

/** The same as an expression of the column's type: the value was given as one of its first. */
export function backfillExpression(column: Backfilled & TypedColumn): string {
  const text = backfillText(column);
  if (text === undefined) return `NULL::${dataType(column.type).duckdb}`;
  const types = typesOf(column);
  return castThrough(`${quoteText(text)}::${dataType(types[0]).duckdb}`, types);
}
