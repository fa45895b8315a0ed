import type { FunctionSignature, PromType } from '../syntax/ast.js';

type Entry = readonly [names: string, args: string, variadic?: number, returns?: PromType];

/** v: vector, m: matrix, s: scalar, t: string. */
const LETTERS: Readonly<Record<string, PromType>> = { v: 'vector', m: 'matrix', s: 'scalar', t: 'string' };

const ENTRIES: readonly Entry[] = [
  ['abs absent acos acosh asin asinh atan atanh ceil cos cosh deg exp floor ln log10 log2 rad sgn sin sinh', 'v'],
  ['sqrt tan tanh sort sort_desc timestamp start_timestamp', 'v'],
  ['histogram_avg histogram_count histogram_sum histogram_stddev histogram_stdvar', 'v'],
  ['scalar', 'v', 0, 'scalar'],
  ['vector', 's'],
  ['time pi start end step range', '', 0, 'scalar'],
  ['min_of max_of', 'ss', 0, 'scalar'],
  ['rate irate increase delta idelta deriv changes resets', 'm'],
  ['avg_over_time sum_over_time min_over_time max_over_time count_over_time last_over_time first_over_time', 'm'],
  ['present_over_time absent_over_time stddev_over_time stdvar_over_time mad_over_time', 'm'],
  ['ts_of_min_over_time ts_of_max_over_time ts_of_first_over_time ts_of_last_over_time', 'm'],
  ['predict_linear', 'ms'],
  ['quantile_over_time', 'sm'],
  ['double_exponential_smoothing', 'mss'],
  ['clamp', 'vss'],
  ['clamp_min clamp_max', 'vs'],
  ['round', 'vs', 1],
  ['day_of_month day_of_week day_of_year days_in_month hour minute month year', 'v', 1],
  ['histogram_quantile', 'sv'],
  ['histogram_fraction', 'ssv'],
  ['histogram_quantiles', 'vtss', 9],
  ['label_replace', 'vtttt'],
  ['label_join', 'vttt', -1],
  ['sort_by_label sort_by_label_desc', 'vt', -1],
  ['info', 'vv', 1],
];

/** Functions that Prometheus has behind a flag. */
const EXPERIMENTAL: ReadonlySet<string> = new Set([
  ...['double_exponential_smoothing', 'end', 'histogram_quantiles', 'info', 'mad_over_time', 'max_of', 'min_of'],
  ...['range', 'sort_by_label', 'sort_by_label_desc', 'start', 'start_timestamp', 'step', 'ts_of_first_over_time'],
  ...['ts_of_last_over_time', 'ts_of_max_over_time', 'ts_of_min_over_time'],
]);

/** All functions by name. @see https://prometheus.io/docs/prometheus/latest/querying/functions/ */
export const SIGNATURES: ReadonlyMap<string, FunctionSignature> = new Map(
  ENTRIES.flatMap(([names, letters, variadic = 0, returns = 'vector']) =>
    names.split(' ').map((name) => {
      const args = Array.from(letters, (letter) => LETTERS[letter]);
      return [name, { name, args, variadic, returns, isExperimental: EXPERIMENTAL.has(name) }] as const;
    }),
  ),
);
