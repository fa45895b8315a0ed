import { AlmanacError } from '#shared/errors/almanac-error';

/** Makes the error for a place in a query, in the words of Loki. */
export function logqlError(query: string, at: number, message: string): AlmanacError {
  const before = query.slice(0, at);
  const line = before.split('\n').length;
  const column = at - before.lastIndexOf('\n');
  return new AlmanacError('invalid_syntax', `parse error at line ${line}, col ${column}: ${message}`);
}

/** Makes the error for a query that is well-formed but not allowed. */
export function logqlRuleError(message: string): AlmanacError {
  return new AlmanacError('invalid_syntax', `parse error : ${message}`);
}
