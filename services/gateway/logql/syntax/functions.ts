import type { RangeAggregation } from './ast.js';
import type { TokenCursor } from './cursor.js';

/** What a range aggregation accepts. */
interface RangeFunction {
  readonly lines: boolean;
  readonly unwrapped: boolean;
  readonly grouping: boolean;
}

const OF_LINES: RangeFunction = { lines: true, unwrapped: false, grouping: false };
const OF_NUMBERS: RangeFunction = { lines: false, unwrapped: true, grouping: true };

/** Range aggregations by name. */
export const RANGE_FUNCTIONS: ReadonlyMap<string, RangeFunction> = new Map<string, RangeFunction>([
  ['count_over_time', OF_LINES],
  ['bytes_over_time', OF_LINES],
  ['bytes_rate', OF_LINES],
  ['rate', { lines: true, unwrapped: true, grouping: false }],
  ['absent_over_time', { lines: true, unwrapped: true, grouping: false }],
  ['sum_over_time', { ...OF_NUMBERS, grouping: false }],
  ['rate_counter', { ...OF_NUMBERS, grouping: false }],
  ...['avg', 'min', 'max', 'stddev', 'stdvar', 'quantile', 'first', 'last'].map(
    (name) => [`${name}_over_time`, OF_NUMBERS] as const,
  ),
]);

/** Aggregations of vectors, and whether they have a parameter. */
export const VECTOR_FUNCTIONS: ReadonlyMap<string, boolean> = new Map([
  ...['sum', 'avg', 'min', 'max', 'count', 'stddev', 'stdvar', 'sort', 'sort_desc'].map(
    (name) => [name, false] as const,
  ),
  ['topk', true],
  ['bottomk', true],
]);

/** @throws `invalid_syntax`, in the words of Loki. */
export function checkRangeAggregation(aggregation: RangeAggregation, cursor: TokenCursor): void {
  const { fn, parameter, unwrap, grouping } = aggregation;
  const accepts = RANGE_FUNCTIONS.get(fn)!;
  if (unwrap === undefined && !accepts.lines) throw cursor.error(`invalid aggregation ${fn} without unwrap`);
  if (unwrap !== undefined && !accepts.unwrapped) throw cursor.error(`invalid aggregation ${fn} with unwrap`);
  if (grouping !== undefined && !accepts.grouping) throw cursor.error(`grouping not allowed for ${fn} aggregation`);
  const isQuantile = fn === 'quantile_over_time';
  if (isQuantile && parameter === undefined) throw cursor.error(`parameter required for operation ${fn}`);
  if (!isQuantile && parameter !== undefined) throw cursor.error(`unsupported parameter for operation ${fn}`);
}
