import { RE2JS, RE2JSException, type Matcher } from 're2js';

import { buildError } from '../build-error.js';

const PATTERN_BYTES_MAX = 8 * 1024;
/** Classes of the Rust dialect are Unicode-aware; outside and inside of brackets. */
const UNICODE_CLASSES: Readonly<Record<string, readonly [string, string]>> = {
  d: ['\\p{Nd}', '\\p{Nd}'],
  D: ['\\P{Nd}', '\\P{Nd}'],
  w: ['[\\p{L}\\p{M}\\p{Nd}\\p{Pc}]', '\\p{L}\\p{M}\\p{Nd}\\p{Pc}'],
  W: ['[^\\p{L}\\p{M}\\p{Nd}\\p{Pc}]', '\\W'],
  s: ['[\\s\\x0b\\x{85}\\p{Z}]', '\\s\\x0b\\x{85}\\p{Z}'],
  S: ['[^\\s\\x0b\\x{85}\\p{Z}]', '\\S'],
};

/** A regular expression that runs in linear time. */
export class Pattern {
  readonly source: string;
  /** Names of the groups, in their order. */
  readonly groupNames: readonly string[];
  readonly groupCount: number;
  readonly #engine: RE2JS;

  /** @throws `invalid_arguments` for a pattern that is malformed, too long, or needs more than linear time. */
  constructor(source: string, bytesMax = PATTERN_BYTES_MAX) {
    if (Buffer.byteLength(source) > bytesMax) {
      throw buildError(`Invalid regex pattern: it is longer than ${bytesMax} bytes`);
    }
    this.source = source;
    try {
      this.#engine = RE2JS.compile(translated(source));
    } catch (error) {
      if (!(error instanceof RE2JSException)) throw error;
      throw buildError(`Invalid regex pattern: ${source}: ${error.message}`);
    }
    const groups = Object.entries(this.#engine.namedGroups()).sort(([, a], [, b]) => a - b);
    this.groupNames = groups.map(([name]) => name);
    this.groupCount = this.#engine.groupCount();
  }

  /** Returns the number of a group that the pattern has. */
  groupNumber(name: string): number {
    return this.#engine.namedGroups()[name];
  }

  /** Whether the pattern matches anywhere in a text. */
  test(text: string): boolean {
    return this.#engine.test(text);
  }

  /** Returns the first match; undefined if there is none. */
  find(text: string): Matcher | undefined {
    const matcher = this.#engine.matcher(text);
    return matcher.find() ? matcher : undefined;
  }

  /** Calls `visit` for each match. */
  each(text: string, visit: (match: Matcher) => void): void {
    const matcher = this.#engine.matcher(text);
    while (matcher.find()) visit(matcher);
  }

  /** Replaces all matches. @param replacement returns the text for a match. */
  replaceAll(text: string, replacement: (match: Matcher) => string): string {
    let out = '';
    let copied = 0;
    this.each(text, (match) => {
      out += text.slice(copied, match.start()) + replacement(match);
      copied = match.end();
    });
    return copied === 0 && out === '' ? text : out + text.slice(copied);
  }

  /** Returns a group by name; undefined if there is none, or it did not take part in the match. */
  group(match: Matcher, name: string): string | undefined {
    return this.groupNames.includes(name) ? (match.group(name) ?? undefined) : undefined;
  }
}

/** A class or comment of a pattern, a class of POSIX, brackets, an escape or spaces. */
const PATTERN_TOKEN = /\\[^]|\[:\^?\w+:\]|\[\^?\]?|\]|#[^\n]*|\s+|[^\\[\]#\s]+/g;

/** Translates classes that are Unicode-aware in the dialect of pipelines, and free spacing, which the engine lacks. */
function translated(source: string): string {
  const isFree = FREE_SPACING.test(source);
  const pattern = isFree ? source.replace(FREE_SPACING, flagGroup) : source;
  let isInBrackets = false;
  return pattern.replace(PATTERN_TOKEN, (token) => {
    if (token.startsWith('\\')) return UNICODE_CLASSES[token[1]]?.[isInBrackets ? 1 : 0] ?? token;
    if (token === ']') {
      isInBrackets = false;
      return token;
    }
    if (token.startsWith('[')) {
      if (!isInBrackets) isInBrackets = true;
      // A bracket in brackets is a character, unless it begins a class.
      else if (!token.startsWith('[:')) return `\\${token}`;
      return token;
    }
    return isFree && !isInBrackets && /^[#\s]/.test(token) ? '' : token;
  });
}

const FREE_SPACING = /^\(\?([a-zA-Z]*)x([a-zA-Z]*)\)/;

function flagGroup(_all: string, before: string, after: string): string {
  return before + after === '' ? '' : `(?${before}${after})`;
}

/**
 * Compiles the text that replaces a match: `$1`, `$name`, `${1}` and `${name}` insert groups, `$$` is a dollar sign.
 */
export function compileReplacement(text: string, pattern: Pattern): (match: Matcher) => string {
  const parts = text.split(/(\$\$|\$\{[^}]*\}|\$[A-Za-z0-9_]+)/).map((part, i) => {
    if (i % 2 === 0) return part;
    if (part === '$$') return '$';
    return { group: part.replace(/^\$\{?|\}$/g, '') };
  });
  return (match) => {
    let out = '';
    for (const part of parts) out += typeof part === 'string' ? part : groupText(match, part.group, pattern);
    return out;
  };
}

function groupText(match: Matcher, name: string, pattern: Pattern): string {
  if (!/^\d+$/.test(name)) return pattern.group(match, name) ?? '';
  return Number(name) <= pattern.groupCount ? (match.group(Number(name)) ?? '') : '';
}
