import { AlmanacError } from '#shared/errors/almanac-error';

/**
 * An error of a query's text, in Prometheus's form: `line:col: parse error: text`, both from 1, columns in bytes.
 *
 * @param offset in UTF-16 units.
 */
export function parseError(query: string, offset: number, text: string): AlmanacError {
  const before = query.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  const line = before.split('\n').length;
  const column = Buffer.byteLength(before.slice(lineStart)) + 1;
  return new AlmanacError('invalid_syntax', `${line}:${column}: parse error: ${text}`);
}
