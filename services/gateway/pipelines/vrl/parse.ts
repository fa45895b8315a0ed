import { compileDateFormat, readDate } from '../date/date-format.js';
import { DateParts } from '../date/date-parts.js';
import { INT64_MAX } from '../values/value.js';
import { Timestamp } from '../values/timestamp.js';
import { compileError, lexScript, unescapeText, type Token } from './lex.js';
import type {
  Argument,
  AssignTarget,
  ScriptOperator,
  ClosureNode,
  Expression,
  PathRoot,
  PathStep,
  PathTarget,
  TemplatePart,
} from './syntax.js';

const DEPTH_MAX = 200;
const LEVELS: readonly (readonly ScriptOperator[])[] = [
  ['??'],
  ['&&', '||'],
  ['==', '!='],
  ['<', '<=', '>', '>='],
  ['|'],
  ['+', '-'],
  ['*', '/'],
];
const WORDS = new Set(['if', 'else', 'abort', 'return', 'true', 'false', 'null']);
const RESERVED = new Set(
  (
    'array bool boolean break continue do emit float for forall foreach all each any try undefined int integer iter ' +
    'object regex string traverse timestamp duration unless walk while loop'
  ).split(' '),
);

/** Parses a script (spec: pipelines 15.2). @throws `invalid_arguments` with line and column. */
export function parseScript(source: string): Expression[] {
  return new Parser(source).program();
}

class Parser {
  readonly #source: string;
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
    this.#tokens = lexScript(source);
  }

  program(): Expression[] {
    const body = this.#statements('');
    if (!this.#isEnd) throw this.#unexpected();
    return body;
  }

  get #token(): Token {
    return this.#tokens[this.#next];
  }

  #peek(offset: number): Token {
    return this.#tokens[Math.min(this.#next + offset, this.#tokens.length - 1)];
  }

  get #isEnd(): boolean {
    return this.#token.kind === 'end';
  }

  #fail(text: string, at = this.#token.at): Error {
    return compileError(this.#source, at, text);
  }

  #unexpected(): Error {
    const { kind, text } = this.#token;
    return this.#fail(kind === 'end' ? 'unexpected end of the script' : `unexpected "${text}"`);
  }

  #is(symbol: string, token = this.#token): boolean {
    return token.kind === 'symbol' && token.text === symbol;
  }

  #isWord(word: string): boolean {
    return this.#token.kind === 'name' && this.#token.text === word;
  }

  #accept(symbol: string): boolean {
    if (!this.#is(symbol)) return false;
    this.#next++;
    return true;
  }

  #expect(symbol: string): void {
    if (!this.#accept(symbol)) throw this.#unexpected();
  }

  /** Statements up to a symbol, which is not read; `''`: to the end. */
  #statements(end: string): Expression[] {
    const body: Expression[] = [];
    for (;;) {
      while (this.#accept(';'));
      if (this.#isEnd || (end !== '' && this.#is(end))) return body;
      body.push(this.#expression(true));
      const isSeparated = this.#token.isOnNewLine || this.#is(';') || this.#isEnd;
      if (!isSeparated && !(end !== '' && this.#is(end))) throw this.#unexpected();
    }
  }

  /** @param isFree whether `if`, `abort`, `return` and assignments may be here. */
  #expression(isFree: boolean): Expression {
    if (++this.#depth > DEPTH_MAX) throw this.#fail(`more than ${DEPTH_MAX} levels`);
    try {
      return (isFree ? this.#control() : undefined) ?? this.#binary(0);
    } finally {
      this.#depth--;
    }
  }

  #control(): Expression | undefined {
    const { at } = this.#token;
    if (this.#isWord('if')) return this.#if();
    if (this.#isWord('abort')) {
      this.#next++;
      const hasMessage = !this.#token.isOnNewLine && !this.#is('}') && !this.#is(';') && !this.#isEnd;
      return { kind: 'abort', at, message: hasMessage ? this.#expression(false) : undefined };
    }
    if (this.#isWord('return')) {
      this.#next++;
      return { kind: 'return', at, value: this.#expression(false) };
    }
    return this.#assignment();
  }

  #if(): Expression {
    const { at } = this.#token;
    this.#next++;
    const condition = this.#condition();
    const then = this.#block();
    if (!this.#isWord('else') || this.#token.isOnNewLine) {
      return { kind: 'if', at, condition, then, otherwise: undefined };
    }
    this.#next++;
    const otherwise = this.#isWord('if') ? [this.#if()] : this.#block();
    return { kind: 'if', at, condition, then, otherwise };
  }

  #condition(): Expression[] {
    if (!this.#is('(')) return [this.#expression(false)];
    // In parentheses there may be several statements; what follows may also be the rest of an expression.
    const start = this.#next;
    this.#next++;
    const statements = this.#statements(')');
    this.#expect(')');
    if (this.#is('{') || statements.length > 1) return statements;
    this.#next = start;
    return [this.#expression(false)];
  }

  #block(): Expression[] {
    this.#expect('{');
    const body = this.#statements('}');
    this.#expect('}');
    if (body.length === 0) throw this.#fail('block is empty');
    return body;
  }

  #assignment(): Expression | undefined {
    const start = this.#next;
    const { at } = this.#token;
    const target = this.#target();
    if (target === undefined) return undefined;
    let error: { readonly target: AssignTarget } | undefined;
    if (this.#accept(',')) {
      const second = this.#target();
      if (second !== undefined && this.#is('=')) error = second;
    }
    const operator = ['=', '|=', '??='].find((it) => this.#is(it));
    if (operator === undefined || (error !== undefined && operator !== '=')) {
      this.#next = start;
      return undefined;
    }
    this.#next++;
    const value = this.#expression(true);
    if (error !== undefined) return { kind: 'assignFallible', at, target: target.target, error: error.target, value };
    if (operator !== '??=') return { kind: 'assign', at, target: target.target, merges: operator === '|=', value };
    if (target.target === undefined) throw this.#unexpected();
    const before: Expression = { kind: 'path', at, target: target.target };
    const either: Expression = { kind: 'binary', at, operator: '??', left: before, right: value };
    return { kind: 'assign', at, target: target.target, merges: false, value: either };
  }

  /** Reads the target of an assignment, if there may be one. */
  #target(): { readonly target: AssignTarget } | undefined {
    const { kind, text, at } = this.#token;
    if (kind === 'name' && text === '_') {
      this.#next++;
      return { target: undefined };
    }
    if (this.#is('.')) return { target: this.#eventPath() };
    if (kind !== 'name' || WORDS.has(text) || this.#isCall()) return undefined;
    this.#next++;
    const root: PathRoot = { kind: 'variable', name: text };
    const steps = this.#steps();
    if (this.#is('=') && RESERVED.has(text)) throw this.#fail(`"${text}" is a reserved name`, at);
    return { target: { root, steps, at } };
  }

  #isCall(): boolean {
    const next = this.#peek(1);
    if (next.isSpaced || next.kind !== 'symbol') return false;
    return next.text === '(' || (next.text === '!' && this.#is('(', this.#peek(2)) && !this.#peek(2).isSpaced);
  }

  #eventPath(): PathTarget {
    const { at } = this.#token;
    this.#next++;
    const first: PathStep[] = [];
    const { kind, text, isSpaced } = this.#token;
    if (!isSpaced && (kind === 'name' || kind === 'string' || kind === 'integer')) {
      this.#next++;
      first.push(kind === 'string' ? unescapeText(text, this.#source, at) : text);
    }
    return { root: { kind: 'event' }, steps: [...first, ...this.#steps()], at };
  }

  /** Reads `.a`, `."a b"` and `[0]` that follow without a space. */
  #steps(): PathStep[] {
    const steps: PathStep[] = [];
    for (;;) {
      const { isSpaced, at } = this.#token;
      if (isSpaced) return steps;
      if (this.#is('.')) {
        const { kind, text, isSpaced: isApart } = this.#peek(1);
        if (isApart || (kind !== 'name' && kind !== 'string' && kind !== 'integer')) throw this.#unexpected();
        this.#next += 2;
        steps.push(kind === 'string' ? unescapeText(text, this.#source, at) : text);
      } else if (this.#is('[')) {
        this.#next++;
        const sign = this.#accept('-') ? -1 : 1;
        if (this.#token.kind === 'string' && sign === 1) steps.push(unescapeText(this.#token.text, this.#source, at));
        else if (this.#token.kind === 'integer') steps.push(sign * Number(this.#token.text));
        else throw this.#unexpected();
        this.#next++;
        this.#expect(']');
      } else return steps;
    }
  }

  #binary(level: number): Expression {
    if (level === LEVELS.length) return this.#unary();
    let left = this.#binary(level + 1);
    for (;;) {
      const operator = LEVELS[level].find((it) => this.#is(it));
      if (operator === undefined) return left;
      const { at } = this.#token;
      this.#next++;
      left = { kind: 'binary', at, operator, left, right: this.#binary(level + 1) };
    }
  }

  #unary(): Expression {
    const { at } = this.#token;
    if (++this.#depth > DEPTH_MAX) throw this.#fail(`more than ${DEPTH_MAX} levels`);
    try {
      if (this.#accept('!')) return { kind: 'not', at, of: this.#unary() };
      if (this.#accept('-')) return { kind: 'negative', at, of: this.#unary() };
      const primary = this.#primary();
      const steps = this.#steps();
      return steps.length === 0 ? primary : { kind: 'member', at, of: primary, steps };
    } finally {
      this.#depth--;
    }
  }

  #primary(): Expression {
    const token = this.#token;
    const { at, text } = token;
    switch (token.kind) {
      case 'integer': {
        this.#next++;
        const value = BigInt(text);
        if (value > INT64_MAX) throw this.#fail(`integer ${text} is too large`, at);
        return { kind: 'literal', at, value };
      }
      case 'float':
        this.#next++;
        return { kind: 'literal', at, value: Number(text) };
      case 'string':
        this.#next++;
        return this.#template(text, at);
      case 'raw':
        this.#next++;
        return { kind: 'literal', at, value: text };
      case 'regex':
        this.#next++;
        return { kind: 'regex', at, pattern: text };
      case 'timestamp':
        this.#next++;
        return { kind: 'literal', at, value: this.#timestamp(text, at) };
      case 'name':
        return this.#named();
      default:
        return this.#enclosed();
    }
  }

  #template(text: string, at: number): Expression {
    const parts = text.split(/(?<!\\)\{\{\s*([A-Za-z_@][A-Za-z0-9_@]*)\s*\}\}/).map((part, i): TemplatePart => {
      return i % 2 === 1 ? { variable: part } : unescapeText(part, this.#source, at);
    });
    if (parts.length === 1) return { kind: 'literal', at, value: parts[0] as string };
    return { kind: 'template', at, parts: parts.filter((part) => part !== '') };
  }

  #timestamp(text: string, at: number): Timestamp {
    const format = compileDateFormat('%+');
    const parts = new DateParts();
    const bytes = Buffer.from(text);
    if (format === undefined || !readDate(format, parts, bytes, 0, bytes.length)) {
      throw this.#fail(`invalid timestamp "${text}"`, at);
    }
    const seconds = parts.localSeconds() - parts.offset;
    if (Number.isNaN(seconds)) throw this.#fail(`invalid timestamp "${text}"`, at);
    return new Timestamp(seconds, Math.max(parts.nanos, 0));
  }

  #named(): Expression {
    const { text, at } = this.#token;
    if (this.#isCall()) return this.#call();
    const constants: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };
    if (Object.hasOwn(constants, text)) {
      this.#next++;
      return { kind: 'literal', at, value: constants[text] };
    }
    if (WORDS.has(text)) throw this.#unexpected();
    this.#next++;
    return { kind: 'path', at, target: { root: { kind: 'variable', name: text }, steps: this.#steps(), at } };
  }

  #call(): Expression {
    const { text: name, at } = this.#token;
    this.#next++;
    const isAborting = this.#accept('!');
    this.#expect('(');
    const given: Argument[] = [];
    while (!this.#is(')')) {
      const isNamed = this.#token.kind === 'name' && this.#is(':', this.#peek(1));
      const argument = isNamed ? this.#token.text : undefined;
      if (isNamed) this.#next += 2;
      given.push({ name: argument, value: this.#expression(false) });
      if (!this.#accept(',')) break;
    }
    this.#expect(')');
    const closure = this.#is('->') ? this.#closure() : undefined;
    return { kind: 'call', at, name, isAborting, arguments: given, closure };
  }

  #closure(): ClosureNode {
    this.#expect('->');
    const parameters: string[] = [];
    if (!this.#accept('||')) {
      this.#expect('|');
      while (!this.#accept('|')) {
        if (this.#token.kind !== 'name') throw this.#unexpected();
        parameters.push(this.#token.text);
        this.#next++;
        this.#accept(',');
      }
    }
    return { parameters, body: this.#block() };
  }

  #enclosed(): Expression {
    const { at } = this.#token;
    if (this.#is('.')) return { kind: 'path', at, target: this.#eventPath() };
    if (this.#accept('(')) {
      const inner = this.#expression(true);
      this.#expect(')');
      return { kind: 'block', at, body: [inner] };
    }
    if (this.#accept('[')) return this.#array(at);
    if (!this.#is('{')) throw this.#unexpected();
    const isObject = this.#is('}', this.#peek(1)) || (this.#peek(1).kind === 'string' && this.#is(':', this.#peek(2)));
    return isObject ? this.#object(at) : { kind: 'block', at, body: this.#block() };
  }

  #array(at: number): Expression {
    const elements: Expression[] = [];
    while (!this.#is(']')) {
      elements.push(this.#expression(false));
      if (!this.#accept(',')) break;
    }
    this.#expect(']');
    return { kind: 'array', at, elements };
  }

  #object(at: number): Expression {
    this.#expect('{');
    const members: [string, Expression][] = [];
    while (this.#token.kind === 'string') {
      const { text } = this.#token;
      this.#next++;
      this.#expect(':');
      members.push([unescapeText(text, this.#source, at), this.#expression(false)]);
      if (!this.#accept(',')) break;
    }
    this.#expect('}');
    return { kind: 'object', at, members };
  }
}
