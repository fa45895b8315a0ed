/** A string, or an integer that a double may round. */
const STRING_OR_LONG_INTEGER = /"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g;

/**
 * The texts of the objects in `{"data":[..],..}`, exactly as they stand there, so that 64-bit integers keep
 * all digits.
 */
export function rowTexts(body: string): string[] {
  const rows: string[] = [];
  let depth = 0;
  let from = 0;
  const start = body.indexOf('[');
  for (let i = start < 0 ? body.length : start; i < body.length; i++) {
    const character = body[i];
    if (character === '"') i = endOfString(body, i);
    else if (character === '{' || character === '[') {
      depth++;
      if (depth === 2) from = i;
    } else if (character === '}' || character === ']') {
      if (depth === 2) rows.push(body.slice(from, i + 1));
      depth--;
      if (depth === 0) break;
    }
  }
  return rows;
}

/** One row as lines of `name | value`. */
export function expandRow(row: string, number: number): string {
  const exact = row.replace(STRING_OR_LONG_INTEGER, (token) => (token.startsWith('"') ? token : `"${token}"`));
  const values = Object.entries(JSON.parse(exact) as Readonly<Record<string, unknown>>);
  const width = Math.max(0, ...values.map(([name]) => name.length));
  const lines = values.map(([name, value]) => {
    const shown = value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
    return `${name.padEnd(width)} | ${shown}\n`;
  });
  return `-[ row ${number} ]-\n${lines.join('')}`;
}

/** Place of the quote that ends the string at `from`. */
function endOfString(text: string, from: number): number {
  let i = from + 1;
  while (i < text.length && text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
  return i;
}
