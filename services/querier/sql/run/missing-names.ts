import { AlmanacError } from '#shared/errors/almanac-error';

import type { StatementContext } from '../statement.js';
import { Kind } from '../syntax/lex.js';
import type { QueryText } from '../syntax/query-text.js';
import { atPlace, type TextPlace } from '../syntax/text-place.js';

const MISSING_TABLE = 'Failed to plan SQL: Table not found: ';
const MISSING_FIELD = 'Failed to plan SQL: No field named ';

/**
 * Adds to the error for a missing column the columns that exist, as far as the query names its tables directly, and to that
 * and the error for a missing table where the query names it.
 */
export function withMissingName(error: unknown, query: QueryText, context: StatementContext): unknown {
  if (!(error instanceof AlmanacError)) return error;
  if (error.code === 'table_not_found') return placed(error, tablePlaces(error.message, query, context));
  if (!error.message.startsWith(MISSING_FIELD)) return error;
  const { planner } = context.deps;
  const { database } = context.session;
  const places = planner.readsViews(query, database) ? [] : columnPlaces(error.message, query);
  const fields = planner.fieldsOf(query, database);
  if (fields.length === 0) return placed(error, places);
  const text = `${error.message} Valid fields are ${fields.join(', ')}.${quotesHint(places)}`;
  return placed(new AlmanacError(error.code, text, { cause: error }), places);
}

/** Other databases take texts in double quotes. */
function quotesHint(places: readonly TextPlace[]): string {
  const quoted = places.map(({ source, start, end }) => source.slice(start, end)).find((text) => text.startsWith('"'));
  return quoted === undefined ? '' : ` Texts are in single quotes: '${quoted.slice(1, -1)}'.`;
}

/** With several places it is not certain which one is wrong. */
function placed(error: AlmanacError, places: readonly TextPlace[]): AlmanacError {
  return places.length === 1 ? atPlace(error, places[0]) : error;
}

/** Returns the identifiers of a query that may be the column that an error names. */
function columnPlaces(message: string, { tokens, from, to }: QueryText): TextPlace[] {
  const name = message.slice(MISSING_FIELD.length, -1);
  const places: TextPlace[] = [];
  for (let i = from; i < to; i++) if (isName(tokens.kind(i)) && tokens.name(i) === name) places.push(tokens.place(i));
  return places;
}

/** Returns the names in a query that are, with what they leave out, the one of the table that an error names. */
function tablePlaces(
  message: string,
  { tokens, from, to }: QueryText,
  { deps, session }: StatementContext,
): TextPlace[] {
  const places: TextPlace[] = [];
  for (let i = from; i < to;) {
    let last = i;
    while (isName(tokens.kind(last)) && tokens.isSymbol(last + 1, '.') && last + 2 < to) last += 2;
    if (isName(tokens.kind(last))) {
      const schema = last === i ? session.database : tokens.name(last - 2);
      const missing = `${MISSING_TABLE}${deps.names.fullName(schema, tokens.name(last))}`;
      // A hint may follow.
      const isIt = message === missing || message.startsWith(`${missing}, did you mean `);
      if (isIt) places.push({ source: tokens.source, start: tokens.start(i), end: tokens.end(last) });
    }
    i = last + 1;
  }
  return places;
}

function isName(kind: number): boolean {
  return kind === Kind.word || kind === Kind.quoted;
}
