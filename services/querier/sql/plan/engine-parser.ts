import type { QueryConnection } from '#shared/duckdb/query-connection';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { Ast } from '../syntax/ast.js';
import type { QueryText } from '../syntax/query-text.js';
import { atPlace, type TextPlace } from '../syntax/text-place.js';
import { lift, liftedPlace, type LiftedQuery } from './lift-literals.js';

/** A query, and its tree. */
export interface ParsedQuery {
  readonly ast: Ast;
  readonly lifted: LiftedQuery;
  /** Whether its literals are in the tree, and not parameters. */
  readonly keepsLiterals: boolean;
}

interface Serialized {
  readonly error: boolean;
  readonly error_type?: string;
  readonly error_message?: string;
  /** Offset of the error in the text, in characters of Unicode. */
  readonly position?: string;
  readonly statements?: readonly { readonly node: Ast }[];
}

/** Parses a query by the engine's parser. @throws `invalid_syntax`, `unsupported`. */
export async function parseByEngine(
  query: QueryText,
  lifted: LiftedQuery,
  connection: QueryConnection,
): Promise<ParsedQuery> {
  const first = await serialize(lifted.sql, connection);
  if (!first.error) return { ast: onlyStatement(first), lifted, keepsLiterals: false };
  // A parameter is not allowed everywhere a literal is: the second attempt keeps the literals.
  const whole = lift(query.tokens, query.from, query.to, true);
  const second = await serialize(whole.sql, connection);
  if (!second.error) return { ast: onlyStatement(second), lifted: whole, keepsLiterals: true };
  // What the engine calls statements that it parses but cannot serialize: all but queries.
  if (second.error_type === 'not implemented') {
    throw new AlmanacError('unsupported', 'SQL statement is not supported: only queries that read can be run');
  }
  const { error_message: message = '', position } = second;
  const error = new AlmanacError('invalid_syntax', `Invalid SQL syntax: sql parser error: ${message}`.slice(0, 500));
  const place = position === undefined ? undefined : engineErrorPlace(query, message, Number(position));
  throw place === undefined ? error : atPlace(error, place);
}

/** Returns what a message of the engine's parser is about; undefined if that is not certain. */
function engineErrorPlace(query: QueryText, message: string, offset: number): TextPlace | undefined {
  const { tokens, to } = query;
  if (message.endsWith('at end of input')) {
    const end = tokens.end(to - 1);
    return { source: tokens.source, start: end, end };
  }
  const near = /at or near "(.*)"$/s.exec(message)?.[1].toLowerCase();
  const place = liftedPlace(query, offset);
  const found = place?.source.slice(place.start, place.end).toLowerCase();
  return near === found ? place : undefined;
}

async function serialize(sql: string, connection: QueryConnection): Promise<Serialized> {
  const text = await connection.callText('SELECT json_serialize_sql($1::VARCHAR)', sql);
  // The engine cuts a long message in the middle of a character, and then returns none at all.
  if (text === '') return { error: true, error_type: 'parser', error_message: 'syntax error' };
  try {
    return JSON.parse(text) as Serialized;
  } catch (error) {
    // It writes infinities as they are in JavaScript.
    if (!/:-?Infinity\b/.test(text)) throw error;
    return { error: true, error_type: 'parser', error_message: 'a number is out of range' };
  }
}

function onlyStatement(parsed: Serialized): Ast {
  const node = parsed.statements?.[0]?.node;
  if (node === undefined || parsed.statements?.length !== 1) {
    throw new AlmanacError('invalid_syntax', 'Invalid SQL syntax: sql parser error: expected one query');
  }
  return node;
}

/** The engine rejects `10` where it expects a double, and JavaScript cannot print `10.0`. */
const WHOLE_DOUBLE = '\u0001double:';

/** Returns a tree as the engine reads it. */
export function serializedTree(ast: Ast): string {
  const tree = { error: false, statements: [{ node: ast, named_param_map: [] }] };
  const json = JSON.stringify(tree, (_key, value: unknown) => {
    const constant = value as { type?: { id?: unknown }; value?: unknown } | null;
    const isWhole = typeof constant === 'object' && constant?.type?.id === 'DOUBLE' && Number.isInteger(constant.value);
    return isWhole ? { ...constant, value: WHOLE_DOUBLE + String(constant.value) } : value;
  });
  return json.replaceAll(/"\\u0001double:(-?\d+)(e\+\d+)?"/g, (_whole, digits: string, exponent: string | undefined) =>
    exponent === undefined ? `${digits}.0` : digits + exponent,
  );
}
