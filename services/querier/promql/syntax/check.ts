import { METRIC_NAME } from '#shared/schema/metric-table';
import { matchesEmpty } from '../../series/matcher.js';
import { typeOf, type BinaryExpr, type Expr, type FunctionCall, type VectorSelector } from './ast.js';
import { isComparison, isSetOperator } from './operators.js';
import { parseError } from './parse-error.js';
import type { PromType } from './signature.js';

/** Names of types in error texts and documentation. */
export const TYPE_NAMES: Readonly<Record<PromType, string>> = {
  scalar: 'scalar',
  string: 'string',
  vector: 'instant vector',
  matrix: 'range vector',
};

/** Checks types and other rules beyond the grammar. @throws `invalid_syntax` for the first violation. */
export function checkExpr(expr: Expr, query: string): void {
  new Checker(query).check(expr);
}

class Checker {
  readonly #query: string;

  constructor(query: string) {
    this.#query = query;
  }

  check(expr: Expr): PromType {
    switch (expr.kind) {
      case 'number':
      case 'string':
        break;
      case 'paren':
        this.check(expr.expr);
        break;
      case 'unary':
        this.#checkUnary(expr, this.check(expr.expr));
        break;
      case 'binary':
        this.#checkBinary(expr);
        break;
      case 'call':
        this.#checkCall(expr);
        break;
      case 'aggregation':
        this.#expect(expr.expr, 'vector', 'aggregation expression');
        if (expr.param !== undefined) {
          this.#expect(expr.param, expr.signature.param?.type ?? 'scalar', 'aggregation parameter');
        }
        break;
      case 'subquery':
        this.#checkSubquery(expr, this.check(expr.expr));
        break;
      case 'matrixSelector':
        this.#checkSelector(expr.selector, false);
        break;
      case 'vectorSelector':
        this.#checkSelector(expr, false);
        break;
    }
    return typeOf(expr);
  }

  #expect(expr: Expr, expected: PromType, context: string): void {
    const type = this.check(expr);
    if (type === expected) return;
    this.#fail(expr, `expected type ${TYPE_NAMES[expected]} in ${context}, got ${TYPE_NAMES[type]}`);
  }

  #checkUnary(expr: Expr, type: PromType): void {
    if (type === 'scalar' || type === 'vector') return;
    const allowed = 'expressions of type scalar or instant vector';
    this.#fail(expr, `unary expression only allowed on ${allowed}, got "${TYPE_NAMES[type]}"`);
  }

  #checkSubquery(expr: Expr, type: PromType): void {
    if (type !== 'vector') this.#fail(expr, `subquery is only allowed on instant vector, got ${type} instead`);
  }

  #checkBinary(expr: BinaryExpr): void {
    const { op, lhs, rhs, isBool, matching } = expr;
    const left = this.check(lhs);
    const right = this.check(rhs);
    const operator = { start: this.#operatorStart(expr) };
    if (isBool && !isComparison(op)) {
      this.#fail(operator, 'bool modifier can only be used on comparison operators');
    }
    if (isComparison(op) && !isBool && left === 'scalar' && right === 'scalar') {
      this.#fail(operator, 'comparisons between scalars must use BOOL modifier');
    }
    const duplicate = matching.isOn ? matching.labels.find((it) => matching.include.includes(it)) : undefined;
    if (duplicate !== undefined) {
      this.#fail(operator, `label ${JSON.stringify(duplicate)} must not occur in ON and GROUP clause at once`);
    }
    for (const [side, type] of [[lhs, left] as const, [rhs, right] as const]) {
      if (type === 'scalar' || type === 'vector') continue;
      this.#fail(side, 'binary expression must contain only scalar and instant vector types');
    }
    this.#checkMatching(expr, left === 'vector' && right === 'vector');
  }

  #checkMatching(expr: BinaryExpr, areVectors: boolean): void {
    const { op, matching } = expr;
    const isFilled = matching.fillLeft !== undefined || matching.fillRight !== undefined;
    if (!areVectors && matching.labels.length > 0) {
      this.#fail(expr, 'vector matching only allowed between instant vectors');
    }
    if (!areVectors && isFilled) {
      this.#fail(expr, 'filling in missing series only allowed between instant vectors');
    }
    if (!isSetOperator(op)) return;
    if (!areVectors) this.#fail(expr, `set operator "${op}" not allowed in binary scalar expression`);
    if (matching.card !== 'many-to-many') {
      this.#fail(expr, `no grouping allowed for "${op}" operation`);
    }
    if (isFilled) this.#fail(expr, 'filling in missing series not allowed for set operators');
  }

  #checkCall(expr: FunctionCall): void {
    const { func, args } = expr;
    const { name, args: types, variadic, matchersArg } = func;
    const least = variadic === 0 ? types.length : types.length - 1;
    const most = variadic < 0 ? Infinity : least + variadic;
    const called = `argument(s) in call to "${name}", got ${args.length}`;
    if (variadic === 0 && args.length !== types.length) this.#fail(expr, `expected ${types.length} ${called}`);
    if (args.length < least) this.#fail(expr, `expected at least ${least} ${called}`);
    if (args.length > most) this.#fail(expr, `expected at most ${most} ${called}`);
    if (matchersArg !== undefined && matchersArg < args.length) this.#checkMatchers(expr, args[matchersArg]);
    for (const [i, arg] of args.entries()) {
      if (i !== matchersArg) this.#expect(arg, types[Math.min(i, types.length - 1)], `call to function "${name}"`);
    }
  }

  /** Checks label matchers in braces, all of which may match the empty string. */
  #checkMatchers(call: FunctionCall, arg: Expr): void {
    const type = typeOf(arg);
    if (type !== 'vector') {
      const text = `expected type instant vector in call to function "${call.func.name}", got ${TYPE_NAMES[type]}`;
      this.#fail(call, text);
    }
    if (arg.kind !== 'vectorSelector') return this.#fail(arg, 'expected label selectors only');
    if (arg.name !== '') this.#fail(arg, 'expected label selectors only, got vector selector instead');
    this.#checkSelector(arg, true);
  }

  #checkSelector(selector: VectorSelector, mayBeEmpty: boolean): void {
    const { matchers } = selector;
    const names = matchers.filter((it) => it.name === METRIC_NAME);
    const [first] = names;
    if (selector.name !== '' && names.length > 1) {
      this.#fail(
        selector,
        `metric name must not be set twice: ${JSON.stringify(selector.name)} or ${JSON.stringify(first.value)}`,
      );
    }
    if (mayBeEmpty || selector.name !== '' || !matchers.every(matchesEmpty)) return;
    this.#fail(selector, 'vector selector must contain at least one non-empty matcher');
  }

  /** Returns the position of the operator. */
  #operatorStart({ lhs }: BinaryExpr): number {
    const rest = /\S/.exec(this.#query.slice(lhs.end));
    return lhs.end + (rest?.index ?? 0);
  }

  #fail(at: { readonly start: number }, text: string): void {
    throw parseError(this.#query, at.start, text);
  }
}
