import { call, cast, type Ast } from '../syntax/ast.js';
import type { KnownType } from '../functions/function.js';
import { CAST_TYPES } from './known-types.js';

const INTEGER_TYPES: ReadonlySet<string> = new Set(
  'TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT'.split(' '),
);

/** Returns the type that a cast results in, as far as it matters. */
export function typeOfCast({ cast_type: target }: Ast): KnownType | undefined {
  if (target?.id !== 'DECIMAL') return CAST_TYPES[target?.id ?? ''];
  const { width = 18, scale = 3 } = (target.type_info ?? {}) as { width?: number; scale?: number };
  return `decimal(${width},${scale})`;
}

/**
 * Rewrites a cast whose result the engine defines differently. Floats and decimals lose their fraction when they become
 * integers, where the engine rounds; binary values and texts are UTF-8 of each other, where the engine reads escapes.
 *
 * @param from type of the operand.
 */
export function rewrittenCast(node: Ast, from: KnownType | undefined): Ast {
  const { child, cast_type: target } = node;
  if (child === undefined || target === undefined) return node;
  if (INTEGER_TYPES.has(target.id) && (from === 'float' || from?.startsWith('decimal') === true)) {
    node.child = call('trunc', child);
    return node;
  }
  if (target.id === 'BLOB' && (from === 'text' || from === 'json')) return call('encode', child);
  if (target.id === 'VARCHAR' && from === 'binary') return call('decode', child);
  return node;
}

/** Casts a decimal. */
export function decimalCast(child: Ast, precision: number, scale: number): Ast {
  const node = cast(child, 'DECIMAL');
  const info = { type: 'DECIMAL_TYPE_INFO', alias: '', extension_info: null, width: precision, scale };
  return Object.assign(node, { cast_type: { id: 'DECIMAL', type_info: info } });
}

/** Text inside TRY_CAST that is not a timestamp is NULL, not an error. */
export function isTryCast(node: Ast): boolean {
  return (node as { try_cast?: boolean }).try_cast === true;
}
