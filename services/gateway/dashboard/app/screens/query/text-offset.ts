import type { TextPosition } from '../../core/http.js';

/** Returns the offset of a position in a text; undefined if the text has fewer lines. */
export function textOffset(text: string, { line, column }: TextPosition): number | undefined {
  const lines = text.split('\n');
  if (line > lines.length) return undefined;
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  return Math.min(text.length, start + column - 1);
}
