import { METRIC_NAME } from '#shared/schema/metric-table';
import { compileMatcher, type LabelMatcher } from '../../series/matcher.js';
import { goQuoted, isValidUtf8 } from '../common/go-string.js';
import type {
  Aggregation,
  BinaryExpr,
  BinaryOperator,
  Cardinality,
  Expr,
  Span,
  VectorMatching,
  VectorSelector,
} from './ast.js';
import { checkExpr } from './check.js';
import { tokenizePromql } from './lex.js';
import { isSetOperator } from './operators.js';
import { DurationParser } from './parse-duration.js';
import { ModifierParser, NO_SHIFT } from './parse-modifiers.js';
import type { AggregationSignature, FunctionSignature } from './signature.js';
import { TokenReader } from './token-reader.js';

/** The functions, aggregations and experimental features that a parser accepts. */
export interface Dialect {
  readonly functions: ReadonlyMap<string, FunctionSignature>;
  readonly aggregations: ReadonlyMap<string, AggregationSignature>;
  /** Whether experimental functions, aggregations and modifiers are allowed. */
  readonly isExperimental: boolean;
}

/** Precedence of binary operators; a greater one binds tighter. */
const LEVELS: Readonly<Record<string, number>> = {
  or: 1,
  and: 2,
  unless: 2,
  '==': 3,
  '!=': 3,
  '<=': 3,
  '<': 3,
  '>=': 3,
  '>': 3,
  '</': 3,
  '>/': 3,
  '+': 4,
  '-': 4,
  '*': 5,
  '/': 5,
  '%': 5,
  atan2: 5,
  '^': 6,
};
const POWER_LEVEL = 6;
/** Keywords that may also be metric names. */
const METRIC_WORDS: ReadonlySet<string> = new Set(
  (
    'by without offset and or unless start end step range anchored smoothed max_of min_of ' +
    'fill fill_left fill_right'
  ).split(' '),
);

/**
 * Parses a query and checks its types.
 *
 * @throws `invalid_syntax`, `line:col: parse error: text` with the text of Prometheus, for the first error.
 * @see https://prometheus.io/docs/prometheus/latest/querying/basics/
 */
export function parseQuery(query: string, dialect: Dialect): Expr {
  const reader = new TokenReader(query, tokenizePromql(query, dialect.aggregations));
  if (reader.next.kind === 'end') throw reader.error('no expression found in input');
  const expr = new Parser(reader, dialect).whole();
  checkExpr(expr, query);
  return expr;
}

/**
 * Parses a `match[]` parameter: a selector without range, offset and `@`.
 *
 * @returns its matchers, that of the name last; they may match every series.
 * @throws `invalid_syntax`, as `parseQuery`.
 */
export function parseSelector(text: string, dialect: Dialect): readonly LabelMatcher[] {
  const reader = new TokenReader(text, tokenizePromql(text, dialect.aggregations));
  const { matchers } = new Parser(reader, dialect).selectorAlone();
  return matchers;
}

/** A recursive descent parser, with precedence climbing for operators. */
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
    let card: Cardinality = isSetOperator(op) ? 'many-to-many' : 'one-to-one';
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

  /** Parses `(label, ..)`; names may be quoted, a trailing comma is allowed. */
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
      const name = value ?? '';
      if (name === '' || !isValidUtf8(name)) throw reader.error(`invalid label name for grouping: ${goQuoted(name)}`);
      reader.take();
      return name;
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

  /** Parses an aggregation, a call, or a selector that starts with a name. */
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
    if (func.isExperimental === true && !this.#dialect.isExperimental) {
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

  /** Parses an aggregation; the modifier may be before or after the arguments. */
  #aggregation(): Aggregation {
    const reader = this.#reader;
    const { text: op, start } = reader.next;
    const signature = this.#dialect.aggregations.get(op);
    if (signature === undefined) throw reader.unexpected();
    if (signature.isExperimental === true && !this.#dialect.isExperimental) {
      const flag = '--enable-feature=promql-experimental-functions';
      throw reader.error(`${op}() is experimental and must be enabled with ${flag}`);
    }
    reader.take();
    let modifier = this.#aggregationModifier();
    const { args, end: argsEnd } = reader.within('aggregation', () => this.#args());
    let end = argsEnd;
    if (modifier === undefined) {
      modifier = this.#aggregationModifier();
      if (modifier !== undefined) end = reader.previousEnd;
    }
    const operands = this.#operands(signature, args, { start, end });
    const { grouping = [], isWithout = false } = modifier ?? {};
    return { kind: 'aggregation', op, signature, ...operands, grouping, isWithout, start, end };
  }

  #operands({ param }: AggregationSignature, args: readonly Expr[], span: Span): Pick<Aggregation, 'expr' | 'param'> {
    const expected = param === undefined ? 1 : 2;
    if (args.length === 0) {
      throw this.#reader.error('no arguments for aggregate expression provided', span);
    }
    if (args.length !== expected) {
      const what = 'wrong number of arguments for aggregate expression provided';
      throw this.#reader.error(`${what}, expected ${expected}, got ${args.length}`, span);
    }
    return expected === 2 ? { param: args[0], expr: args[1] } : { param: undefined, expr: args[0] };
  }

  #aggregationModifier(): { readonly isWithout: boolean; readonly grouping: string[] } | undefined {
    const isWithout = this.#reader.accept('without');
    if (!isWithout && !this.#reader.accept('by')) return undefined;
    return { isWithout, grouping: this.#grouping() };
  }

  /** Parses a selector after its name, if it has one. */
  #selector(name: string, start: number): VectorSelector {
    const reader = this.#reader;
    const matchers: LabelMatcher[] = [];
    if (reader.next.kind === 'punctuation' && reader.accept('{')) this.#matchers(matchers);
    if (name !== '') matchers.push({ name: METRIC_NAME, op: '=', value: name });
    return {
      kind: 'vectorSelector',
      name,
      matchers,
      start,
      end: reader.previousEnd,
      ...NO_SHIFT,
      isAnchored: false,
      isSmoothed: false,
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
      if (kind === 'string') return { name: METRIC_NAME, op: '=', value: value ?? '' };
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
