import { quoteText } from '#shared/duckdb/quote';

import { call, cast, type Ast } from '../syntax/ast.js';
import type { FunctionContext } from './function.js';

/** Formats that one call may try. */
export const FORMATS_MAX = 16;

/** Returns the engine's format for one of chrono, which is to be parsed. */
function parsedFormat(format: string): string {
  const parts: Readonly<Partial<Record<string, string>>> = {
    '%F': '%Y-%m-%d',
    '%T': '%H:%M:%S',
    '%R': '%H:%M',
    '%D': '%m/%d/%y',
    '%e': '%-d',
    '%k': '%-H',
    '%h': '%b',
    '%:z': '%z',
  };
  return format.replaceAll(/%\.?[369]?f|%:?[a-zA-Z%]/g, (spec) => {
    // Of a fraction, as many digits are read as there are.
    if (spec.endsWith('f')) return spec.startsWith('%.') ? '.%n' : '%n';
    return parts[spec] ?? spec;
  });
}

/** Builds a timestamp from a text in the first of the formats that it has. */
export function parsedTime(text: Ast, formats: readonly Ast[], context: FunctionContext): Ast {
  const translated = formats.map((format) => {
    const literal = context.literalOf(format);
    return literal === undefined ? format : context.perRun((run) => quoteText(parsedFormat(literal.in(run).value)));
  });
  return call(
    'strptime',
    cast(text, 'VARCHAR'),
    translated.length === 1 ? translated[0] : call('list_value', ...translated),
  );
}
