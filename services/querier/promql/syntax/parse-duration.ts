import type { DurationExpr, DurationNode, DurationOperator, NumberLiteral } from './ast.js';
import { DURATION_MS_MAX, durationMs, numberValue } from '../common/number-text.js';
import type { TokenReader } from './token-reader.js';

/** A duration: in milliseconds, or an expression of the range and step of the query. */
export interface ParsedDuration {
  readonly ms: number;
  readonly expr: DurationExpr | undefined;
}

const LEVELS: Readonly<Record<string, number>> = { '+': 1, '-': 1, '*': 2, '/': 2, '%': 2, '^': 3 };
const POWER_LEVEL = 3;

/** Parses numbers, durations and duration arithmetic. */
export class DurationParser {
  readonly #reader: TokenReader;

  constructor(reader: TokenReader) {
    this.#reader = reader;
  }

  /** Parses a number or a duration; the next token must be one. */
  literal(): NumberLiteral {
    const { kind, text, start, end } = this.#reader.next;
    if (kind !== 'duration') {
      const value = numberValue(text);
      if (typeof value === 'string') throw this.#reader.error(value);
      this.#reader.take();
      return { kind: 'number', value, isDuration: false, start, end };
    }
    const ms = durationMs(text);
    if (ms === undefined) throw this.#reader.error(`not a valid duration string: ${JSON.stringify(text)}`);
    if (!Number.isFinite(ms)) throw this.#reader.error('duration out of range');
    this.#reader.take();
    return { kind: 'number', value: ms / 1000, isDuration: true, start, end };
  }

  /** Parses a range or a step, which is greater than 0. */
  positive(): ParsedDuration {
    const at = this.#reader.next;
    const node = this.#binary(1);
    if (node.kind === 'duration') return { ms: 0, expr: node };
    const ms = this.#milliseconds(node);
    if (!(ms > 0)) throw this.#reader.error('duration must be greater than 0', at);
    return { ms: Math.trunc(ms), expr: undefined };
  }

  /** Parses the operand of `offset`; arithmetic requires parentheses. */
  offset(): ParsedDuration {
    const { kind, text } = this.#reader.next;
    const isSigned = kind === 'operator' && (text === '+' || text === '-');
    const { kind: operandKind, text: operand } = isSigned ? this.#reader.peek(1) : this.#reader.next;
    const isLiteral = operandKind === 'number' || operandKind === 'duration';
    const isFunction = operandKind === 'keyword' && isDurationFunction(operand);
    if (!isLiteral && !isFunction && operand !== '(') {
      throw this.#reader.unexpected('offset', 'number, duration, step(), or range()');
    }
    const node = this.#signedPrimary();
    if (node.kind === 'duration') return { ms: 0, expr: node };
    return { ms: Math.trunc(this.#milliseconds(node)), expr: undefined };
  }

  #milliseconds(node: NumberLiteral): number {
    // Prometheus rounds a number of seconds to nanoseconds.
    const ms = Math.round(node.value * 1e9) / 1e6;
    if (!(Math.abs(ms) <= DURATION_MS_MAX)) throw this.#reader.error('duration out of range', node);
    return ms;
  }

  #binary(levelMin: number): DurationNode {
    const reader = this.#reader;
    let lhs = this.#unary();
    for (;;) {
      const { kind, text } = reader.next;
      const level = kind === 'operator' ? LEVELS[text] : undefined;
      if (level === undefined || level < levelMin) return lhs;
      const at = reader.take();
      const rhs = this.#binary(level === POWER_LEVEL ? level : level + 1);
      if ((text === '/' || text === '%') && rhs.kind === 'number' && rhs.value === 0) {
        throw reader.error(text === '/' ? 'division by zero' : 'modulo by zero', at);
      }
      lhs = arithmetic(text as DurationOperator, lhs, rhs, { start: lhs.start, end: rhs.end });
    }
  }

  #unary(): DurationNode {
    const reader = this.#reader;
    const { kind, text, start } = reader.next;
    if (kind !== 'operator' || (text !== '+' && text !== '-')) return this.#primary();
    reader.take();
    const operand = this.#binary(POWER_LEVEL);
    if (operand.kind === 'number') {
      return { ...operand, value: text === '-' ? -operand.value : operand.value, start };
    }
    return arithmetic(text, undefined, operand, { start, end: operand.end });
  }

  /** Stops before `^`, which applies to the selector with its offset. */
  #signedPrimary(): DurationNode {
    const { kind, text, start } = this.#reader.next;
    if (kind !== 'operator') return this.#primary();
    this.#reader.take();
    const operand = this.#primary();
    if (operand.kind === 'number') {
      return { ...operand, value: text === '-' ? -operand.value : operand.value, start };
    }
    return arithmetic(text as '+' | '-', undefined, operand, { start, end: operand.end });
  }

  #primary(): DurationNode {
    const reader = this.#reader;
    const { kind, text, start } = reader.next;
    if (kind === 'number' || kind === 'duration') return this.literal();
    if (kind === 'punctuation' && text === '(') {
      reader.take();
      const node = this.#binary(1);
      const { end } = reader.expect(')');
      return node.kind === 'number' ? { ...node, start, end } : { ...node, isWrapped: true, start, end };
    }
    if (kind !== 'keyword' || !isDurationFunction(text)) throw reader.unexpected();
    reader.take();
    reader.expect('(');
    let lhs: DurationNode | undefined;
    let rhs: DurationNode | undefined;
    if (text === 'min_of' || text === 'max_of') {
      lhs = this.#binary(1);
      reader.expect(',');
      rhs = this.#binary(1);
    }
    const { end } = reader.expect(')');
    return arithmetic(text as DurationOperator, lhs, rhs, { start, end });
  }
}

function arithmetic(
  op: DurationOperator,
  lhs: DurationNode | undefined,
  rhs: DurationNode | undefined,
  span: { readonly start: number; readonly end: number },
): DurationExpr {
  return { kind: 'duration', op, lhs, rhs, isWrapped: false, ...span };
}

function isDurationFunction(text: string): boolean {
  return text === 'step' || text === 'range' || text === 'min_of' || text === 'max_of';
}
