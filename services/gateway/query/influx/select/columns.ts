import type { Column, Table } from '#shared/contracts/gen/common';
import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import { timeIndexOf } from '#shared/schema/table-schema';

import { fieldKind } from '../conditions.js';
import { distinctCountSql, INFLUX_AGGREGATES } from './aggregates.js';
import type { MathOperator, SelectExpression, SelectField } from './statement.js';
import { INFLUX_TRANSFORMS, type InfluxPointFunction } from './transforms.js';

/** How a column of the result is computed from the values that SQL returns. */
export type ColumnValue =
  | { readonly kind: 'constant'; readonly value: number }
  | { readonly kind: 'sql'; readonly index: number }
  | { readonly kind: 'transform'; readonly transform: InfluxPointFunction; readonly of: ColumnValue }
  | {
      readonly kind: 'math';
      readonly operator: MathOperator;
      readonly left: ColumnValue;
      readonly right: ColumnValue;
    };

/** The columns of a `SELECT` from one table. */
export interface SelectColumns {
  readonly names: readonly string[];
  readonly values: readonly ColumnValue[];
  /** Values that SQL returns. */
  readonly sql: readonly string[];
  /** Positions of counts, which are 0 without rows. */
  readonly counts: ReadonlySet<number>;
  readonly isAggregate: boolean;
  /** SQL of the time of the only row that is selected, if it is one. */
  readonly timeSql: string | undefined;
  readonly hasTransforms: boolean;
}

/** Resolves the fields of a `SELECT`. @param grouped tags of `GROUP BY`. @throws `invalid_arguments`. */
export function selectColumns(
  fields: readonly SelectField[],
  table: Table,
  grouped: ReadonlySet<string>,
): SelectColumns {
  const resolver = new Resolver(table);
  const names = new Map<string, number>();
  const outputs = fields.flatMap((field) => expanded(field, table, grouped));
  const resolved = outputs.map(({ name, expression }) => {
    const count = names.get(name) ?? 0;
    names.set(name, count + 1);
    return { name: count === 0 ? name : `${name}_${count}`, value: resolver.resolve(expression) };
  });
  return {
    names: resolved.map(({ name }) => name),
    values: resolved.map(({ value }) => value),
    ...resolver.result(outputs.length),
    // A table without columns for a wildcard has no values, whatever the statement is.
    ...(outputs.length === 0 ? { isAggregate: true } : {}),
  };
}

interface NamedExpression {
  readonly name: string;
  readonly expression: SelectExpression;
}

/** Replaces `*` and `/regex/` by the columns of the table. */
function expanded(
  { expression, alias }: SelectField,
  { columns }: Table,
  grouped: ReadonlySet<string>,
): NamedExpression[] {
  const wild = wildcardOf(expression);
  const name = alias ?? nameOf(expression);
  if (wild === undefined) return [{ name, expression }];
  const isPlain = wild === expression;
  return columns
    .filter((column) => isCovered(column, isPlain, grouped) && wild.isShown(column.name))
    .map((column) => column.name)
    .sort()
    .map((column) => ({
      name: isPlain ? column : `${name}_${column}`,
      expression: replaced(expression, wild, { kind: 'column', name: column }),
    }));
}

type Wildcard = Extract<SelectExpression, { readonly kind: 'columns' }>;

function isCovered({ kind, name, type }: Column, isPlain: boolean, grouped: ReadonlySet<string>): boolean {
  if (kind === 'field') return isPlain || fieldKind(type) === 'number';
  return kind === 'tag' && isPlain && !grouped.has(name);
}

function wildcardOf(expression: SelectExpression): Wildcard | undefined {
  switch (expression.kind) {
    case 'columns':
      return expression;
    case 'call':
      return expression.args.map(wildcardOf).find((found) => found !== undefined);
    case 'math':
      return wildcardOf(expression.left) ?? wildcardOf(expression.right);
    default:
      return undefined;
  }
}

function replaced(expression: SelectExpression, wild: Wildcard, column: SelectExpression): SelectExpression {
  if (expression === wild) return column;
  if (expression.kind === 'call') {
    return { ...expression, args: expression.args.map((arg) => replaced(arg, wild, column)) };
  }
  if (expression.kind !== 'math') return expression;
  const { left, right } = expression;
  return { ...expression, left: replaced(left, wild, column), right: replaced(right, wild, column) };
}

function nameOf(expression: SelectExpression): string {
  if (expression.kind === 'column' || expression.kind === 'call') return expression.name;
  if (expression.kind !== 'math') return '';
  return [nameOf(expression.left), nameOf(expression.right)].filter((name) => name !== '').join('_');
}

/** Collects the SQL of expressions. */
class Resolver {
  readonly #table: Table;
  readonly #time: string;
  readonly #sql: string[] = [];
  readonly #counts = new Set<number>();
  readonly #times: (string | undefined)[] = [];
  #hasColumns = false;
  #hasTransforms = false;

  constructor(table: Table) {
    this.#table = table;
    this.#time = quoteName(timeIndexOf(table).name);
  }

  resolve(expression: SelectExpression): ColumnValue {
    switch (expression.kind) {
      case 'number':
        return { kind: 'constant', value: expression.value };
      case 'column':
        this.#hasColumns = true;
        return this.#value(this.#columnSql(expression.name));
      case 'math': {
        const { operator, left, right } = expression;
        return { kind: 'math', operator, left: this.resolve(left), right: this.resolve(right) };
      }
      case 'call':
        return this.#call(expression.name, expression.args);
      default:
        throw invalid('a duration or a regular expression must be an argument of a function');
    }
  }

  result(outputCount: number): Pick<SelectColumns, 'sql' | 'counts' | 'isAggregate' | 'timeSql' | 'hasTransforms'> {
    const isAggregate = this.#times.length > 0;
    if (isAggregate && this.#hasColumns) throw invalid('mixing aggregate and non-aggregate queries is not supported');
    return {
      sql: this.#sql,
      counts: this.#counts,
      isAggregate,
      timeSql: outputCount === 1 && this.#times.length === 1 ? this.#times[0] : undefined,
      hasTransforms: this.#hasTransforms,
    };
  }

  #call(name: string, args: readonly SelectExpression[]): ColumnValue {
    const [first, second] = args;
    if (first === undefined) throw invalid(`invalid number of arguments for ${name}`);
    const transform = INFLUX_TRANSFORMS.get(name);
    if (transform !== undefined) {
      const { argument, make } = transform;
      this.#hasTransforms = true;
      return { kind: 'transform', transform: make(argumentOf(name, argument, second)), of: this.resolve(first) };
    }
    if (name === 'count' && first.kind === 'call' && first.name === 'distinct') return this.#distinctCount(first.args);
    return this.#aggregate(name, first, second);
  }

  #aggregate(name: string, field: SelectExpression, second: SelectExpression | undefined): ColumnValue {
    const aggregate = INFLUX_AGGREGATES.get(name);
    if (aggregate === undefined) throw invalid(`undefined function ${name}()`);
    if (field.kind !== 'column') throw invalid(`expected field argument in ${name}()`);
    const argument = aggregate.hasArgument === true ? argumentOf(name, 'number', second) : 0;
    if (argument === undefined) throw invalid(`expected number as second argument in ${name}()`);
    const column = this.#column(field.name);
    const isUsable = column?.kind === 'field' && (!aggregate.isNumeric || fieldKind(column.type) === 'number');
    const quoted = this.#columnSql(field.name);
    this.#times.push(isUsable ? aggregate.timeSql?.(quoted, this.#time) : undefined);
    const value = this.#value(isUsable ? aggregate.sql(quoted, this.#time, argument) : 'NULL');
    if (name === 'count' && isUsable) this.#counts.add(value.index);
    return value;
  }

  #distinctCount([field]: readonly SelectExpression[]): ColumnValue {
    if (field?.kind !== 'column') throw invalid('expected field argument in distinct()');
    this.#times.push(undefined);
    const isKnown = this.#column(field.name) !== undefined;
    const value = this.#value(isKnown ? distinctCountSql(field.name) : 'NULL');
    if (isKnown) this.#counts.add(value.index);
    return value;
  }

  #value(sql: string): Extract<ColumnValue, { readonly kind: 'sql' }> {
    const known = this.#sql.indexOf(sql);
    return { kind: 'sql', index: known >= 0 ? known : this.#sql.push(sql) - 1 };
  }

  /** Returns a column as SQL; decimals become the floats that InfluxDB has. */
  #columnSql(name: string): string {
    const column = this.#column(name);
    if (column === undefined) return 'NULL';
    return column.type.startsWith('Decimal') ? `CAST(${quoteName(name)} AS DOUBLE)` : quoteName(name);
  }

  #column(name: string): Column | undefined {
    return this.#table.columns.find((column) => column.name === name && column.kind !== 'time');
  }
}

/** Returns the second argument of a function, a duration in nanoseconds; undefined if it is left out. */
function argumentOf(
  name: string,
  wanted: 'duration' | 'number' | undefined,
  given: SelectExpression | undefined,
): number | undefined {
  if (given === undefined) return undefined;
  if (wanted === 'duration' && given.kind === 'duration' && given.ns > 0n) return Number(given.ns);
  if (wanted === 'number' && given.kind === 'number') return given.value;
  throw invalid(`expected ${wanted ?? 'no second'} argument in ${name}()`);
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}
