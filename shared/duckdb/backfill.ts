import { dataType } from '#shared/schema/data-type';
import { typesOf, type TypedColumn } from '#shared/schema/former-types';

import { castThrough } from './cast-through.js';
import { quoteText } from './quote.js';

/** A column that may have been added to a table that had rows. */
export interface Backfilled {
  /** SQL text of a literal; empty stands for null. */
  readonly backfillSql: string;
}

/** Returns the value of rows older than the column, as text that the engine casts; undefined is null. */
export function backfillText({ backfillSql }: Backfilled): string | undefined {
  if (backfillSql === '') return undefined;
  if (backfillSql.startsWith("'")) return backfillSql.slice(1, -1).replaceAll("''", "'");
  if (backfillSql.startsWith('0x')) return backfillSql.slice(2).replaceAll(/../g, (byte) => `\\x${byte}`);
  return backfillSql;
}

/** Returns the same value as a SQL expression of the column's current type; it was given in the column's first type. */
export function backfillExpression(column: Backfilled & TypedColumn): string {
  const text = backfillText(column);
  if (text === undefined) return `NULL::${dataType(column.type).duckdb}`;
  const types = typesOf(column);
  return castThrough(`${quoteText(text)}::${dataType(types[0]).duckdb}`, types);
}
