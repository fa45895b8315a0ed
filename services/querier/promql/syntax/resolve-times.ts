import { AlmanacError } from '#shared/errors/almanac-error';

import { arithmeticOf } from './operators.js';
import type { DurationExpr, DurationNode, Expr, TimeShift } from './ast.js';
import { DURATION_MS_MAX } from '../common/number-text.js';
import type { QueryRange } from './signature.js';

/**
 * Replaces everything that depends on the times of the query: `@ start()`, `step()`, duration arithmetic.
 *
 * @throws `invalid_syntax`, `from:to: text` with byte offsets, for an invalid duration.
 */
export function resolveTimes(expr: Expr, query: string, range: QueryRange): Expr {
  return new Resolver(query, range).expr(expr);
}

class Resolver {
  readonly #query: string;
  readonly #range: QueryRange;

  constructor(query: string, range: QueryRange) {
    this.#query = query;
    this.#range = range;
  }

  expr(expr: Expr): Expr {
    switch (expr.kind) {
      case 'number':
      case 'string':
        return expr;
      case 'paren':
      case 'unary':
        return { ...expr, expr: this.expr(expr.expr) };
      case 'binary':
        return { ...expr, lhs: this.expr(expr.lhs), rhs: this.expr(expr.rhs) };
      case 'aggregation':
        return {
          ...expr,
          expr: this.expr(expr.expr),
          param: expr.param === undefined ? undefined : this.expr(expr.param),
        };
      case 'call': {
        const value = expr.func.queryConstant?.(this.#range);
        if (value === undefined) return { ...expr, args: expr.args.map((arg) => this.expr(arg)) };
        return { kind: 'number', value, isDuration: false, start: expr.start, end: expr.end };
      }
      case 'vectorSelector':
        return { ...expr, ...this.#shift(expr) };
      case 'matrixSelector': {
        const rangeMs = this.#positive(expr.rangeMs, expr.rangeExpr);
        return { ...expr, selector: { ...expr.selector, ...this.#shift(expr.selector) }, rangeMs };
      }
      case 'subquery': {
        const rangeMs = this.#positive(expr.rangeMs, expr.rangeExpr);
        const stepMs = this.#positive(expr.stepMs, expr.stepExpr);
        return { ...expr, ...this.#shift(expr), expr: this.expr(expr.expr), rangeMs, stepMs };
      }
    }
  }

  #shift({ offsetMs, offsetExpr, atMs, startOrEnd }: TimeShift): TimeShift {
    const { startMs, endMs } = this.#range;
    const fixedMs = startOrEnd === undefined ? atMs : startOrEnd === 'start' ? startMs : endMs;
    const offset = offsetExpr === undefined ? offsetMs : Math.trunc(this.#seconds(offsetExpr) * 1000);
    return { offsetMs: offset, offsetExpr: undefined, atMs: fixedMs, startOrEnd: undefined };
  }

  #positive(ms: number, expr: DurationExpr | undefined): number {
    if (expr === undefined) return ms;
    const seconds = this.#seconds(expr);
    if (!(seconds > 0)) throw this.#error(expr, 'duration must be greater than 0');
    return Math.trunc(seconds * 1000);
  }

  #seconds(expr: DurationExpr): number {
    const seconds = this.#value(expr);
    if (!Number.isFinite(seconds)) throw this.#error(expr, 'duration is NaN or infinite');
    if (Math.abs(seconds) * 1000 > DURATION_MS_MAX) throw this.#error(expr, 'duration is out of range');
    return seconds;
  }

  #value(node: DurationNode): number {
    if (node.kind === 'number') return node.value;
    const left = node.lhs === undefined ? 0 : this.#value(node.lhs);
    const right = node.rhs === undefined ? 0 : this.#value(node.rhs);
    const { startMs, endMs, stepMs } = this.#range;
    switch (node.op) {
      case 'step':
        return stepMs / 1000;
      case 'range':
        return (endMs - startMs) / 1000;
      case 'min_of':
        return Math.min(left, right);
      case 'max_of':
        return Math.max(left, right);
      default:
        if (right === 0 && node.op === '/') throw this.#error(node, 'division by zero');
        if (right === 0 && node.op === '%') throw this.#error(node, 'modulo by zero');
        return arithmeticOf(node.op)(left, right);
    }
  }

  #error({ start, end }: DurationExpr, text: string): AlmanacError {
    const bytes = (to: number): number => Buffer.byteLength(this.#query.slice(0, to));
    return new AlmanacError('invalid_syntax', `${bytes(start)}:${bytes(end)}: ${text}`);
  }
}
