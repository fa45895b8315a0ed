import { typeOf, type BinaryExpr, type FunctionCall, type Expr, type PromType, type VectorSelector } from './ast.js';
import { matchesEmpty } from '../../series/matcher.js';
import { parseError } from './parse-error.js';

/** Words for types in errors. */
const TYPE_NAMES: Readonly<Record<PromType, string>> = {
  scalar: 'scalar',
  string: 'string',
  vector: 'instant vector',
  matrix: 'range vector',
};
const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '<=', '<', '>=', '>']);
const SET_OPERATORS: ReadonlySet<string> = new Set(['and', 'or', 'unless']);
const SCALAR_PARAMS: ReadonlySet<string> = new Set(['topk', 'bottomk', 'quantile', 'limitk', 'limit_ratio']);

/** Checks types and what else the grammar does not say. @throws `invalid_syntax`: the first error. */
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
        if (expr.param !== undefined && SCALAR_PARAMS.has(expr.op)) {
          this.#expect(expr.param, 'scalar', 'aggregation parameter');
        } else if (expr.param !== undefined) {
          this.#expect(expr.param, 'string', 'aggregation parameter');
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

  #expect(expr: Expr, wanted: PromType, context: string): void {
    const type = this.check(expr);
    if (type === wanted) return;
    this.#fail(expr, `expected type ${TYPE_NAMES[wanted]} in ${context}, got ${TYPE_NAMES[type]}`);
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
    if (isBool && !COMPARISONS.has(op)) {
      this.#fail(operator, 'bool modifier can only be used on comparison operators');
    }
    if (COMPARISONS.has(op) && !isBool && left === 'scalar' && right === 'scalar') {
      this.#fail(operator, 'comparisons between scalars must use BOOL modifier');
    }
    const twice = matching.isOn ? matching.labels.find((it) => matching.include.includes(it)) : undefined;
    if (twice !== undefined) {
      this.#fail(operator, `label ${JSON.stringify(twice)} must not occur in ON and GROUP clause at once`);
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
    if (!SET_OPERATORS.has(op)) return;
    if (!areVectors) this.#fail(expr, `set operator "${op}" not allowed in binary scalar expression`);
    if (matching.card !== 'many-to-many') {
      this.#fail(expr, `no grouping allowed for "${op}" operation`);
    }
    if (isFilled) this.#fail(expr, 'filling in missing series not allowed for set operators');
  }

  #checkCall(expr: FunctionCall): void {
    const { func, args } = expr;
    const { name, args: types, variadic } = func;
    const least = variadic === 0 ? types.length : types.length - 1;
    const most = variadic < 0 ? Infinity : least + variadic;
    const called = `argument(s) in call to "${name}", got ${args.length}`;
    if (variadic === 0 && args.length !== types.length) this.#fail(expr, `expected ${types.length} ${called}`);
    if (args.length < least) this.#fail(expr, `expected at least ${least} ${called}`);
    if (args.length > most) this.#fail(expr, `expected at most ${most} ${called}`);
    if (name === 'info' && args.length > 1) this.#checkInfo(expr, args[1]);
    for (const [i, arg] of args.entries()) {
      // The labels that `info` looks for may all match the empty string.
      if (name === 'info' && i === 1) continue;
      this.#expect(arg, types[Math.min(i, types.length - 1)], `call to function "${name}"`);
    }
  }

  #checkInfo(call: Expr, arg: Expr): void {
    const type = typeOf(arg);
    if (type !== 'vector') {
      this.#fail(call, `expected type instant vector in call to function "info", got ${TYPE_NAMES[type]}`);
    }
    if (arg.kind !== 'vectorSelector') return this.#fail(arg, 'expected label selectors only');
    if (arg.name !== '') this.#fail(arg, 'expected label selectors only, got vector selector instead');
    this.#checkSelector(arg, true);
  }

  #checkSelector(selector: VectorSelector, mayBeEmpty: boolean): void {
    const { matchers } = selector;
    const names = matchers.filter((it) => it.name === '__name__');
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

  /** Where the operator itself stands. */
  #operatorStart({ lhs }: BinaryExpr): number {
    const rest = /\S/.exec(this.#query.slice(lhs.end));
    return lhs.end + (rest?.index ?? 0);
  }

  #fail(at: { readonly start: number }, text: string): void {
    throw parseError(this.#query, at.start, text);
  }
}
