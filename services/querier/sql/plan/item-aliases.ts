import { mapChildren, type Ast } from '../syntax/ast.js';

/** Names the unnamed items of the outermost select list. @param nameAt the name of an item, by its position. */
export function nameItems(query: Ast, nameAt: (i: number) => string): void {
  const node = firstSelect(query);
  for (const [i, item] of (node.select_list ?? []).entries()) {
    const isNamed = (item.alias ?? '') !== '' || item.class === 'COLUMN_REF' || item.class === 'POSITIONAL_REFERENCE';
    if (!isNamed && !isStar(item)) item.alias = castName(item, node.from_table) ?? nameAt(i);
  }
}

/** Returns what begins the aliases of unnamed items, before their positions. */
export function nameMarker(markerPrefix: string): string {
  return `${markerPrefix}n`;
}

/** Whether an item of the outermost select list of a query means several columns. */
export function hasStar(query: Ast): boolean {
  return (firstSelect(query).select_list ?? []).some(isStar);
}

function firstSelect(query: Ast): Ast {
  let node = query;
  while (node.type === 'SET_OPERATION_NODE' && node.left !== undefined) node = node.left;
  return node;
}

/** A cast does not change the name of its operand: a column with its qualifier, or NULL. */
function castName(item: Ast, from: Ast | undefined): string | undefined {
  let operand: Ast | undefined = item;
  while (operand?.class === 'CAST') operand = operand.child;
  if (operand === undefined || operand === item) return undefined;
  if (operand.class === 'CONSTANT' && operand.value?.is_null === true) return 'NULL';
  const [first, second] = (operand.column_names ?? []).slice(-2);
  if (operand.class !== 'COLUMN_REF') return undefined;
  if (second !== undefined) return `${first}.${second}`;
  const qualifier = from?.alias === '' ? from.table_name : from?.alias;
  return qualifier === undefined ? undefined : `${qualifier}.${first}`;
}

function isStar(item: Ast): boolean {
  if (item.class === 'STAR') return true;
  let found = false;
  mapChildren(item, (child) => {
    found ||= isStar(child);
    return child;
  });
  return found;
}
