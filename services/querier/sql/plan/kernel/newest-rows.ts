import type { Column } from '#shared/contracts/gen/common';

import type { Ast } from '../../syntax/ast.js';
import type { Expressions } from '../expressions.js';
import type { PlanTable } from '../plan-table.js';

/** Members of a subquery in an expression that the general shape of the tree does not name. */
interface SubqueryDetails {
  readonly subquery_type?: string;
  readonly comparison_type?: string;
}

/** The newest rows of a table by tags, as a query selects them. */
export interface NewestSelection {
  /** The reference to the table. */
  readonly from: Ast;
  readonly tags: readonly Column[];
}

/** A member of a comparison of rows with those of the subquery: a node of the outer query, and the select item. */
type Pair = readonly [outer: Ast, item: Ast];

/**
 * Recognises the newest rows by tags, where the second table is the subquery's:
 *
 * ```sql
 * FROM cpu WHERE (host, ts) IN (SELECT host, max(ts) FROM cpu GROUP BY host)
 * FROM cpu JOIN (SELECT host, max(ts) AS newest FROM cpu GROUP BY host) AS n ON cpu.host = n.host AND cpu.ts = n.newest
 * ```
 */
export function newestSelection(
  query: Ast,
  [outer, inner]: readonly PlanTable[],
  expressions: Expressions,
): NewestSelection | undefined {
  const compared = query.from_table?.type === 'JOIN' ? joinOf(query) : conditionOf(query);
  if (compared === undefined || outer.table.tableId !== inner.table.tableId) return undefined;
  const { from, node, pairs } = compared;
  // A column of the outer table within the subquery would be another one for each row.
  const columnOf = (part: Ast | undefined, table: PlanTable): Column | undefined => {
    const found = part === undefined ? undefined : expressions.columnOf(part);
    return found?.entry?.plan === table ? found.output?.column : undefined;
  };
  const times = pairs.filter(([, item]) => greatestOf(item) !== undefined);
  const areSame = pairs.every(([own, item]) => {
    const greatest = greatestOf(item);
    const column = columnOf(greatest ?? item, inner);
    return column?.kind === (greatest === undefined ? 'tag' : 'time') && column.id === columnOf(own, outer)?.id;
  });
  const isWhole = new Set(pairs.map(([, item]) => item)).size === node.select_list?.length;
  if (!areSame || !isWhole || times.length !== 1) return undefined;
  const tags = pairs.filter((pair) => pair !== times[0]).flatMap(([own]) => columnOf(own, outer) ?? []);
  const groups = node.group_expressions?.map((group) => columnOf(group, inner)) ?? [];
  return areGroups(tags, groups) ? { from, tags } : undefined;
}

interface Comparison {
  readonly from: Ast;
  /** The subquery. */
  readonly node: Ast;
  readonly pairs: readonly Pair[];
}

/** Returns the parts of `WHERE (a, b) IN (SELECT ..)`. */
function conditionOf({ from_table: from, where_clause: where }: Ast): Comparison | undefined {
  const node = where?.subquery?.node;
  const row = where?.child;
  if (from?.type !== 'BASE_TABLE' || node?.select_list === undefined || row?.children === undefined) return undefined;
  const { subquery_type: type, comparison_type: comparison } = where as SubqueryDetails;
  const isIn = type === 'ANY' && comparison === 'COMPARE_EQUAL' && row.function_name === 'row';
  const items = node.select_list;
  if (!isIn || !isPlainGrouping(node) || row.children.length !== items.length) return undefined;
  return { from, node, pairs: row.children.map((own, i) => [own, items[i]]) };
}

/** Returns the parts of `FROM a JOIN (SELECT ..) AS b ON a.x = b.y AND ..`. */
function joinOf({ from_table: join, where_clause: where }: Ast): Comparison | undefined {
  if (join === undefined || where || !isPlainJoin(join)) return undefined;
  const { left: from, right, condition } = join;
  const node = right?.subquery?.node;
  if (from === undefined || !condition || node === undefined || !isPlainGrouping(node)) return undefined;
  const parts = condition.type === 'CONJUNCTION_AND' ? (condition.children ?? []) : [condition];
  const pairs = parts.map((part) => pairOf(part, right?.alias ?? '', node));
  return pairs.every((pair) => pair !== undefined) ? { from, node, pairs } : undefined;
}

/** Reports whether a join is that of a table and a subquery by `JOIN .. ON ..`, without names for its columns. */
function isPlainJoin({ join_type: type, ref_type: reference, using_columns: using = [], left, right }: Ast): boolean {
  if (type !== 'INNER' || reference !== 'REGULAR' || using.length > 0 || left?.type !== 'BASE_TABLE') return false;
  return right?.type === 'SUBQUERY' && (right.column_name_alias ?? []).length === 0;
}

/** Returns the members of `a.x = b.y`, in either order. */
function pairOf({ type, left, right }: Ast, alias: string, node: Ast): Pair | undefined {
  if (type !== 'COMPARE_EQUAL' || left === undefined || right === undefined) return undefined;
  const item = itemOf(right, alias, node);
  if (item !== undefined) return [left, item];
  const other = itemOf(left, alias, node);
  return other === undefined ? undefined : [right, other];
}

/** Returns the select item of a subquery that `alias.name` names. */
function itemOf({ class: kind, column_names: names = [] }: Ast, alias: string, node: Ast): Ast | undefined {
  const [qualifier, name] = names.map((each) => each.toLowerCase());
  if (kind !== 'COLUMN_REF' || names.length !== 2 || qualifier !== alias.toLowerCase()) return undefined;
  const named = (node.select_list ?? []).filter((item) => {
    const own = item.alias === undefined || item.alias === '' ? item.column_names?.at(-1) : item.alias;
    return own?.toLowerCase() === name;
  });
  return named.length === 1 ? named[0] : undefined;
}

/** Reports whether tags are what a query groups by. */
function areGroups(tags: readonly Column[], groups: readonly (Column | undefined)[]): boolean {
  const ids = new Set(groups.map((group) => group?.id));
  return ids.size === tags.length && tags.every(({ id, type }) => ids.has(id) && type === 'String');
}

/** Returns the argument of a plain call of `max`. */
function greatestOf({ class: kind, function_name: name, distinct, filter, children = [] }: Ast): Ast | undefined {
  const isPlain = kind === 'FUNCTION' && name === 'max' && distinct !== true && !filter;
  return isPlain && children.length === 1 ? children[0] : undefined;
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
