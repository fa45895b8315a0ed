import { AlmanacError } from '#shared/errors/almanac-error';

import type { PipelineLine } from '../line/pipeline-line.js';
import { logqlRuleError } from '../syntax/error.js';
import { TEMPLATE_FUNCTIONS } from './functions.js';
import { boundedText, isTrue, TemplateFailure, textOf, type TemplateValue } from './value.js';

/** A compiled template; an error is the line's. */
export type Template = (line: PipelineLine) => string | { readonly error: string };

/** Computes a value for a line. */
type Term = (line: PipelineLine) => TemplateValue;
/** Computes the text of a part of a template. */
type TextPart = (line: PipelineLine) => string;

const TEMPLATE_CHARS = 16 * 1024;
const DEPTH_MAX = 50;
const ACTION = /\{\{(- )?([^]*?)( -)?\}\}/g;

/** Compiles a template of Go as far as it is supported: fields, functions, pipelines, `if`. @throws `invalid_syntax`. */
export function compileLineTemplate(text: string): Template {
  if (text.length > TEMPLATE_CHARS) throw invalid(`it is longer than ${TEMPLATE_CHARS} characters`);
  const compiler = new TemplateCompiler(tokensOf(text));
  const body = compiler.body(0);
  compiler.checkEnd();
  return (line) => {
    try {
      return body(line);
    } catch (error) {
      if (error instanceof TemplateFailure) return { error: error.message };
      // A pattern in the arguments of a function is compiled when it is used.
      if (error instanceof AlmanacError && error.code === 'invalid_syntax') return { error: error.message };
      throw error;
    }
  };
}

type TemplateToken = { readonly text: string } | { readonly action: string };

function tokensOf(text: string): TemplateToken[] {
  const tokens: TemplateToken[] = [];
  let at = 0;
  let trimsNext = false;
  const addText = (part: string): void => {
    const shown = trimsNext ? part.trimStart() : part;
    if (shown !== '') tokens.push({ text: shown });
  };
  for (const match of text.matchAll(ACTION)) {
    const before = text.slice(at, match.index);
    addText(match[1] === undefined ? before : before.trimEnd());
    tokens.push({ action: match[2].trim() });
    trimsNext = match[3] !== undefined;
    at = match.index + match[0].length;
  }
  addText(text.slice(at));
  if (text.slice(at).includes('{{')) throw invalid('unclosed action');
  return tokens;
}

class TemplateCompiler {
  readonly #tokens: readonly TemplateToken[];
  #at = 0;

  constructor(tokens: readonly TemplateToken[]) {
    this.#tokens = tokens;
  }

  checkEnd(): void {
    if (this.#at < this.#tokens.length) throw invalid('unexpected {{end}} or {{else}}');
  }

  /** Compiles up to `else` or `end`, or to the end of the text. */
  body(depth: number): TextPart {
    if (depth > DEPTH_MAX) throw invalid(`it is nested more than ${DEPTH_MAX} levels`);
    const parts: TextPart[] = [];
    for (; this.#at < this.#tokens.length; this.#at++) {
      const token = this.#tokens[this.#at];
      if ('text' in token) {
        parts.push(() => token.text);
        continue;
      }
      const { action } = token;
      if (action === 'end' || /^else\b/.test(action)) break;
      if (action.startsWith('/*')) continue;
      if (/^if\s/.test(action)) parts.push(this.#condition(action.slice(2), depth));
      else if (/^(range|with|define|template|block|break|continue)\b/.test(action)) {
        throw invalid(`the action ${action.split(/\s/, 1)[0]} is not supported`);
      } else {
        const term = new TermParser(action).whole();
        parts.push((line) => textOf(term(line)));
      }
    }
    return (line) => {
      let out = '';
      for (const part of parts) out = boundedText(out + part(line));
      return out;
    };
  }

  /** Compiles `if ... else if ... else ... end`, and stops at its `end`. */
  #condition(text: string, depth: number): TextPart {
    const test = new TermParser(text).whole();
    this.#at++;
    const then = this.body(depth + 1);
    const token = this.#tokens[this.#at];
    if (token === undefined || !('action' in token)) throw invalid('unexpected EOF: {{end}} is missing');
    let otherwise: TextPart = () => '';
    if (/^else\s+if\s/.test(token.action)) {
      otherwise = this.#condition(token.action.replace(/^else\s+if/, ''), depth + 1);
    } else if (token.action === 'else') {
      this.#at++;
      otherwise = this.body(depth + 1);
      const end = this.#tokens[this.#at];
      if (end === undefined || !('action' in end) || end.action !== 'end') throw invalid('{{end}} is missing');
    } else if (token.action !== 'end') throw invalid(`unexpected {{${token.action}}}`);
    return (line) => (isTrue(test(line)) ? then(line) : otherwise(line));
  }
}

const TERM_TOKEN = /\s+|"(?:[^"\\]|\\.)*"|`[^`]*`|-?\d+(?:\.\d+)?|\.[A-Za-z_]\w*|[A-Za-z_]\w*|[().|,]/gy;

class TermParser {
  readonly #tokens: string[] = [];
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    TERM_TOKEN.lastIndex = 0;
    for (let at = 0; at < text.length; at = TERM_TOKEN.lastIndex) {
      TERM_TOKEN.lastIndex = at;
      const match = TERM_TOKEN.exec(text);
      if (match === null) throw invalid(`unexpected ${JSON.stringify(text.slice(at, at + 20))} in an action`);
      if (match[0].trim() !== '') this.#tokens.push(match[0]);
    }
  }

  whole(): Term {
    const term = this.#pipeline();
    if (this.#at < this.#tokens.length) {
      throw invalid(`unexpected ${JSON.stringify(this.#tokens[this.#at])} in an action`);
    }
    return term;
  }

  #pipeline(): Term {
    if (++this.#depth > DEPTH_MAX) throw invalid(`it is nested more than ${DEPTH_MAX} levels`);
    let term = this.#command(undefined);
    while (this.#tokens[this.#at] === '|') {
      this.#at++;
      term = this.#command(term);
    }
    this.#depth--;
    return term;
  }

  /** @param piped the last argument, from the command before. */
  #command(piped: Term | undefined): Term {
    const first = this.#tokens[this.#at];
    if (first === undefined) throw invalid('missing value for an action');
    if (!/^[A-Za-z_]/.test(first) || first === 'true' || first === 'false') {
      const term = this.#operand();
      if (piped !== undefined) throw invalid('only a function can follow |');
      return term;
    }
    this.#at++;
    const terms: Term[] = [];
    while (this.#at < this.#tokens.length && this.#tokens[this.#at] !== '|' && this.#tokens[this.#at] !== ')') {
      terms.push(this.#operand());
    }
    if (piped !== undefined) terms.push(piped);
    return called(first, terms);
  }

  #operand(): Term {
    const token = this.#tokens[this.#at++];
    if (token === '(') {
      const inner = this.#pipeline();
      if (this.#tokens[this.#at++] !== ')') throw invalid('unclosed left paren');
      return inner;
    }
    if (token.startsWith('"')) return constant(plainText(token));
    if (token.startsWith('`')) return constant(token.slice(1, -1));
    if (token === 'true' || token === 'false') return constant(token === 'true');
    if (/^-?\d/.test(token)) return constant(Number(token));
    if (token.startsWith('.') && token.length > 1) {
      const name = token.slice(1);
      return ({ labels }) => labels.get(name);
    }
    if (/^[A-Za-z_]/.test(token)) return called(token, []);
    throw invalid(`unexpected ${JSON.stringify(token)} in an action`);
  }
}

function constant(value: TemplateValue): Term {
  return () => value;
}

function plainText(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    throw invalid(`malformed text ${quoted.slice(0, 100)}`);
  }
}

function called(name: string, terms: readonly Term[]): Term {
  if (name === '__line__' && terms.length === 0) return ({ text }) => text;
  if (name === '__timestamp__' && terms.length === 0) return ({ timeNs }) => new Date(Number(timeNs / 1_000_000n));
  const fn = TEMPLATE_FUNCTIONS.get(name);
  if (fn === undefined) throw invalid(`function "${name}" not defined`);
  if (terms.length < fn.least || terms.length > fn.most) {
    throw invalid(`wrong number of args for ${name}: want ${fn.least} got ${terms.length}`);
  }
  return (line) => fn.call(terms.map((term) => term(line)));
}

function invalid(reason: string): AlmanacError {
  return logqlRuleError(`invalid line template: ${reason}`);
}
