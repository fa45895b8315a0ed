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

/** Removes white space from the text of a JSON object. @param mayBeEmpty whether it may have no members. @throws `invalid_arguments`, `unsupported`. */
export function compactObject(text: string, mayBeEmpty = false): string {
  const compact = compactJson(text);
  if (!compact.startsWith('{')) throw new AlmanacError('unsupported', 'Non-object json is not supported currently');
  if (mayBeEmpty || compact !== '{}') return compact;
  throw new AlmanacError(
    'invalid_arguments',
    'Invalid InsertRequest, reason: empty json object is not supported, consider adding a dummy field',
  );
}
