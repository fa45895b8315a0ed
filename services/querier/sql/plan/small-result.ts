import { AGGREGATE_FUNCTIONS } from '../functions/native.js';
import type { Ast } from '../syntax/ast.js';
import type { Literal } from '../syntax/literals.js';

const SMALL_LIMIT = 2000;

/** Returns whether the result of a query is small, for the literals of a run: aggregates and limited queries have few rows. */
export function smallResult(ast: Ast): (literals: readonly Literal[]) => boolean {
  const limit = ast.modifiers?.find((modifier) => modifier.type === 'LIMIT_MODIFIER')?.limit;
  const isReduced = isReducing(ast);
  if (limit?.class !== 'PARAMETER') return () => isReduced || Number(limit?.value?.value) <= SMALL_LIMIT;
  const index = Number(limit.identifier) - 1;
  return (literals) => isReduced || Number(literals[index].value) <= SMALL_LIMIT;
}

function isReducing(ast: Ast): boolean {
  if (ast.type !== 'SELECT_NODE') return false;
  if (ast.from_table?.type === 'EMPTY' || (ast.group_expressions ?? []).length > 0) return true;
  return (ast.select_list ?? []).every(
    ({ class: kind, function_name: name = '' }) => kind === 'FUNCTION' && AGGREGATE_FUNCTIONS.has(name),
  );
}
