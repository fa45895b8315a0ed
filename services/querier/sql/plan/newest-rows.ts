import type { Column } from '#shared/contracts/gen/common';

import type { Ast } from '../syntax/ast.js';
import type { Expressions } from './expressions.js';
import type { PlanTable } from './plan-table.js';

/** Members of a subquery in an expression that the general shape of the tree does not name. */
interface SubqueryDetails {
  readonly subquery_type?: string;
  readonly comparison_type?: string;
}

/**
 * Returns the tags of a condition that selects the newest rows by tags, where the second table is the subquery's:
 *
 * ```sql
 * WHERE (host, ts) IN (SELECT host, max(ts) FROM cpu GROUP BY host)
 * ```
 */
export function newestByTags(
  { where_clause: where }: Ast,
  [outer, inner]: readonly PlanTable[],
  expressions: Expressions,
): Column[] | undefined {
  const comparison = where ? rowsOf(where) : undefined;
  if (comparison === undefined || outer.table.tableId !== inner.table.tableId) return undefined;
  const columnOf = (part: Ast | undefined): Column | undefined => {
    return part === undefined ? undefined : expressions.columnOf(part)?.output?.column;
  };
  const { row, node } = comparison;
  const items = [...(node.select_list ?? [])];
  const newest = items.pop();
  const time = columnOf(newest === undefined ? undefined : greatestOf(newest));
  const tags = items.map(columnOf).filter((column): column is Column => column?.kind === 'tag');
  const isSame = [...tags, time].every((column, i) => column !== undefined && column.id === columnOf(row.at(i))?.id);
  if (time?.kind !== 'time' || !isSame || tags.length < items.length || row.length !== tags.length + 1) {
    return undefined;
  }
  return areGroups(tags, node.group_expressions?.map(columnOf) ?? []) ? tags : undefined;
}

/** Reports whether tags are what a query groups by. */
function areGroups(tags: readonly Column[], groups: readonly (Column | undefined)[]): boolean {
  const ids = new Set(groups.map((group) => group?.id));
  return ids.size === tags.length && tags.every(({ id, type }) => ids.has(id) && type === 'String');
}

/** Returns the members of the row and the subquery of `(a, b) IN (SELECT ..)`, if that groups a whole table. */
function rowsOf(where: Ast): { readonly row: readonly Ast[]; readonly node: Ast } | undefined {
  const { subquery_type: type, comparison_type: comparison } = where as SubqueryDetails;
  const node = where.class === 'SUBQUERY' ? where.subquery?.node : undefined;
  const isIn = type === 'ANY' && comparison === 'COMPARE_EQUAL' && where.child?.function_name === 'row';
  if (!isIn || node === undefined || !isPlainGrouping(node)) return undefined;
  return { row: where.child?.children ?? [], node };
}

/** Returns the argument of a plain call of `max`. */
function greatestOf({ function_name: name, distinct, filter, children }: Ast): Ast | undefined {
  return name === 'max' && distinct !== true && !filter ? children?.at(0) : undefined;
}

/** Members of a SELECT that the general shape of the tree does not name. */
interface SelectDetails {
  readonly sample?: unknown;
  readonly group_sets?: readonly (readonly number[])[];
  readonly aggregate_handling?: string;
}

/** Reports whether a query groups the rows of a whole table. */
function isPlainGrouping(node: Ast): boolean {
  const { from_table: from, where_clause: where, having, qualify, modifiers = [], cte_map: ctes } = node;
  if (node.type !== 'SELECT_NODE' || from?.type !== 'BASE_TABLE') return false;
  const { sample, group_sets: sets = [], aggregate_handling: handling } = node as SelectDetails;
  const clauses = [where, having, qualify, sample, (from as SelectDetails).sample];
  const lists = [from.column_name_alias ?? [], modifiers, ctes?.map ?? []];
  if (clauses.some((clause) => (clause ?? null) !== null) || lists.some(({ length }) => length > 0)) return false;
  return handling === 'STANDARD_HANDLING' && sets.length === 1 && sets[0].length === node.group_expressions?.length;
}
