import { numberText } from '../common/number-text.js';
import { quantileOf } from '../runtime/quantile.js';
import { FLOAT_SAMPLE, HISTOGRAM_SAMPLE, NO_SAMPLE, setFloat } from '../runtime/samples.js';
import type { AggregationCall, Group, GroupReducer, PromAggregation } from './aggregation.js';

/** Visits the floats of a group, series by series; histograms are ignored, with an info annotation. */
async function eachFloat(
  { series }: Group,
  { expr, env }: AggregationCall,
  visit: (value: number, step: number, kinds: Uint8Array) => void,
): Promise<void> {
  for (const { kinds, values, histograms } of series) {
    env.limits.spend(1 + kinds.length);
    if (env.limits.isDue) await env.limits.yield();
    if (histograms !== undefined && kinds.includes(HISTOGRAM_SAMPLE)) {
      env.annotations.info(`ignored histogram in ${expr.op} aggregation`, expr.expr);
    }
    for (let step = 0; step < kinds.length; step++) if (kinds[step] === FLOAT_SAMPLE) visit(values[step], step, kinds);
  }
}

/** Least or greatest value; NaN only if all values are. */
function extreme(isMax: boolean): GroupReducer {
  return (group, result, call) => {
    const { kinds, values } = result;
    return eachFloat(group, call, (x, step) => {
      const best = values[step];
      if (kinds[step] !== NO_SAMPLE && !(isMax ? x > best : x < best) && !Number.isNaN(best)) return;
      kinds[step] = FLOAT_SAMPLE;
      values[step] = x;
    });
  };
}

/** Population variance by Welford's algorithm; NaN if the first value is not finite. */
function deviation(of: (variance: number) => number): GroupReducer {
  return async (group, result, call) => {
    const { steps } = call.env;
    const counts = new Int32Array(steps);
    const means = new Float64Array(steps);
    const squares = new Float64Array(steps);
    await eachFloat(group, call, (x, step) => {
      const count = ++counts[step];
      if (count === 1 && !Number.isFinite(x)) squares[step] = NaN;
      const distance = x - means[step];
      means[step] += distance / count;
      squares[step] += distance * (x - means[step]);
    });
    for (let step = 0; step < steps; step++) {
      if (counts[step] > 0) setFloat(result, step, of(squares[step] / counts[step]));
    }
  };
}

const quantile: GroupReducer = async (group, result, call) => {
  const { steps, limits } = call.env;
  const columns: number[][] = Array.from({ length: steps }, () => []);
  await eachFloat(group, call, (x, step) => columns[step].push(x));
  for (let step = 0; step < steps; step++) {
    if (columns[step].length === 0) continue;
    limits.spend(columns[step].length);
    if (limits.isDue) await limits.yield();
    const value = quantileOf(call.param?.[step] ?? NaN, Float64Array.from(columns[step]), limits);
    setFloat(result, step, value instanceof Promise ? await value : value);
  }
};

/** Visits the samples of a group, floats and histograms. */
async function eachSample({ series }: Group, { env }: AggregationCall, visit: (step: number) => void): Promise<void> {
  for (const { kinds } of series) {
    env.limits.spend(1 + kinds.length);
    if (env.limits.isDue) await env.limits.yield();
    for (let step = 0; step < kinds.length; step++) if (kinds[step] !== NO_SAMPLE) visit(step);
  }
}

const count: GroupReducer = (group, result, call) => {
  return eachSample(group, call, (step) => setFloat(result, step, result.values[step] + 1));
};

const group: GroupReducer = (members, result, call) => eachSample(members, call, (step) => setFloat(result, step, 1));

function warnOfQuantiles({ expr, env, param = new Float64Array(0) }: AggregationCall): void {
  let last: number | undefined;
  for (const q of param) {
    if ((q >= 0 && q <= 1) || Object.is(q, last)) continue;
    last = q;
    env.annotations.warn(`quantile value should be between 0 and 1, got ${numberText(q)}`, expr.param ?? expr);
  }
}

function reducer(name: string, doc: string, run: GroupReducer): PromAggregation {
  return { name, doc, body: { kind: 'reduce', run } };
}

/** Aggregations that compute one statistic per group. */
export const STATISTICS: readonly PromAggregation[] = [
  reducer('min', 'Least float.', extreme(false)),
  reducer('max', 'Greatest float.', extreme(true)),
  reducer('count', 'Number of series.', count),
  reducer('group', 'Returns 1 for each group.', group),
  reducer('stddev', 'Population standard deviation of the floats.', deviation(Math.sqrt)),
  reducer(
    'stdvar',
    'Population variance of the floats.',
    deviation((variance) => variance),
  ),
  {
    ...reducer('quantile', 'The `q` quantile of the floats, 0 ≤ `q` ≤ 1.', quantile),
    param: { name: 'q', type: 'scalar' },
    checkParam: warnOfQuantiles,
  },
];
