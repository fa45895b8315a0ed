/** Deepest object of a line whose members become labels. */
const DEPTH_MAX = 64;
/** Labels of one line. */
const MEMBERS_MAX = 1_000;

/** What the JSON of a line lacks. */
export class MalformedJson extends Error {}

/** Called for each value that is not an object: its path, and its text; texts are plain. */
export type MemberVisitor = (path: readonly string[], value: string, isText: boolean) => void;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const SPACES = /[ \t\n\r]*/y;

/**
 * Reads the JSON of a line without making a value of it: numbers keep their text, and only what is needed is decoded.
 *
 * Malformed text is reported by `MalformedJson`, which is thrown once per malformed line.
 */
export class JsonText {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Visits the members of the object that the text must be; arrays and nulls are skipped. @throws `MalformedJson`. */
  members(visit: MemberVisitor): void {
    this.#spaces();
    if (this.#text[this.#at] !== '{') throw new MalformedJson('expecting json object, but it is not');
    let count = 0;
    this.#object([], (path, value, isText) => {
      if (++count > MEMBERS_MAX) throw new MalformedJson(`more than ${MEMBERS_MAX} members`);
      visit(path, value, isText);
    });
    this.#end();
  }

  /** Returns the value at a path; objects and arrays as JSON. Undefined if there is none. @throws `MalformedJson`. */
  at(path: readonly (string | number)[]): string | undefined {
    this.#at = 0;
    for (const key of path) {
      this.#spaces();
      const isFound = typeof key === 'number' ? this.#enterArray(key) : this.#enterObject(key);
      if (!isFound) return undefined;
    }
    this.#spaces();
    const from = this.#at;
    this.#skip(0);
    const raw = this.#text.slice(from, this.#at);
    if (raw === 'null') return undefined;
    return raw.startsWith('"') ? decoded(raw) : raw;
  }

  #object(path: string[], visit: MemberVisitor): void {
    if (path.length >= DEPTH_MAX) throw new MalformedJson(`more than ${DEPTH_MAX} levels`);
    this.#at++;
    this.#spaces();
    if (this.#accept('}')) return;
    do {
      this.#spaces();
      path.push(decoded(this.#string()));
      this.#spaces();
      this.#expect(':');
      this.#spaces();
      this.#member(path, visit);
      path.pop();
      this.#spaces();
    } while (this.#accept(','));
    this.#expect('}');
  }

  #member(path: string[], visit: MemberVisitor): void {
    const first = this.#text[this.#at];
    if (first === '{') return this.#object(path, visit);
    if (first === '[') return this.#skip(path.length);
    if (first === '"') return visit(path, decoded(this.#string()), true);
    const scalar = this.#match(SCALAR);
    if (scalar === '') throw this.#unexpected();
    if (scalar !== 'null') visit(path, scalar, false);
  }

  /** Moves to the value of a member. */
  #enterObject(key: string): boolean {
    if (!this.#accept('{')) return false;
    this.#spaces();
    if (this.#accept('}')) return false;
    do {
      this.#spaces();
      const name = decoded(this.#string());
      this.#spaces();
      this.#expect(':');
      this.#spaces();
      if (name === key) return true;
      this.#skip(0);
      this.#spaces();
    } while (this.#accept(','));
    this.#expect('}');
    return false;
  }

  #enterArray(index: number): boolean {
    if (!this.#accept('[')) return false;
    this.#spaces();
    if (this.#accept(']')) return false;
    for (let i = 0; ; i++) {
      this.#spaces();
      if (i === index) return true;
      this.#skip(0);
      this.#spaces();
      if (this.#accept(',')) continue;
      this.#expect(']');
      return false;
    }
  }

  /** Moves past a value. */
  #skip(depth: number): void {
    if (depth > DEPTH_MAX) throw new MalformedJson(`more than ${DEPTH_MAX} levels`);
    const first = this.#text[this.#at];
    if (first === '"') return void this.#string();
    if (first !== '{' && first !== '[') {
      if (this.#match(SCALAR) === '') throw this.#unexpected();
      return;
    }
    const close = first === '{' ? '}' : ']';
    this.#at++;
    this.#spaces();
    if (this.#accept(close)) return;
    do {
      this.#spaces();
      if (first === '{') {
        this.#string();
        this.#spaces();
        this.#expect(':');
        this.#spaces();
      }
      this.#skip(depth + 1);
      this.#spaces();
    } while (this.#accept(','));
    this.#expect(close);
  }

  /** Takes a text with its quotes. A pattern for it would need memory for each character. */
  #string(): string {
    const from = this.#at;
    if (this.#text[from] !== '"') throw this.#unexpected();
    for (let at = from + 1; at < this.#text.length; at++) {
      const code = this.#text.charCodeAt(at);
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) {
        this.#at = at + 1;
        return this.#text.slice(from, this.#at);
      }
    }
    this.#at = this.#text.length;
    throw this.#unexpected();
  }

  #end(): void {
    this.#spaces();
    if (this.#at < this.#text.length) throw this.#unexpected();
  }

  #accept(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #expect(character: string): void {
    if (!this.#accept(character)) throw this.#unexpected();
  }

  #spaces(): void {
    this.#match(SPACES);
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += match.length;
    return match;
  }

  #unexpected(): MalformedJson {
    return new MalformedJson(`malformed JSON at character ${this.#at + 1}`);
  }
}

/** Returns the plain text of a quoted one. @throws `MalformedJson`. */
function decoded(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1);
  try {
    return JSON.parse(quoted) as string;
  } catch {
    throw new MalformedJson('a text has a malformed escape');
  }
}

/** Parses the path of an extraction: `a.b[0]["c d"]`; undefined if it is malformed. */
export function extractionPath(text: string): (string | number)[] | undefined {
  const path: (string | number)[] = [];
  let rest = text.trim();
  while (rest !== '') {
    const part = /^\.?([^.[\]"\s]+)|^\[(\d{1,9})\]|^\[("(?:[^"\\]|\\.)*")\]/.exec(rest);
    if (part === null || path.length === DEPTH_MAX) return undefined;
    const [whole, name, index, quoted] = part;
    if (name !== undefined) path.push(name);
    else if (index !== undefined) path.push(Number(index));
    else path.push(plainText(quoted));
    rest = rest.slice(whole.length);
  }
  return path.length === 0 ? undefined : path;
}

function plainText(quoted: string): string {
  return quoted.slice(1, -1).replaceAll(/\\(.)/g, '$1');
}
