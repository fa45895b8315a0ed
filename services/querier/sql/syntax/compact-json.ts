import { AlmanacError } from '#shared/errors/almanac-error';

/** Removes white space outside strings from JSON text; numbers stay as written. @throws `invalid_arguments`. */
export function compactJson(text: string): string {
  try {
    JSON.parse(text);
  } catch (error) {
    throw new AlmanacError('invalid_arguments', `Invalid json text: ${text.slice(0, 100)}`, { cause: error });
  }
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|\s+/g, (part) => (part.startsWith('"') ? part : ''));
}
