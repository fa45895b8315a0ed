import type { Expr, Subquery, TimeShift } from './ast.js';
import type { DurationParser, ParsedDuration } from './parse-duration.js';
import type { TokenReader } from './token-reader.js';

/** 2^63 ms in seconds; later times are rejected. */
const AT_SECONDS_MAX = 2 ** 63 / 1000;

/** Parses the modifiers of a selector or a subquery. */
export class ModifierParser {
  readonly #reader: TokenReader;
  readonly #durations: DurationParser;
  readonly #isExperimental: boolean;

  constructor(reader: TokenReader, durations: DurationParser, isExperimental: boolean) {
    this.#reader = reader;
    this.#durations = durations;
    this.#isExperimental = isExperimental;
  }

  /** Parses any number of `[..]`, `offset`, `@`, `anchored` and `smoothed`. */
  read(primary: Expr): Expr {
    const reader = this.#reader;
    let expr = primary;
    for (;;) {
      const { kind, text } = reader.next;
      if (kind === 'punctuation' && text === '[') expr = this.#bracket(expr);
      else if (kind === 'keyword' && text === 'offset') expr = this.#offset(expr);
      else if (kind === 'operator' && text === '@') expr = this.#at(expr);
      else if (kind === 'keyword' && (text === 'anchored' || text === 'smoothed')) expr = this.#extended(expr, text);
      else return expr;
    }
  }

  #bracket(expr: Expr): Expr {
    const reader = this.#reader;
    reader.take();
    if (reader.next.text === ']') throw reader.unexpected('subquery or range selector', 'duration');
    const range = reader.within('subquery or range selector', () => this.#durations.positive());
    if (reader.accept(':')) return this.#subquery(expr, range);
    if (!reader.accept(']')) throw reader.unexpected('subquery or range', '":" or "]"');
    if (expr.kind !== 'vectorSelector') {
      throw reader.error('ranges only allowed for vector selectors', expr);
    }
    if (expr.offsetMs !== 0 || expr.offsetExpr !== undefined) {
      throw reader.error('no offset modifiers allowed before range', expr);
    }
    if (expr.atMs !== undefined || expr.startOrEnd !== undefined) {
      throw reader.error('no @ modifiers allowed before range', expr);
    }
    const { start } = expr;
    return {
      kind: 'matrixSelector',
      selector: expr,
      start,
      end: reader.previousEnd,
      rangeMs: range.ms,
      rangeExpr: range.expr,
    };
  }

  #subquery(expr: Expr, range: ParsedDuration): Subquery {
    const reader = this.#reader;
    let step: ParsedDuration = { ms: 0, expr: undefined };
    if (reader.next.text !== ']') {
      const { kind, text } = reader.next;
      const isDuration = kind === 'number' || kind === 'duration' || kind === 'keyword' || kind === 'operator';
      if (!isDuration && text !== '(') throw reader.unexpected('subquery selector', 'duration or "]"');
      step = this.#durations.positive();
    }
    if (!reader.accept(']')) throw reader.unexpected('subquery selector', '"]"');
    return {
      kind: 'subquery',
      expr,
      start: expr.start,
      end: reader.previousEnd,
      rangeMs: range.ms,
      rangeExpr: range.expr,
      stepMs: step.ms,
      stepExpr: step.expr,
      ...NO_SHIFT,
    };
  }

  #offset(expr: Expr): Expr {
    const reader = this.#reader;
    reader.take();
    const offset = this.#durations.offset();
    const shift = shiftOf(expr);
    if (shift === undefined) {
      const where = 'an instant vector selector or range vector selector or a subquery';
      throw reader.error(`offset modifier must be preceded by ${where}`, expr);
    }
    if (shift.offsetMs !== 0 || shift.offsetExpr !== undefined) {
      throw reader.error('offset may not be set multiple times', expr);
    }
    return shifted(expr, { ...shift, offsetMs: offset.ms, offsetExpr: offset.expr }, reader.previousEnd);
  }

  #at(expr: Expr): Expr {
    const reader = this.#reader;
    reader.take();
    const { startOrEnd, seconds } = this.#atTime();
    const shift = shiftOf(expr);
    if (shift === undefined) {
      const where = 'an instant vector selector or range vector selector or a subquery';
      throw reader.error(`@ modifier must be preceded by ${where}`, expr);
    }
    if (shift.atMs !== undefined || shift.startOrEnd !== undefined) {
      throw reader.error('@ <timestamp> may not be set multiple times', expr);
    }
    if (seconds !== undefined && !(Math.abs(seconds) < AT_SECONDS_MAX)) {
      throw reader.error(`timestamp out of bounds for @ modifier: ${fixed(seconds)}`, expr);
    }
    const atMs = seconds === undefined ? undefined : Math.round(seconds * 1000);
    return shifted(expr, { ...shift, atMs, startOrEnd }, reader.previousEnd);
  }

  #atTime(): { readonly startOrEnd: 'start' | 'end' | undefined; readonly seconds: number | undefined } {
    const reader = this.#reader;
    const { text } = reader.next;
    if (text === 'start' || text === 'end') {
      reader.take();
      reader.expect('(', '@');
      reader.expect(')', '@');
      return { startOrEnd: text, seconds: undefined };
    }
    const sign = reader.accept('-') ? -1 : 1;
    if (sign === 1) reader.accept('+');
    const { kind } = reader.next;
    if (kind !== 'number' && kind !== 'duration') throw reader.unexpected('@', 'timestamp');
    return { startOrEnd: undefined, seconds: sign * this.#durations.literal().value };
  }

  #extended(expr: Expr, word: 'anchored' | 'smoothed'): Expr {
    const reader = this.#reader;
    if (!this.#isExperimental) throw reader.error(`${word} modifier is experimental and not enabled`);
    reader.take();
    if (expr.kind === 'subquery') throw reader.error(`${word} modifier is not supported for subqueries`, expr);
    const selector = expr.kind === 'matrixSelector' ? expr.selector : expr;
    if (selector.kind !== 'vectorSelector') {
      throw reader.error(`${word} modifier not implemented`, expr);
    }
    if (word === 'anchored' ? selector.isSmoothed : selector.isAnchored) {
      throw reader.error('anchored and smoothed modifiers cannot be used together', expr);
    }
    const isAnchored = selector.isAnchored || word === 'anchored';
    const isSmoothed = selector.isSmoothed || word === 'smoothed';
    const end = reader.previousEnd;
    if (expr.kind === 'matrixSelector') {
      return { ...expr, selector: { ...expr.selector, isAnchored, isSmoothed }, end };
    }
    return { ...selector, isAnchored, isSmoothed, end };
  }
}

/** No `offset` and no `@`. */
export const NO_SHIFT: TimeShift = {
  offsetMs: 0,
  offsetExpr: undefined,
  atMs: undefined,
  startOrEnd: undefined,
};

function shiftOf(expr: Expr): TimeShift | undefined {
  if (expr.kind === 'matrixSelector') return expr.selector;
  return expr.kind === 'vectorSelector' || expr.kind === 'subquery' ? expr : undefined;
}

function shifted(expr: Expr, { offsetMs, offsetExpr, atMs, startOrEnd }: TimeShift, end: number): Expr {
  const shift = { offsetMs, offsetExpr, atMs, startOrEnd };
  if (expr.kind === 'matrixSelector') return { ...expr, selector: { ...expr.selector, ...shift }, end };
  return { ...expr, ...shift, end };
}

/** Formats a number as Go's `%f` does. */
function fixed(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  return `${BigInt(Math.trunc(value))}.000000`;
}
