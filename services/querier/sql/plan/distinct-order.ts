import { AlmanacError } from '#shared/errors/almanac-error';

import type { Ast } from '../syntax/ast.js';
import type { Literal } from '../syntax/literals.js';

/**
 * Checks ORDER BY of a query with DISTINCT before it is rewritten: it may only name what the query selects, and the
 * expressions of `DISTINCT ON` must lead it. The engine would choose some row's value.
 *
 * @throws `plan_query`.
 */
export function checkDistinctOrder(
  { modifiers = [], select_list: items = [] }: Ast,
  literals: readonly Literal[],
): void {
  const distinct = modifiers.find(({ type }) => type === 'DISTINCT_MODIFIER');
  const orders = modifiers.find(({ type }) => type === 'ORDER_MODIFIER')?.orders ?? [];
  if (distinct === undefined || orders.length === 0) return;
  const keyOf = (node: Ast): string => comparable(node, literals);
  const keys = orders.map(({ expression }) => keyOf(expression));
  const targets = distinct.distinct_on_targets ?? [];
  if (targets.length > 0) {
    const isLeading = targets.every((target, i) => i >= keys.length || keys.includes(keyOf(target)));
    if (!isLeading) throw refused('SELECT DISTINCT ON expressions must match initial ORDER BY expressions');
    return;
  }
  if (items.some(({ class: kind }) => kind === 'STAR')) return;
  const selected = new Set(items.flatMap((item) => [keyOf(item), item.alias?.toLowerCase() ?? '']));
  const isSelected = ({ expression }: { expression: Ast }, i: number): boolean =>
    selected.has(keys[i]) ||
    selected.has(expression.column_names?.at(-1)?.toLowerCase() ?? '\0') ||
    isOrdinal(expression, literals);
  if (!orders.every(isSelected)) throw refused('For SELECT DISTINCT, ORDER BY expressions must appear in select list');
}

/** Literals after a comma are parameters. */
function isOrdinal({ class: kind, value, identifier }: Ast, literals: readonly Literal[]): boolean {
  if (kind === 'PARAMETER') return literals[Number(identifier) - 1].kind === 'integer';
  return kind === 'CONSTANT' && typeof value?.value === 'number';
}

/** Returns a text that is the same for equal expressions: without aliases and qualifiers, with literals in place. */
function comparable(node: Ast, literals: readonly Literal[]): string {
  return JSON.stringify(node, (key, value: unknown) => {
    if (key === 'alias') return undefined;
    if (key === 'column_names') return (value as string[]).at(-1)?.toLowerCase();
    const part = value as Partial<Ast> | null;
    return part?.class === 'PARAMETER' ? literals[Number(part.identifier) - 1] : value;
  });
}

function refused(text: string): AlmanacError {
  return new AlmanacError('plan_query', `Failed to plan SQL: ${text}`);
}
