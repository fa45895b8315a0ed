/** Labels of one line. */
const PAIRS_MAX = 1_000;

const SPACE = 0x20;
const EQUALS = 0x3d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Where a line is not logfmt. */
export interface LogfmtError {
  readonly message: string;
}

/**
 * Reads `key=value key="quoted value" key` pairs. Malformed parts are skipped.
 *
 * @returns the first error; undefined if there is none.
 */
export function readLogfmt(line: string, visit: (key: string, value: string) => void): LogfmtError | undefined {
  let error: LogfmtError | undefined;
  let at = 0;
  for (let count = 0; count < PAIRS_MAX;) {
    while (at < line.length && line.charCodeAt(at) <= SPACE) at++;
    if (at >= line.length) break;
    const keyFrom = at;
    while (at < line.length && isKeyCode(line.charCodeAt(at))) at++;
    const key = line.slice(keyFrom, at);
    if (key === '') {
      error ??= { message: `logfmt syntax error at pos ${at + 1} : unexpected '${line[at]}'` };
      at = wordEnd(line, at);
      continue;
    }
    count++;
    if (line.charCodeAt(at) !== EQUALS) {
      if (line.charCodeAt(at) === QUOTE) {
        error ??= { message: `logfmt syntax error at pos ${at + 1} : unexpected '"'` };
        at = wordEnd(line, at);
      } else visit(key, '');
      continue;
    }
    const value = valueAt(line, at + 1);
    if (typeof value === 'string') {
      error ??= { message: value };
      at = wordEnd(line, at);
      continue;
    }
    visit(key, value.text);
    at = value.end;
  }
  return error;
}

function isKeyCode(code: number): boolean {
  return code > SPACE && code !== EQUALS && code !== QUOTE;
}

function valueAt(line: string, from: number): { text: string; end: number } | string {
  if (line.charCodeAt(from) !== QUOTE) {
    const end = wordEnd(line, from);
    const text = line.slice(from, end);
    if (!text.includes('"') && !text.includes('=')) return { text, end };
    const position = from + Math.max(text.indexOf('"'), text.indexOf('=')) + 1;
    return `logfmt syntax error at pos ${position} : unexpected '${text.includes('"') ? '"' : '='}'`;
  }
  let hasEscape = false;
  for (let at = from + 1; at < line.length; at++) {
    const code = line.charCodeAt(at);
    if (code === BACKSLASH) {
      hasEscape = true;
      at++;
    } else if (code === QUOTE) {
      const raw = line.slice(from + 1, at);
      return { text: hasEscape ? unescaped(raw) : raw, end: at + 1 };
    }
  }
  return `logfmt syntax error at pos ${line.length + 1} : unterminated quoted value`;
}

const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

function unescaped(raw: string): string {
  return raw.replaceAll(/\\(?:u([0-9a-fA-F]{4})|([^]))/g, (_all, code: string | undefined, letter: string) => {
    return code === undefined ? (ESCAPED[letter] ?? letter) : String.fromCharCode(parseInt(code, 16));
  });
}

function wordEnd(line: string, from: number): number {
  let at = from;
  while (at < line.length && line.charCodeAt(at) > SPACE) at++;
  return at;
}
