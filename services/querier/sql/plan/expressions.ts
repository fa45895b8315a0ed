import { AlmanacError } from '#shared/errors/almanac-error';
import { quoteText } from '#shared/duckdb/quote';
import type { TimeUnit } from '#shared/schema/data-type';
import { UTC } from '#shared/time/zone';

import { call, cast, mapChildren, parameter, textConstant, textNode, type Ast } from '../syntax/ast.js';
import type { FunctionContext, KnownType, TextCondition, TimeBucket, TimeConstant } from '../functions/function.js';
import { engineInterval } from '../functions/interval.js';
import { jsonPathAs, jsonPathText } from '../functions/json.js';
import { BARE_FUNCTIONS } from '../functions/session.js';
import { OWN_FUNCTIONS } from '../functions/registry.js';
import { fromCount, truncatedTime } from '../functions/time.js';
import {
  fixedLiteral,
  isInteger,
  TIMESTAMP_TYPES,
  timeOfLiteral,
  type Literal,
  type RunLiterals,
  type RunValues,
} from '../syntax/literals.js';
import { comparedSql, flipped, timeConstantSql, truncated } from './time-constants.js';
import { childScope, findColumn, type FoundColumn, type Scope } from './scope.js';
import { integerDivision } from './integer-division.js';
import { decimalArithmetic, decimalFunction } from './decimals.js';
import { isTryCast, rewrittenCast, typeOfCast } from './casts.js';
import { ARITHMETIC, arithmeticType, LITERAL_TYPES, resultType, unitOfType, WIDENED } from './known-types.js';
import { timeIndexOfValue } from './time-order.js';

/** A condition on the text of a column. */
export interface ColumnCondition {
  readonly found: FoundColumn;
  readonly condition: TextCondition;
}

/** The operands of a division of integers. */
export interface Quotient {
  readonly left: Ast;
  readonly right: Ast;
}

/** Rewrites a subquery that occurs in an expression of `scope`. */
export type SubqueryRewriter = (node: Ast, scope: Scope) => void;

/**
 * Rewrites expressions from the dialect to the engine's, bottom up, and records what later steps need to know of each: which
 * column it is, the unit of a timestamp, and whether it is constant within a run.
 */
export class Expressions {
  /** Renderers of the parameters in the final text, by identifier. */
  readonly slots = new Map<string, (run: RunValues) => string>();
  readonly mentioned = new Set<string>();
  readonly #literals: readonly Literal[];
  readonly #subquery: SubqueryRewriter;
  readonly #known = new WeakMap<Ast, KnownType>();
  readonly #constants = new WeakMap<Ast, TimeConstant>();
  readonly #columns = new WeakMap<Ast, FoundColumn>();
  readonly #texts = new WeakMap<Ast, ColumnCondition>();
  readonly #buckets = new WeakMap<Ast, TimeBucket>();
  readonly #quotients = new WeakMap<Ast, Quotient>();
  #scope: Scope = childScope(undefined);

  /** @param literals those of the statement that the plan is made from; later runs may have others of the same kinds. */
  constructor(literals: readonly Literal[], subquery: SubqueryRewriter) {
    this.#literals = literals;
    this.#subquery = subquery;
  }

  rewrite(node: Ast, scope: Scope): Ast {
    const outer = this.#scope;
    this.#scope = scope;
    const alias = node.alias;
    const result = this.#rewrite(node);
    if (alias !== undefined && alias !== '') result.alias = alias;
    this.#scope = outer;
    return result;
  }

  unitOf(node: Ast): TimeUnit | undefined {
    return unitOfType(this.#known.get(node));
  }

  knownType(node: Ast): KnownType | undefined {
    const known = this.#known.get(node);
    if (known !== undefined) return known;
    const kind = this.literalOf(node)?.kind;
    if (kind !== undefined) return LITERAL_TYPES[kind];
    return node.class === 'CAST' ? typeOfCast(node) : undefined;
  }

  constantOf(node: Ast): TimeConstant | undefined {
    return this.#constants.get(node);
  }

  columnOf(node: Ast): FoundColumn | undefined {
    return this.#columns.get(node);
  }

  /** Returns the condition on the text of a column that a node is. */
  textConditionOf(node: Ast): ColumnCondition | undefined {
    return this.#texts.get(node);
  }

  /** Returns the time buckets that a node rounds to, if it does so in the unit of the times. */
  bucketOf(node: Ast): TimeBucket | undefined {
    return this.#buckets.get(node);
  }

  /** Returns the operands of the division of integers that a node was rewritten from. */
  quotientOf(node: Ast): Quotient | undefined {
    return this.#quotients.get(node);
  }

  /** Returns the literal that a node is: its kind, and its value in a run. */
  literalOf(node: Ast): { kind: Literal['kind']; in: (run: RunLiterals) => Literal } | undefined {
    if (node.class === 'PARAMETER') {
      const index = Number(node.identifier) - 1;
      const literal = this.#literals[index] as Literal | undefined;
      return literal === undefined ? undefined : { kind: literal.kind, in: (run) => run.literals[index] };
    }
    if (node.class !== 'CONSTANT' || node.value === undefined || node.value.is_null) return undefined;
    const { type, value } = node.value;
    if (type.id === 'VARCHAR') return fixedLiteral('text', String(value));
    if (type.id === 'INTEGER' || type.id === 'BIGINT') return fixedLiteral('integer', String(value));
    return undefined;
  }

  readonly #context: FunctionContext = {
    unitOf: (node) => this.unitOf(node),
    constantOf: (node) => this.constantOf(node),
    typeOf: (node) => this.knownType(node),
    typed: (node, known) => this.#typed(node, known),
    cast: (node) => this.#cast(node),
    arithmetic: (node) => this.#arithmetic(node),
    timeConstant: (value, unit) => this.#timeConstant(value, unit),
    perRun: (render) => this.#slot(render),
    timeIndexFor: (value) => this.#timeIndexFor(value),
    literalOf: (node) => this.literalOf(node),
    textCondition: (node, column, condition) => {
      const found = this.#columns.get(column);
      if (found !== undefined) this.#texts.set(node, { found, condition });
    },
    bucketed: (node, bucket) => {
      this.#buckets.set(node, bucket);
      return node;
    },
    moveCondition: (from, to) => {
      const condition = this.#texts.get(from);
      if (condition !== undefined) this.#texts.set(to, condition);
    },
  };

  #typed(node: Ast, known: KnownType | undefined): Ast {
    if (known !== undefined) this.#known.set(node, known);
    return node;
  }

  #slot(render: (run: RunValues) => string): Ast {
    const identifier = String(this.#literals.length + this.slots.size + 1);
    this.slots.set(identifier, render);
    return parameter(identifier);
  }

  #timeConstant(value: TimeConstant, unit: TimeUnit): Ast {
    const node = this.#typed(
      this.#slot((run) => timeConstantSql(value(run), unit)),
      unit,
    );
    this.#constants.set(node, value);
    return node;
  }

  #timeIndexFor(value: Ast): Ast | undefined {
    const name = timeIndexOfValue(value, this.#scope, (node) => this.columnOf(node));
    return name && this.#columnRef({ class: 'COLUMN_REF', type: 'COLUMN_REF', alias: '', column_names: name });
  }

  #rewrite(node: Ast): Ast {
    switch (node.class) {
      case 'COLUMN_REF':
        return this.#columnRef(node);
      case 'SUBQUERY':
        if (node.subquery !== undefined) this.#subquery(node.subquery.node, this.#scope);
        // The engine compares the columns of a subquery with the members of a row only if it sees the row.
        mapChildren(node, (child) => (child.function_name === 'row' ? this.#members(child) : this.#inner(child)));
        return node;
      case 'STAR':
        return this.#star(node);
      case 'POSITIONAL_REFERENCE':
        // `count(*)` style expansion covers the columns of all tables, in their order.
        for (const { plan } of this.#scope.entries) if (plan !== undefined) plan.readsAll = true;
        return node;
      default:
        mapChildren(node, (child) => this.#inner(child));
        return this.#rule(node);
    }
  }

  #members(row: Ast): Ast {
    mapChildren(row, (child) => this.#inner(child));
    return row;
  }

  #inner(child: Ast): Ast {
    const result = this.#rewrite(child);
    if (child.alias !== undefined && child.alias !== '') result.alias = child.alias;
    return result;
  }

  #rule(node: Ast): Ast {
    switch (node.class) {
      case 'FUNCTION':
      case 'WINDOW':
        return this.#function(this.#widened(node));
      case 'CAST':
        return this.#cast(node);
      case 'COMPARISON':
        return this.#comparison(node);
      case 'BETWEEN':
        return this.#between(node);
      case 'OPERATOR':
        return this.#operator(node);
      case 'CASE':
        this.#widenCase(node);
        return this.#typed(node, this.#typeOfCase(node));
      default:
        return node;
    }
  }

  #columnRef(node: Ast): Ast {
    const parts = this.#withoutPath(node.column_names ?? []);
    const path = this.#jsonPath(parts);
    if (path !== undefined) return path;
    node.column_names = parts;
    for (const part of parts) this.mentioned.add(part.toLowerCase());
    const found = findColumn(this.#scope, parts);
    if (found === undefined && parts.length === 1 && BARE_FUNCTIONS.has(parts[0].toLowerCase())) {
      return this.#function(call(parts[0].toLowerCase()));
    }
    if (found === undefined) {
      // A table's own name as a value is its whole row.
      const whole = this.#scope.entries.find((entry) => entry.alias === parts[0].toLowerCase());
      if (whole?.plan !== undefined && parts.length === 1) whole.plan.readsAll = true;
      return node;
    }
    this.#columns.set(node, found);
    return this.#typed(node, found.known);
  }

  /** `column.a.b` is a path in a column of JSON values. */
  #jsonPath(parts: readonly string[]): Ast | undefined {
    for (const length of [1, 2]) {
      const column = parts.slice(0, length);
      if (parts.length <= length || findColumn(this.#scope, column)?.known !== 'json') continue;
      if (length === 1 && this.#scope.entries.some((entry) => entry.alias === parts[0].toLowerCase())) continue;
      const reference = { class: 'COLUMN_REF', type: 'COLUMN_REF', alias: '', column_names: [...column] } satisfies Ast;
      const keys = parts.slice(length).map((key) => JSON.stringify(key));
      return jsonPathText(this.#columnRef(reference), textNode(`$.${keys.join('.')}`), this.#context);
    }
    return undefined;
  }

  /** `public.cpu.x` and `almanac.public.cpu.x` become `cpu.x`: the relation only has the table's own name. */
  #withoutPath(parts: string[]): string[] {
    for (let scope: Scope | undefined = this.#scope; scope !== undefined; scope = scope.parent) {
      for (const { path } of scope.entries) {
        if (path === undefined) continue;
        const at = parts.findIndex((part, i) => i <= 1 && part === path[0] && parts[i + 1] === path[1]);
        if (at !== -1 && parts.length > at + 2) return parts.slice(at + 1);
      }
    }
    return parts;
  }

  #star(node: Ast): Ast {
    const qualifier = (node.relation_name ?? '').toLowerCase();
    for (const entry of this.#scope.entries) {
      if (entry.plan !== undefined && (qualifier === '' || entry.alias === qualifier)) entry.plan.readsAll = true;
    }
    mapChildren(node, (child) => this.#inner(child));
    return node;
  }

  #function(node: Ast): Ast {
    if (node.export_state === true) throw new AlmanacError('unsupported', 'EXPORT_STATE is not supported');
    const [first, second] = node.children ?? [];
    const rule = OWN_FUNCTIONS.get(node.function_name ?? '');
    if (rule !== undefined && (node.class === 'FUNCTION' || rule.inWindows === true)) {
      const result = rule.rewrite(node, this.#context);
      if (result !== node) return result;
    }
    if (node.is_operator === true && second !== undefined) return this.#arithmetic(node);
    const known = first === undefined ? undefined : this.knownType(first);
    const decimal = node.class === 'FUNCTION' ? decimalFunction(node, known) : undefined;
    if (decimal !== undefined) return this.#typed(decimal.node, decimal.type);
    return this.#typed(node, resultType(node.function_name ?? '', known));
  }

  /** The dialect divides integers as integers, and an integer zero divisor is an error, not NULL. */
  #arithmetic(node: Ast): Ast {
    const [leftmost, rightmost] = node.children ?? [];
    const [first, right] = this.#jsonOperands(leftmost, rightmost);
    const rightKind = this.literalOf(right)?.kind;
    const isConstant = this.#isInteger(first) && rightKind !== undefined && isInteger(rightKind);
    const left = isConstant ? this.#typed(cast(first, 'BIGINT'), 'int') : first; // literals have 64 bits, 32 in the engine
    node.children = [left, right];
    const name = node.function_name ?? '';
    const types = [this.knownType(left), this.knownType(right)];
    const isInt = types.every((type) => type === 'int');
    if (isInt && (name === '/' || name === '%')) {
      const division = integerDivision(name === '/' ? '//' : '%', left, right, this.#context);
      if (name === '/') this.#quotients.set(division, { left, right });
      return this.#typed(division, 'int');
    }
    if (!ARITHMETIC.has(name)) return node;
    if (isInt) return this.#typed(node, 'int');
    const decimal = decimalArithmetic(name, [left, right], types);
    return decimal === undefined
      ? this.#typed(node, arithmeticType(name, types))
      : this.#typed(decimal.node, decimal.type);
  }

  #isInteger(node: Ast): boolean {
    return this.literalOf(node)?.kind === 'integer';
  }

  #cast(node: Ast): Ast {
    const target = node.cast_type?.id ?? '';
    const unit = TIMESTAMP_TYPES[target] as TimeUnit | undefined;
    const child = node.child;
    if (child === undefined) return node;
    if (unit !== undefined) return this.#timeCast(node, child, unit);
    node.child =
      target === 'INTERVAL' ? this.#intervalText(child) : (jsonPathAs(child, typeOfCast(node), this.#context) ?? child);
    return this.#typed(rewrittenCast(node, this.knownType(child)), typeOfCast(node));
  }

  /** Rewrites the text that becomes an interval, if it is a literal. */
  #intervalText(child: Ast): Ast {
    const literal = this.literalOf(child);
    if (literal?.kind !== 'text') return child;
    const fixedText = textConstant(child);
    if (fixedText !== undefined) return textNode(engineInterval(fixedText));
    return this.#slot((run) => quoteText(engineInterval(literal.in(run).value)));
  }

  #timeCast(node: Ast, child: Ast, unit: TimeUnit): Ast {
    const literal = this.literalOf(child);
    // Explicit casts read a text as UTC, whatever the session's zone is.
    if (literal !== undefined && (isInteger(literal.kind) || (literal.kind === 'text' && !isTryCast(node)))) {
      return this.#timeConstant((run) => timeOfLiteral(literal.in(run), unit, UTC), unit);
    }
    const constant = this.constantOf(child);
    if (constant !== undefined) return this.#timeConstant(truncated(constant, unit), unit);
    if (this.knownType(child) === 'int') return this.#typed(fromCount(child, unit), unit);
    if (this.unitOf(child) !== undefined) return this.#typed(truncatedTime(child, unit), unit);
    // The engine has no cast from nanoseconds to coarser units than microseconds.
    if (unit === 'ms' || unit === 's') node.child = cast(child, 'TIMESTAMP');
    return this.#typed(node, unit);
  }

  /** What a path of a JSON value leads to gets the type of the other operand. */
  #jsonOperands(left: Ast, right: Ast): readonly [Ast, Ast] {
    return [
      jsonPathAs(left, this.knownType(right), this.#context) ?? left,
      jsonPathAs(right, this.knownType(left), this.#context) ?? right,
    ];
  }

  #comparison(node: Ast): Ast {
    if (node.left === undefined || node.right === undefined) return node;
    const [left, right] = this.#jsonOperands(node.left, node.right);
    Object.assign(node, { left, right });
    if (this.#isOpenTime(left)) node.right = this.#timeOperand(right, this.unitOf(left), node.type);
    else if (this.#isOpenTime(right)) node.left = this.#timeOperand(left, this.unitOf(right), flipped(node.type));
    return node;
  }

  /** Returns whether an expression is a timestamp that is not constant. */
  #isOpenTime(node: Ast): boolean {
    return this.unitOf(node) !== undefined && this.constantOf(node) === undefined;
  }

  #between(node: Ast): Ast {
    const { input, lower, upper } = node;
    if (input === undefined || lower === undefined || upper === undefined || !this.#isOpenTime(input)) return node;
    node.lower = this.#timeOperand(lower, this.unitOf(input), 'COMPARE_GREATERTHANOREQUALTO');
    node.upper = this.#timeOperand(upper, this.unitOf(input), 'COMPARE_LESSTHANOREQUALTO');
    return node;
  }

  #operator(node: Ast): Ast {
    const [first, ...rest] = node.children ?? [];
    if (first === undefined) return node;
    if ((node.type === 'COMPARE_IN' || node.type === 'COMPARE_NOT_IN') && this.#isOpenTime(first)) {
      node.children = [first, ...rest.map((entry) => this.#timeOperand(entry, this.unitOf(first), 'COMPARE_EQUAL'))];
    }
    if (node.type !== 'OPERATOR_COALESCE') return node;
    node.children = [first, ...rest].map((child) => this.#wide(child));
    return this.#typed(node, this.knownType(first));
  }

  #widened(node: Ast): Ast {
    if (WIDENED.has(node.function_name ?? '')) node.children = node.children?.map((child) => this.#wide(child)) ?? [];
    return node;
  }

  /** Integer literals have 64 bits, 32 in the engine, which would be the type of the whole expression. */
  #wide(node: Ast): Ast {
    return this.#isInteger(node) ? this.#typed(cast(node, 'BIGINT'), 'int') : node;
  }

  #widenCase(node: Ast): void {
    const { case_checks: checks = [] } = node as { case_checks?: { then_expr: Ast }[] };
    for (const check of checks) check.then_expr = this.#wide(check.then_expr);
    const other = node as { else_expr?: Ast | null };
    if (other.else_expr) other.else_expr = this.#wide(other.else_expr);
  }

  #typeOfCase(node: Ast): KnownType | undefined {
    const checks = (node as { case_checks?: { then_expr: Ast }[] }).case_checks ?? [];
    return checks.length === 0 ? undefined : this.knownType(checks[0].then_expr);
  }

  /** Returns the operand that a timestamp of `unit` is compared with, as a constant of that unit if its value is known. */
  #timeOperand(operand: Ast, unit: TimeUnit | undefined, comparison: string): Ast {
    if (unit === undefined) return operand;
    const literal = this.literalOf(operand);
    const value =
      literal !== undefined && literal.kind !== 'binary'
        ? (run: RunValues) => timeOfLiteral(literal.in(run), unit, run.zone)
        : this.constantOf(operand);
    if (value === undefined) {
      return this.knownType(operand) === 'int' ? this.#typed(fromCount(operand, unit), unit) : operand;
    }
    const node = this.#typed(
      this.#slot((run) => comparedSql(value(run), unit, comparison)),
      unit,
    );
    this.#constants.set(node, value);
    return node;
  }
}
