import type { Cursor } from './cursor.js';
import { readLiteralCell, type LiteralCell } from './literal-cell.js';

/** The tuples of VALUES: from a position to the end of the statement. */
export interface ValueRange {
  readonly cursor: Cursor;
  readonly from: number;
}

/** Receives the cells of tuples in order. */
export interface TupleSink {
  literal(cell: LiteralCell): void;
  /** @param sql any other value, as written. */
  expression(sql: string): void;
  endOfTuple(): void;
}

/** Parses `(..), (..)`. @throws `invalid_syntax`. */
export function readTuples({ cursor, from }: ValueRange, sink: TupleSink): void {
  cursor.at = from;
  do {
    if (cursor.done && cursor.at > from) break; // a trailing comma
    cursor.expectSymbol('(');
    while (!cursor.acceptSymbol(')')) {
      readCell(cursor, sink);
      if (!cursor.acceptSymbol(',') && !cursor.seesSymbol(')')) throw cursor.unexpected(', or )');
    }
    sink.endOfTuple();
  } while (cursor.acceptSymbol(','));
  cursor.expectEnd();
}

function readCell(cursor: Cursor, sink: TupleSink): void {
  const start = cursor.at;
  const cell = readLiteralCell(cursor);
  if (cell !== undefined && (cursor.seesSymbol(',') || cursor.seesSymbol(')'))) {
    sink.literal(cell);
    return;
  }
  cursor.at = start;
  const { from, to } = cursor.skipExpression();
  if (from === to) throw cursor.unexpected('a value');
  const { tokens } = cursor;
  sink.expression(tokens.source.slice(tokens.start(from), tokens.end(to - 1)));
}
