import type { Cursor } from './cursor.js';
import { Kind } from './lex.js';
import type { Literal } from './literals.js';

/** A value that does not need the engine. */
export type LiteralCell =
  | { readonly kind: 'literal'; readonly literal: Literal; readonly isNegative: boolean }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'null' | 'default' | 'now' };

const NULL_CELL: LiteralCell = { kind: 'null' };
const DEFAULT_CELL: LiteralCell = { kind: 'default' };
const NOW_CELL: LiteralCell = { kind: 'now' };

/** Reads one literal, NULL, DEFAULT, TRUE, FALSE or the current time; returns undefined, and reads nothing, otherwise. */
export function readLiteralCell(cursor: Cursor): LiteralCell | undefined {
  const { tokens } = cursor;
  const start = cursor.at;
  const isNegative = cursor.acceptSymbol('-');
  if (!isNegative) cursor.acceptSymbol('+');
  const kind = cursor.done ? 0 : tokens.kind(cursor.at);
  if (kind === Kind.integer || kind === Kind.decimal) {
    const value = tokens.raw(cursor.at++).replaceAll('_', '');
    return { kind: 'literal', literal: { kind: kind === Kind.integer ? 'integer' : 'decimal', value }, isNegative };
  }
  if (cursor.at !== start) {
    cursor.at = start;
    return undefined;
  }
  if (kind === Kind.text || kind === Kind.escapeText) return textCell(tokens.textValue(cursor.at++));
  if (kind === Kind.quoted) return textCell(tokens.name(cursor.at++)); // here double quotes delimit text
  if (kind === Kind.binary) {
    return { kind: 'literal', literal: { kind: 'binary', value: tokens.hexValue(cursor.at++) }, isNegative: false };
  }
  return kind === Kind.word ? readWord(cursor) : undefined;
}

function textCell(value: string): LiteralCell {
  return { kind: 'literal', literal: { kind: 'text', value }, isNegative: false };
}

function readWord(cursor: Cursor): LiteralCell | undefined {
  if (cursor.accept('NULL')) return NULL_CELL;
  if (cursor.accept('DEFAULT')) return DEFAULT_CELL;
  if (cursor.accept('TRUE')) return { kind: 'bool', value: true };
  if (cursor.accept('FALSE')) return { kind: 'bool', value: false };
  const start = cursor.at;
  if (cursor.accept('NOW') || cursor.accept('CURRENT_TIMESTAMP')) {
    const hasCall = cursor.acceptSymbol('(');
    if (!hasCall || cursor.acceptSymbol(')')) return NOW_CELL;
  }
  cursor.at = start;
  return undefined;
}
