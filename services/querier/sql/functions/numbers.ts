import { AlmanacError } from '#shared/errors/almanac-error';

import { call, cast, integerConstant, operator, textConstant, type Ast } from '../syntax/ast.js';
import { argumentsOf, type FunctionContext, type FunctionRule } from './function.js';

/** Integers stay integers: the engine would interpolate between them. */
function keptInteger(node: Ast, value: Ast, context: FunctionContext): Ast {
  const known = context.typeOf(value);
  return known === 'int'
    ? context.typed(cast(call('trunc', { ...node, alias: '' }), 'BIGINT'), 'int')
    : context.typed(node, known);
}

/** `approx_percentile_cont(x, q)`; further arguments are the size of the sketch, which the engine chooses. */
const approxPercentile: FunctionRule = {
  names: ['approx_percentile_cont'],
  rewrite(node, context) {
    const [value, quantile] = argumentsOf(node, 2, 3);
    const children = [cast(value, 'DOUBLE'), cast(quantile, 'FLOAT')];
    return keptInteger({ ...node, function_name: 'approx_quantile', children }, value, context);
  },
};

const approxMedian: FunctionRule = {
  names: ['approx_median'],
  rewrite(node, context) {
    const [value] = argumentsOf(node, 1, 1);
    const half = cast(operator('/', cast(integerConstant(1), 'DOUBLE'), integerConstant(2)), 'FLOAT');
    const children = [cast(value, 'DOUBLE'), half];
    return keptInteger({ ...node, function_name: 'approx_quantile', children }, value, context);
  },
};

const median: FunctionRule = {
  names: ['median'],
  rewrite(node, context) {
    const [value] = argumentsOf(node, 1, 1);
    return context.typeOf(value) === 'int' ? keptInteger({ ...node }, value, context) : node;
  },
};

/** `mod(a, b)` is the operator, which refuses a zero. */
const modulo: FunctionRule = {
  names: ['mod'],
  rewrite(node, context) {
    const [left, right] = argumentsOf(node, 2, 2);
    return context.arithmetic(operator('%', left, right));
  },
};

/** Engine type of each type that `arrow_cast` names. */
const ARROW_TYPES: Readonly<Partial<Record<string, string>>> = {
  Utf8: 'VARCHAR',
  LargeUtf8: 'VARCHAR',
  Utf8View: 'VARCHAR',
  Binary: 'BLOB',
  Boolean: 'BOOLEAN',
  Int8: 'TINYINT',
  Int16: 'SMALLINT',
  Int32: 'INTEGER',
  Int64: 'BIGINT',
  UInt8: 'UTINYINT',
  UInt16: 'USMALLINT',
  UInt32: 'UINTEGER',
  UInt64: 'UBIGINT',
  Float32: 'FLOAT',
  Float64: 'DOUBLE',
  Date32: 'DATE',
  'Timestamp(Second, None)': 'TIMESTAMP_S',
  'Timestamp(Millisecond, None)': 'TIMESTAMP_MS',
  'Timestamp(Microsecond, None)': 'TIMESTAMP',
  'Timestamp(Nanosecond, None)': 'TIMESTAMP_NS',
  'Timestamp(s)': 'TIMESTAMP_S',
  'Timestamp(ms)': 'TIMESTAMP_MS',
  'Timestamp(µs)': 'TIMESTAMP',
  'Timestamp(ns)': 'TIMESTAMP_NS',
  'Interval(MonthDayNano)': 'INTERVAL',
};

const arrowCast: FunctionRule = {
  names: ['arrow_cast'],
  rewrite(node, context) {
    const [value, name] = argumentsOf(node, 2, 2);
    const text = textConstant(name) ?? '';
    const type = ARROW_TYPES[text];
    if (type === undefined) {
      throw new AlmanacError('plan_query', `Failed to plan SQL: Unsupported type '${text.slice(0, 60)}' in arrow_cast`);
    }
    return context.cast(cast(value, type));
  },
};

/** Functions of numbers and conversions between types. */
export const NUMBER_FUNCTIONS: readonly FunctionRule[] = [approxPercentile, approxMedian, median, modulo, arrowCast];
