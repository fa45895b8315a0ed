import type { Aggregation, AggregationOperator, BinaryExpr, BinaryOperator, Cardinality, Expr, FunctionSignature, VectorMatching, VectorSelector } from './ast.js';
import { type LabelMatcher, compileMatcher } from '../../series/matcher.js';
import { checkExpr } from './check.js';
import { DurationParser } from './parse-duration.js';
import { ModifierParser } from './parse-modifiers.js';
import { checkLength, checkNesting } from './parse-error.js';
import { tokenizePromql } from './lex.js';
import { TokenReader } from './token-reader.js';

/** What a parser knows of its surroundings. */
export interface Dialect {
  readonly functions: ReadonlyMap<string, FunctionSignature>;
  /** Whether experimental functions, aggregations and modifiers are allowed. */
  readonly isExperimental: boolean;
}

/** Levels of binary operators; a greater one binds tighter. */
const LEVELS: Readonly<Record<string, number>> = {
  or: 1,
  ...{ and: 2, unless: 2 },
  ...{ '==': 3, '!=': 3, '<=': 3, '<': 3, '>=': 3, '>': 3, '</': 3, '>/': 3 },
  ...{ '+': 4, '-': 4 },
  ...{ '*': 5, '/': 5, '%': 5, atan2: 5 },
  '^': 6,
};
const POWER_LEVEL = 6;
const SET_OPERATORS: ReadonlySet<string> = new Set(['and', 'or', 'unless']);
const EXPERIMENTAL_AGGREGATORS: ReadonlySet<string> = new Set(['limitk', 'limit_ratio']);
const WITH_PARAM: ReadonlySet<string> = new Set([
  ...['topk', 'bottomk', 'quantile', 'count_values', 'limitk', 'limit_ratio'],
]);
const METRIC_WORDS: ReadonlySet<string> = new Set([
  ...['by', 'without', 'offset', 'and', 'or', 'unless', 'start', 'end', 'step', 'range', 'anchored', 'smoothed'],
  ...['max_of', 'min_of', 'fill', 'fill_left', 'fill_right'],
]);

/**
 * Parses a query and checks its types.
 *
 * @throws `invalid_syntax`: `line:col: parse error: text`, in Prometheus's words; the first error only.
 * @see https://prometheus.io/docs/prometheus/latest/querying/basics/
 */
export function parseQuery(query: string, dialect: Dialect): Expr {
  checkLength(query);
  const lexed = tokenizePromql(query);
  checkNesting(query, lexed.tokens);
  const reader = new TokenReader(query, lexed);
  if (reader.next.kind === 'end') throw reader.error('no expression found in input');
  const expr = new Parser(reader, dialect).whole();
  checkExpr(expr, query);
  return expr;
}

/**
 * Parses what `match[]` takes: a selector by itself, without range, offset or time.
 *
 * @returns its matchers, that of the name last; they may fit every series.
 * @throws `invalid_syntax`, as `parseQuery`.
 */
export function parseSelector(text: string, dialect: Dialect): readonly LabelMatcher[] {
  checkLength(text);
  const reader = new TokenReader(text, tokenizePromql(text));
  const { matchers } = new Parser(reader, dialect).selectorAlone();
  return matchers;
}

/** Recursive descent over the tokens, with precedence climbing for operators. */
class Parser {
  readonly #reader: TokenReader;
  readonly #dialect: Dialect;
  readonly #durations: DurationParser;
  readonly #modifiers: ModifierParser;

  constructor(reader: TokenReader, dialect: Dialect) {
    this.#reader = reader;
    this.#dialect = dialect;
    this.#durations = new DurationParser(reader);
    this.#modifiers = new ModifierParser(reader, this.#durations, dialect.isExperimental);
  }

  whole(): Expr {
    const expr = this.#binary(1);
    if (this.#reader.next.kind !== 'end') throw this.#reader.unexpected();
    return expr;
  }

  selectorAlone(): VectorSelector {
    const reader = this.#reader;
    const { kind, text, start, end } = reader.next;
    const isName = kind === 'identifier' || kind === 'aggregator' || METRIC_WORDS.has(text);
    if (!isName && !(kind === 'punctuation' && text === '{')) throw reader.unexpected();
    if (isName) reader.take();
    const selector = this.#selector(isName ? reader.query.slice(start, end) : '', start);
    if (reader.next.kind !== 'end') throw reader.unexpected();
    return selector;
  }

  #binary(levelMin: number): Expr {
    let lhs = this.#unary();
    for (;;) {
      const { kind, text } = this.#reader.next;
      const level = kind === 'operator' ? LEVELS[text] : undefined;
      if (level === undefined || level < levelMin) return lhs;
      this.#reader.take();
      const op = text as BinaryOperator;
      const isBool = this.#reader.accept('bool');
      const matching = this.#matching(op);
      const rhs = this.#binary(level === POWER_LEVEL ? level : level + 1);
      const binary: BinaryExpr = { kind: 'binary', op, lhs, rhs, isBool, matching, start: lhs.start, end: rhs.end };
      lhs = binary;
    }
  }

  #matching(op: BinaryOperator): VectorMatching {
    const reader = this.#reader;
    let card: Cardinality = SET_OPERATORS.has(op) ? 'many-to-many' : 'one-to-one';
    let labels: readonly string[] = [];
    let include: readonly string[] = [];
    const isOn = reader.accept('on');
    if (isOn || reader.accept('ignoring')) {
      labels = this.#grouping();
      const isLeft = reader.accept('group_left');
      if (isLeft || reader.accept('group_right')) {
        card = isLeft ? 'many-to-one' : 'one-to-many';
        if (reader.next.text === '(') include = this.#grouping();
      }
    }
    return { card, labels, isOn, include, ...this.#fills() };
  }

  #fills(): Pick<VectorMatching, 'fillLeft' | 'fillRight'> {
    const reader = this.#reader;
    const values = { fillLeft: undefined as number | undefined, fillRight: undefined as number | undefined };
    for (let next = reader.next; isFill(next.text) && next.kind === 'keyword'; next = reader.next) {
      const isBoth = next.text === 'fill';
      const isRepeated = next.text === 'fill_left' ? values.fillLeft !== undefined : values.fillRight !== undefined;
      if (isRepeated || (isBoth && values.fillLeft !== undefined)) throw reader.unexpected();
      if (!this.#dialect.isExperimental) throw reader.error('binop fill modifiers are experimental and not enabled');
      reader.take();
      const value = this.#fillValue();
      if (isBoth || next.text === 'fill_left') values.fillLeft = value;
      if (isBoth || next.text === 'fill_right') values.fillRight = value;
    }
    return values;
  }

  #fillValue(): number {
    const reader = this.#reader;
    reader.expect('(');
    const sign = reader.accept('-') ? -1 : 1;
    if (sign === 1) reader.accept('+');
    const { kind } = reader.next;
    if (kind !== 'number' && kind !== 'duration') throw reader.unexpected();
    const value = this.#durations.literal();
    reader.expect(')');
    return sign * value.value;
  }

  /** `(label, ..)`; names may be quoted, a comma may stand behind the last. */
  #grouping(): string[] {
    const reader = this.#reader;
    const names: string[] = [];
    if (!reader.accept('(')) throw reader.unexpected('grouping opts', '"("');
    while (!reader.accept(')')) {
      names.push(this.#groupingLabel());
      if (reader.next.text === ')') continue;
      if (!reader.accept(',')) throw reader.unexpected('grouping opts', '"," or ")"');
    }
    return names;
  }

  #groupingLabel(): string {
    const reader = this.#reader;
    const { kind, start, end, value, text } = reader.next;
    const isWord = kind === 'identifier' || kind === 'keyword' || kind === 'aggregator';
    const isWordOperator = kind === 'operator' && /^[a-z]/.test(text);
    const isWordNumber = kind === 'number' && /^[a-z]/i.test(text);
    if (kind === 'string') {
      if (value === '') throw reader.error('invalid label name for grouping: ""');
      reader.take();
      return value ?? '';
    }
    if (!isWord && !isWordOperator && !isWordNumber) throw reader.unexpected('grouping opts', 'label');
    const name = reader.query.slice(start, end);
    if (name.includes(':')) throw reader.error(`invalid label name for grouping: ${JSON.stringify(name)}`);
    reader.take();
    return name;
  }

  #unary(): Expr {
    const reader = this.#reader;
    const { kind, text, start } = reader.next;
    if (kind !== 'operator' || (text !== '+' && text !== '-')) return this.#modifiers.read(this.#primary());
    reader.take();
    const expr = this.#binary(POWER_LEVEL);
    if (expr.kind === 'number') return { ...expr, value: text === '-' ? -expr.value : expr.value, start };
    return { kind: 'unary', op: text, expr, start, end: expr.end };
  }

  #primary(): Expr {
    const reader = this.#reader;
    const { kind, text, start, end } = reader.next;
    if (kind === 'number' || kind === 'duration') return this.#durations.literal();
    if (kind === 'string') {
      const { value = '' } = reader.take();
      return { kind: 'string', value, start, end };
    }
    if (text === '(') return this.#paren();
    if (text === '{') return this.#selector('', start);
    return this.#named();
  }

  /** An aggregation, a call, or a selector that begins with a name. */
  #named(): Expr {
    const reader = this.#reader;
    const { kind, text, start, end } = reader.next;
    const after = reader.peek(1).text;
    if (kind === 'aggregator' && (after === '(' || after === 'by' || after === 'without')) return this.#aggregation();
    const isName = kind === 'identifier' || kind === 'aggregator' || METRIC_WORDS.has(text);
    if (!isName) throw reader.unexpected();
    if (after === '(' && (kind === 'identifier' || this.#dialect.functions.has(text))) return this.#call();
    reader.take();
    return this.#selector(reader.query.slice(start, end), start);
  }

  #paren(): Expr {
    const reader = this.#reader;
    const { start } = reader.take();
    const expr = this.#binary(1);
    const { end } = reader.expect(')');
    return { kind: 'paren', expr, start, end };
  }

  #call(): Expr {
    const reader = this.#reader;
    const called = reader.take();
    const { start } = called;
    const name = reader.query.slice(start, called.end);
    const { args, end } = this.#args();
    const func = this.#dialect.functions.get(name);
    if (func === undefined) throw reader.error(`unknown function with name ${JSON.stringify(name)}`, called);
    if (func.isExperimental && !this.#dialect.isExperimental) {
      throw reader.error(`function ${JSON.stringify(name)} is not enabled`, called);
    }
    return { kind: 'call', func, args, start, end };
  }

  #args(): { readonly args: readonly Expr[]; readonly end: number } {
    const reader = this.#reader;
    const args: Expr[] = [];
    reader.expect('(');
    while (reader.next.text !== ')' || reader.next.kind === 'string') {
      args.push(this.#binary(1));
      if (reader.next.kind === 'punctuation' && reader.next.text === ')') break;
      const comma = reader.next;
      reader.expect(',');
      if (reader.next.kind === 'punctuation' && reader.next.text === ')') {
        throw reader.error('trailing commas not allowed in function call args', comma);
      }
    }
    return { args, end: reader.take().end };
  }

  /** The modifier may stand before the arguments or behind them. */
  #aggregation(): Expr {
    const reader = this.#reader;
    const { text, start } = reader.next;
    if (EXPERIMENTAL_AGGREGATORS.has(text) && !this.#dialect.isExperimental) {
      const flag = '--enable-feature=promql-experimental-functions';
      throw reader.error(`${text}() is experimental and must be enabled with ${flag}`);
    }
    reader.take();
    let modifier = this.#aggregationModifier();
    const { args, end } = reader.within('aggregation', () => this.#args());
    let last = end;
    if (modifier === undefined) {
      modifier = this.#aggregationModifier();
      if (modifier !== undefined) last = reader.previousEnd;
    }
    const { expr, param } = this.#aggregated(text, args, { start, end: last });
    const aggregation: Aggregation = {
      kind: 'aggregation',
      op: text as AggregationOperator,
      expr,
      param,
      grouping: modifier?.grouping ?? [],
      isWithout: modifier?.isWithout ?? false,
      start,
      end: last,
    };
    return aggregation;
  }

  #aggregated(
    op: string,
    args: readonly Expr[],
    span: { readonly start: number; readonly end: number },
  ): { readonly expr: Expr; readonly param: Expr | undefined } {
    const wanted = WITH_PARAM.has(op) ? 2 : 1;
    if (args.length === 0) {
      throw this.#reader.error('no arguments for aggregate expression provided', span);
    }
    if (args.length !== wanted) {
      const text = `wrong number of arguments for aggregate expression provided, expected ${wanted}, got ${args.length}`;
      throw this.#reader.error(text, span);
    }
    return wanted === 2 ? { param: args[0], expr: args[1] } : { param: undefined, expr: args[0] };
  }

  #aggregationModifier(): { readonly isWithout: boolean; readonly grouping: string[] } | undefined {
    const isWithout = this.#reader.accept('without');
    if (!isWithout && !this.#reader.accept('by')) return undefined;
    return { isWithout, grouping: this.#grouping() };
  }

  /** A selector whose name, if any, was read. */
  #selector(name: string, start: number): VectorSelector {
    const reader = this.#reader;
    const matchers: LabelMatcher[] = [];
    if (reader.next.kind === 'punctuation' && reader.accept('{')) this.#matchers(matchers);
    if (name !== '') matchers.push({ name: '__name__', op: '=', value: name });
    return {
      ...{ kind: 'vectorSelector', name, matchers, start, end: reader.previousEnd },
      ...{ offsetMs: 0, offsetExpr: undefined, atMs: undefined, startOrEnd: undefined },
      ...{ isAnchored: false, isSmoothed: false },
    };
  }

  #matchers(matchers: LabelMatcher[]): void {
    const reader = this.#reader;
    while (!(reader.next.kind === 'punctuation' && reader.accept('}'))) {
      matchers.push(this.#matcher());
      if (reader.next.text === '}') continue;
      if (!reader.accept(',')) throw reader.unexpected('label matching', '"," or "}"');
    }
  }

  #matcher(): LabelMatcher {
    const reader = this.#reader;
    const label = reader.next;
    const { kind, text, value } = label;
    if (kind !== 'identifier' && kind !== 'string') throw reader.unexpected('label matching', 'identifier or "}"');
    reader.take();
    const { kind: opKind, text: op } = reader.next;
    const isOperator = op === '=' || op === '!=' || op === '=~' || op === '!~';
    if (!isOperator || opKind === 'string') {
      if (kind === 'string') return { name: '__name__', op: '=', value: value ?? '' };
      throw reader.unexpected('label matching', 'label matching operator');
    }
    reader.take();
    const pattern = reader.next;
    if (pattern.kind !== 'string') throw reader.unexpected('label matching', 'string');
    reader.take();
    const matcher: LabelMatcher = { name: value ?? text, op: op, value: pattern.value ?? '' };
    try {
      compileMatcher(matcher);
    } catch (error) {
      throw reader.error(error instanceof Error ? error.message : String(error), label);
    }
    return matcher;
  }
}

function isFill(text: string): boolean {
  return text === 'fill' || text === 'fill_left' || text === 'fill_right';
}
