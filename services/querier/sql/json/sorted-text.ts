import { AlmanacError } from '#shared/errors/almanac-error';

/** Deepest nesting of a value. */
const DEPTH_MAX = 1000;

/**
 * Returns JSON text without white space, members sorted by their keys; of two members with one key the later one stays.
 * Numbers and texts stay as written.
 *
 * @throws `execute_query` if the text is no JSON.
 */
export function sortedJson(text: string): string {
  try {
    JSON.parse(text);
  } catch (error) {
    throw new AlmanacError('execute_query', `cannot parse '${text.slice(0, 100)}': ${(error as Error).message}`);
  }
  return new Sorter(text).value(0);
}

/** Reads text that is known to be JSON. */
class Sorter {
  readonly #tokens: RegExpStringIterator<RegExpExecArray>;
  #token: string;

  constructor(text: string) {
    this.#tokens = text.matchAll(/[[\]{},:]|"(?:[^"\\]|\\.)*"|[^\s[\]{},:"]+/g);
    this.#token = '';
    this.#next();
  }

  value(depth: number): string {
    if (depth > DEPTH_MAX) throw new AlmanacError('execute_query', `JSON is nested deeper than ${DEPTH_MAX} levels`);
    const token = this.#next();
    if (token === '{') return this.#object(depth);
    return token === '[' ? this.#array(depth) : token;
  }

  #object(depth: number): string {
    const members = new Map<string, string>();
    while (this.#token !== '}') {
      const key = this.#next();
      this.#next(); // the colon
      members.set(key, this.value(depth + 1));
      if (this.#token === ',') this.#next();
    }
    this.#next();
    const keys = [...members.keys()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    return `{${keys.map((key) => `${key}:${members.get(key) ?? 'null'}`).join(',')}}`;
  }

  #array(depth: number): string {
    const items: string[] = [];
    while (this.#token !== ']') {
      items.push(this.value(depth + 1));
      if (this.#token === ',') this.#next();
    }
    this.#next();
    return `[${items.join(',')}]`;
  }

  #next(): string {
    const token = this.#token;
    const { value, done } = this.#tokens.next();
    this.#token = done === true ? '' : value[0];
    return token;
  }
}

function keyOf(token: string): string {
  return token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1);
}
