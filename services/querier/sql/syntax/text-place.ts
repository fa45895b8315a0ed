import { AlmanacError } from '#shared/errors/almanac-error';

/** A part of a text, in UTF-16 units. */
export interface TextPlace {
  readonly source: string;
  readonly start: number;
  /** Equal to `start` at the end of a statement. */
  readonly end: number;
}

/** Beside the errors, because places hold whole texts, and errors cross to other processes. */
const PLACES = new WeakMap<AlmanacError, TextPlace>();

/** Notes which part of a text an error is about. @returns the error. */
export function atPlace(error: AlmanacError, place: TextPlace): AlmanacError {
  PLACES.set(error, place);
  return error;
}

/**
 * Adds the details `line`, `column` (from 1) and `length` to an error about a part of this text, all in UTF-16 units. An error
 * about another text, such as the definition of a view or a rewritten query, gets none.
 */
export function withPosition(thrown: unknown, text: string): AlmanacError {
  const error = AlmanacError.from(thrown);
  const place = placeOf(error);
  if (place?.source !== text) return error;
  const lineStart = place.start === 0 ? 0 : text.lastIndexOf('\n', place.start - 1) + 1;
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < lineStart; at = text.indexOf('\n', at + 1)) line++;
  const column = place.start - lineStart + 1;
  return error.withDetails({ line: String(line), column: String(column), length: String(place.end - place.start) });
}

function placeOf(error: AlmanacError): TextPlace | undefined {
  const place = PLACES.get(error);
  return place === undefined && error.cause instanceof AlmanacError ? placeOf(error.cause) : place;
}
