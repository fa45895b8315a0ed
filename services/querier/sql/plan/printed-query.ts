import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import { Kind, lexSql } from '../syntax/lex.js';
import { doubleSql, literalSql, type RunValues } from '../syntax/literals.js';

/** A segment of the engine's statement: fixed, or rendered in each run. */
type Piece = string | ((run: RunValues, texts: RunTexts) => string);

interface RunTexts {
  readonly relations: readonly string[];
  readonly itemNames: readonly string[];
}

/** Renders the SQL text of a run for the engine. @param relations one for each table, in order. */
export type PrintedQuery = (run: RunValues, relations: readonly string[], itemNames: readonly string[]) => string;

/**
 * Returns what renders a query that the engine printed.
 *
 * @param prefix begins the markers of relations and item names
 * @param slots values of parameters beyond the literals
 */
export function printedQuery(
  printed: string,
  prefix: string,
  slots: ReadonlyMap<string, (run: RunValues) => string>,
  literalCount: number,
): PrintedQuery {
  const pieces = cutText(printed, prefix, slots, literalCount);
  return (run, relations, itemNames) => joinPieces(pieces, run, { relations, itemNames });
}

/** Splits the printed statement at parameters, relations and item names. */
function cutText(
  printed: string,
  prefix: string,
  slots: ReadonlyMap<string, (run: RunValues) => string>,
  literalCount: number,
): Piece[] {
  const tokens = lexSql(printed);
  const pieces: Piece[] = [];
  let copied = 0;
  const put = (i: number, piece: Piece): void => {
    pieces.push(printed.slice(copied, tokens.start(i)), piece);
    copied = tokens.end(i);
  };
  for (let i = 0; i < tokens.count; i++) {
    const kind = tokens.kind(i);
    if (kind === Kind.parameter) put(i, parameterPiece(tokens.raw(i).slice(1), slots, literalCount));
    else if (kind === Kind.decimal) put(i, doubleSql(tokens.raw(i)));
    else if (kind === Kind.word && tokens.raw(i).startsWith(prefix)) {
      put(i, markerPiece(tokens.raw(i).slice(prefix.length)));
    }
  }
  pieces.push(printed.slice(copied));
  return pieces;
}

function parameterPiece(
  identifier: string,
  slots: ReadonlyMap<string, (run: RunValues) => string>,
  literalCount: number,
): Piece {
  const slot = slots.get(identifier);
  if (slot !== undefined) return slot;
  const index = Number(identifier) - 1;
  if (index >= literalCount) throw new AlmanacError('internal', `parameter ${identifier} has no value`);
  return (run) => literalSql(run.literals[index]);
}

function markerPiece(rest: string): Piece {
  if (rest.startsWith('n')) {
    return (_run, { itemNames }) => quoteName(itemNames[Number(rest.slice(1))] ?? `column${rest.slice(1)}`);
  }
  return (_run, { relations }) => relations[Number(rest)];
}

function joinPieces(pieces: readonly Piece[], run: RunValues, texts: RunTexts): string {
  let sql = '';
  for (const piece of pieces) sql += typeof piece === 'string' ? piece : piece(run, texts);
  return sql;
}
