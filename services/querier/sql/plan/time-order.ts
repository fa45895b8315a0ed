import { mapChildren, type Ast } from '../syntax/ast.js';
import type { FoundColumn, FromEntry, Scope } from './scope.js';

/**
 * Returns the name of the time index that orders the rows of a value: that of the only member of FROM that has its columns.
 *
 * @param columnOf returns the column of a reference
 * @returns undefined if there is none, or the value has columns of several members
 */
export function timeIndexOfValue(
  value: Ast,
  { entries }: Scope,
  columnOf: (node: Ast) => FoundColumn | undefined,
): string[] | undefined {
  const entry = entries.length === 1 ? entries[0] : onlyEntry(value, columnOf);
  if (entry === undefined || !entries.includes(entry)) return undefined;
  const times = [...(entry.columns?.values() ?? [])].filter(({ isTime }) => isTime === true);
  if (times.length !== 1) return undefined;
  return entries.length === 1 ? [times[0].name] : [entry.alias, times[0].name];
}

function onlyEntry(value: Ast, columnOf: (node: Ast) => FoundColumn | undefined): FromEntry | undefined {
  const found = new Set<FromEntry | undefined>();
  const visit = (node: Ast): Ast => {
    if (node.class === 'COLUMN_REF') found.add(columnOf(node)?.entry);
    else mapChildren(node, visit);
    return node;
  };
  visit(value);
  return found.size === 1 ? [...found][0] : undefined;
}
