import { tagsOf, type ColumnLike, type TableLike } from './table-schema.js';

/** A column that may have been added to a table that had rows. */
interface AddedColumn extends ColumnLike {
  /** SQL text of a literal; empty stands for null. */
  readonly backfillSql: string;
}

/**
 * Returns the values of tags that were added with a constant default, by column ID. Older series lack such a tag and read as if
 * they had its value. Writers therefore leave the tag out where it has this value: a series has one ID, before and after.
 *
 * @returns canonical texts
 */
export function impliedTags(table: TableLike<AddedColumn>): ReadonlyMap<number, string> {
  const added = tagsOf(table).filter(({ backfillSql }) => backfillSql !== '');
  return new Map(added.map(({ id, backfillSql }) => [id, backfillSql.slice(1, -1).replaceAll("''", "'")]));
}
