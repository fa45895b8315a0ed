import type { TextCondition } from '../functions/function.js';
import type { Ast } from '../syntax/ast.js';
import type { ColumnCondition } from './expressions.js';
import { givenRelation } from '../system-tables/given-table.js';
import { sourceOf } from '../../snapshot/logical-table.js';
import type { PlanTable } from './plan-table.js';
import type { PredicateScope } from './time-bounds.js';

/**
 * Extracts conditions on texts from the AND-ed conditions of a WHERE clause and records them at the tables of its FROM, so that
 * term indexes select the rows to be read.
 *
 * Of a query over one table the conditions are moved to the table: where an index is exact about one, no text is read.
 *
 * @returns what remains of the clause; undefined if nothing does.
 */
export function collectTexts(where: Ast, place: PredicateScope): Ast | undefined {
  if (where.class === 'CONJUNCTION' && where.type === 'CONJUNCTION_AND' && textOf(where, place) === undefined) {
    const children = (where.children ?? []).flatMap((part) => collectTexts(part, place) ?? []);
    if (children.length <= 1) return children[0];
    where.children = children;
    return where;
  }
  const text = textOf(where, place);
  if (text === undefined) return where;
  const isMoved = place.entries.length === 1;
  text.plan.texts.push({ column: text.column, condition: text.condition, isMoved });
  return isMoved ? undefined : where;
}

interface FoundText {
  readonly plan: PlanTable;
  readonly column: string;
  readonly condition: TextCondition;
}

/** Returns the condition that an expression is, alternatives of conditions on one column included. */
function textOf(node: Ast, place: PredicateScope): FoundText | undefined {
  const known = place.expressions.textConditionOf(node);
  if (known !== undefined) return storedText(known, place);
  if (node.class !== 'CONJUNCTION' || node.type !== 'CONJUNCTION_OR') return undefined;
  const parts = (node.children ?? []).map((part) => textOf(part, place));
  const [first] = parts;
  const found = parts.flatMap((part) => part ?? []);
  if (first === undefined || found.length < parts.length) return undefined;
  const isSame = found.every(({ plan, column }) => plan === first.plan && column === first.column);
  return isSame ? { ...first, condition: anyOf(found.map(({ condition }) => condition)) } : undefined;
}

/** Returns a condition if it is on a field of a table of this FROM, whose rows it may restrict. */
function storedText({ found, condition }: ColumnCondition, place: PredicateScope): FoundText | undefined {
  const { entry, output } = found;
  const column = output?.column;
  if (entry?.plan === undefined || !place.entries.includes(entry)) return undefined;
  if (!entry.prunable || !entry.ownsBareNames || column?.kind !== 'field' || column.type !== 'String') return undefined;
  const { plan } = entry;
  const isStored = sourceOf(plan.table) === undefined && givenRelation(plan.table) === undefined;
  return isStored ? { plan, column: column.name, condition } : undefined;
}

function anyOf(conditions: readonly TextCondition[]): TextCondition {
  return {
    query: (run) => {
      const queries = conditions.map((condition) => condition.query(run));
      const parts = queries.flatMap((query) => query ?? []);
      return parts.length === queries.length ? { kind: 'any', parts } : undefined;
    },
    sql: (run, text) => `(${conditions.map((condition) => condition.sql(run, text)).join(' OR ')})`,
  };
}
