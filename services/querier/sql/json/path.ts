import { AlmanacError } from '#shared/errors/almanac-error';

/** Longest path, in characters. */
const PATH_CHARS_MAX = 10_000;
/** Deepest nesting of parentheses in filters. */
const DEPTH_MAX = 50;

/** Position in an array: a number, or a distance from the last element. */
export interface JsonPosition {
  readonly fromLast: boolean;
  readonly offset: number;
}

/** One step of a path. */
export type JsonStep =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'members' | 'elements' }
  | { readonly kind: 'indexes'; readonly ranges: readonly (readonly [JsonPosition, JsonPosition])[] }
  | { readonly kind: 'filter'; readonly filter: JsonPredicate };

/** Operand of a comparison: a path from the current value or from the root, or a constant. */
export type JsonOperand =
  | { readonly kind: 'path'; readonly fromRoot: boolean; readonly steps: readonly JsonStep[] }
  | { readonly kind: 'constant'; readonly value: string | number | boolean | null };

/** A condition in a filter. */
export type JsonPredicate =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly JsonPredicate[] }
  | { readonly kind: 'not'; readonly part: JsonPredicate }
  | { readonly kind: 'exists'; readonly operand: JsonOperand }
  | { readonly kind: 'compare'; readonly operator: string; readonly left: JsonOperand; readonly right: JsonOperand };

/**
 * Parses a path: `a.b[0]`, `$.a['b']`, `:a`, `[*]`, `[1 to last]`, `a?(@.x < 10)`. Without `$` it starts at the root too; an
 * empty one is the root.
 *
 * @throws `execute_query` for a malformed path.
 */
export function parseJsonPath(text: string): JsonStep[] {
  const parser = new PathParser(text);
  parser.accept('$');
  if (/^\s*\.?\s*$/.test(text.replace('$', ''))) return [];
  const steps = parser.steps(true);
  parser.end();
  return steps;
}

/** Parses a condition on a whole value: `$.a == 1`. @throws `execute_query`. */
export function parseJsonPredicate(text: string): JsonPredicate {
  const parser = new PathParser(text);
  const predicate = parser.predicate();
  parser.end();
  return predicate;
}

const COMPARISONS = ['==', '!=', '<>', '<=', '>=', '<', '>', '='];

class PathParser {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    if (text.length > PATH_CHARS_MAX) {
      throw new AlmanacError('execute_query', `JSON path is longer than ${PATH_CHARS_MAX} characters`);
    }
    this.#text = text;
  }

  accept(symbol: string): boolean {
    this.#space();
    if (!this.#text.startsWith(symbol, this.#at)) return false;
    this.#at += symbol.length;
    return true;
  }

  end(): void {
    this.#space();
    if (this.#at < this.#text.length) throw this.#malformed();
  }

  /** @param isStart whether a key may come without its dot. */
  steps(isStart: boolean): JsonStep[] {
    const steps: JsonStep[] = [];
    if (isStart) {
      const key = this.#word() ?? this.#quoted();
      if (key !== undefined) steps.push({ kind: 'key', key });
    }
    for (let step = this.#step(); step !== undefined; step = this.#step()) steps.push(step);
    return steps;
  }

  predicate(): JsonPredicate {
    if (++this.#depth > DEPTH_MAX) throw this.#malformed();
    const parts = [this.#conjunction()];
    while (this.accept('||')) parts.push(this.#conjunction());
    this.#depth--;
    return parts.length === 1 ? parts[0] : { kind: 'or', parts };
  }

  #conjunction(): JsonPredicate {
    const parts = [this.#condition()];
    while (this.accept('&&')) parts.push(this.#condition());
    return parts.length === 1 ? parts[0] : { kind: 'and', parts };
  }

  #condition(): JsonPredicate {
    if (this.accept('!(')) return { kind: 'not', part: this.#closed(this.predicate()) };
    if (this.accept('exists(')) return { kind: 'exists', operand: this.#closed(this.#operand()) };
    if (this.accept('(')) return this.#closed(this.predicate());
    const left = this.#operand();
    const operator = COMPARISONS.find((symbol) => this.accept(symbol));
    if (operator !== undefined) return { kind: 'compare', operator, left, right: this.#operand() };
    if (this.accept('starts with')) return { kind: 'compare', operator: 'starts with', left, right: this.#operand() };
    return { kind: 'exists', operand: left };
  }

  #closed<T>(inner: T): T {
    if (!this.accept(')')) throw this.#malformed();
    return inner;
  }

  #operand(): JsonOperand {
    if (this.accept('$')) return { kind: 'path', fromRoot: true, steps: this.steps(false) };
    if (this.accept('@')) return { kind: 'path', fromRoot: false, steps: this.steps(false) };
    const text = this.#quoted();
    if (text !== undefined) return { kind: 'constant', value: text };
    this.#space();
    const number = this.#match(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
    if (number !== undefined) return { kind: 'constant', value: Number(number) };
    const word = this.#match(/true|false|null/y);
    if (word === undefined) throw this.#malformed();
    return { kind: 'constant', value: JSON.parse(word) as boolean | null };
  }

  #step(): JsonStep | undefined {
    if (this.accept('.*') || this.accept(':*')) return { kind: 'members' };
    if (this.accept('.') || this.accept(':')) {
      const key = this.#word() ?? this.#quoted();
      if (key === undefined) throw this.#malformed();
      return { kind: 'key', key };
    }
    if (this.accept('?')) {
      if (!this.accept('(')) throw this.#malformed();
      return { kind: 'filter', filter: this.#closed(this.predicate()) };
    }
    return this.accept('[') ? this.#bracket() : undefined;
  }

  #bracket(): JsonStep {
    const key = this.#quoted();
    const step: JsonStep =
      key !== undefined
        ? { kind: 'key', key }
        : this.accept('*')
          ? { kind: 'elements' }
          : { kind: 'indexes', ranges: this.#ranges() };
    if (!this.accept(']')) throw this.#malformed();
    return step;
  }

  #ranges(): (readonly [JsonPosition, JsonPosition])[] {
    const ranges: (readonly [JsonPosition, JsonPosition])[] = [];
    do {
      const from = this.#position();
      ranges.push([from, this.accept('to') ? this.#position() : from]);
    } while (this.accept(','));
    return ranges;
  }

  #position(): JsonPosition {
    const fromLast = this.accept('last');
    this.#space();
    const digits = this.#match(fromLast ? /-\s*\d{1,9}|/y : /-?\d{1,9}/y);
    if (digits === undefined) throw this.#malformed();
    const offset = Number(digits.replaceAll(/\s/g, ''));
    // A negative number counts from the end: -1 is the last element.
    return offset < 0 && !fromLast ? { fromLast: true, offset: offset + 1 } : { fromLast, offset };
  }

  #word(): string | undefined {
    this.#space();
    return this.#match(/[^\s.:[\]?()'"=<>!&|,*@$]+/y) ?? this.#match(/\$[^\s.:[\]?()'"=<>!&|,*@]+/y);
  }

  #quoted(): string | undefined {
    this.#space();
    const raw = this.#match(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/y);
    return raw?.slice(1, -1).replaceAll(/\\(.)/g, '$1');
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#at += match[0].length;
    return match[0];
  }

  #space(): void {
    this.#match(/\s+/y);
  }

  #malformed(): AlmanacError {
    return new AlmanacError('execute_query', `malformed JSON path '${this.#text.slice(0, 100)}' at ${this.#at}`);
  }
}
