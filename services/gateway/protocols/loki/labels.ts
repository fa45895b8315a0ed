/**
 * Reads the labels of a stream: `{app="x", level=`info`}`.
 *
 * @returns names and values in order, of several with the same name the last; a text is the reason to refuse them.
 */
export function parseStreamLabels(text: string): ReadonlyMap<string, string> | string {
  const labels = new Map<string, string>();
  const parser = new LabelParser(text);
  if (!parser.accept('{')) return 'labels must begin with {';
  if (parser.accept('}')) return parser.isDone ? labels : 'text after the labels';
  for (;;) {
    const name = parser.name();
    if (name === '') return `label name expected at character ${parser.at + 1}`;
    if (!parser.accept('=')) return `= expected at character ${parser.at + 1}`;
    const value = parser.value();
    if (value === undefined) return `value of label "${name}" is not a quoted text`;
    labels.set(name, value);
    if (parser.accept(',')) {
      // A comma may follow the last label.
      if (parser.accept('}')) break;
      continue;
    }
    if (parser.accept('}')) break;
    return `, or } expected at character ${parser.at + 1}`;
  }
  return parser.isDone ? labels : 'text after the labels';
}

const SPACES = /\s*/y;
const NAME = /[^\s={},"`]+/y;
const QUOTED = /"((?:[^"\\\n]|\\.)*)"/y;
const RAW = /`([^`]*)`/y;
const ESCAPE = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))/gs;
const ESCAPED: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '"': '"',
  "'": "'",
};

class LabelParser {
  at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get isDone(): boolean {
    this.#match(SPACES);
    return this.at === this.#text.length;
  }

  accept(character: string): boolean {
    this.#match(SPACES);
    if (this.#text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  /** Returns the name at the position; empty if there is none. */
  name(): string {
    this.#match(SPACES);
    return this.#match(NAME)?.[0] ?? '';
  }

  /** Returns the text within quotes at the position; undefined if there is none. */
  value(): string | undefined {
    this.#match(SPACES);
    const raw = this.#match(RAW);
    if (raw !== undefined) return raw[1];
    const quoted = this.#match(QUOTED);
    return quoted === undefined ? undefined : unescaped(quoted[1]);
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.at = pattern.lastIndex;
    return match;
  }
}

/** Replaces the escapes of Go; undefined if one is not known. */
function unescaped(text: string): string | undefined {
  if (!text.includes('\\')) return text;
  let isValid = true;
  const plain = text.replaceAll(ESCAPE, (_all, ...groups: (string | undefined)[]) => {
    const character = escapedCharacter(groups);
    isValid &&= character !== undefined;
    return character ?? '';
  });
  return isValid ? plain : undefined;
}

/** @param groups hexadecimal digits of a byte or of a code point, octal digits, or a letter. */
function escapedCharacter([byte, short, long, octal, letter]: readonly (string | undefined)[]): string | undefined {
  if (letter !== undefined) return Object.hasOwn(ESCAPED, letter) ? ESCAPED[letter] : undefined;
  const digits = byte ?? short ?? long;
  const point = digits === undefined ? parseInt(octal ?? '', 8) : parseInt(digits, 16);
  return point <= 0x10ffff ? String.fromCodePoint(point) : undefined;
}
