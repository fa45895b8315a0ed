import { RE2JS, RE2JSException, type Matcher } from 're2js';

import { AlmanacError } from '#shared/errors/almanac-error';

const SOURCE_BYTES_MAX = 8 * 1024;

/** A regular expression in the syntax of Go, which runs in linear time. */
export class LinearRegex {
  readonly groupNames: ReadonlyMap<string, number>;
  readonly #engine: RE2JS;

  /** @param isWhole whether it must match a whole text; then `.` matches line breaks too. @throws `invalid_syntax`. */
  constructor(source: string, isWhole = false) {
    if (Buffer.byteLength(source) > SOURCE_BYTES_MAX) {
      throw invalid(`error parsing regexp: expression is longer than ${SOURCE_BYTES_MAX} bytes`);
    }
    try {
      RE2JS.compile(source);
      this.#engine = RE2JS.compile(isWhole ? `^(?s:${source})$` : source);
    } catch (error) {
      if (!(error instanceof RE2JSException)) throw error;
      throw invalid(error.message);
    }
    this.groupNames = new Map(Object.entries(this.#engine.namedGroups()));
  }

  /** Whether a text matches. */
  test(text: string): boolean {
    return this.#engine.test(text);
  }

  /** Returns the first match; undefined if there is none. */
  find(text: string): Matcher | undefined {
    const matcher = this.#engine.matcher(text);
    return matcher.find() ? matcher : undefined;
  }

  /** Returns the number of matches. */
  count(text: string): number {
    const matcher = this.#engine.matcher(text);
    let count = 0;
    while (matcher.find()) count++;
    return count;
  }

  /** Replaces all matches. @param replacement with `$1` and `${name}`, unless it is literal. */
  replaceAll(text: string, replacement: string, isLiteral: boolean): string {
    const matcher = this.#engine.matcher(text);
    const parts = isLiteral ? [replacement] : replacement.split(/(\$\$|\$\{\w*\}|\$\w+)/);
    let out = '';
    let copied = 0;
    while (matcher.find()) {
      out += text.slice(copied, matcher.start());
      out += parts.map((part, i) => (i % 2 === 0 ? part : this.#inserted(matcher, part))).join('');
      copied = matcher.end();
    }
    return out + text.slice(copied);
  }

  /** Returns a template for the groups of a match. */
  expand(match: Matcher, replacement: string): string {
    const parts = replacement.split(/(\$\$|\$\{\w*\}|\$\w+)/);
    return parts.map((part, i) => (i % 2 === 0 ? part : this.#inserted(match, part))).join('');
  }

  #inserted(match: Matcher, part: string): string {
    if (part === '$$') return '$';
    const name = part.replace(/^\$\{?|\}$/g, '');
    const index = /^\d+$/.test(name) ? Number(name) : this.groupNames.get(name);
    if (index === undefined || index > this.#engine.groupCount()) return '';
    return match.group(index) ?? '';
  }
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_syntax', text);
}
