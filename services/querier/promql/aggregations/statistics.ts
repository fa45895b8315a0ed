import { quantileOf } from '../runtime/quantile.js';
import { FLOAT_SAMPLE, HISTOGRAM_SAMPLE, NO_SAMPLE, setFloat, type StepSeries } from '../runtime/samples.js';
import type { AggregationCall, Group, GroupReducer } from './aggregation.js';

/** Looks at the numbers of a group, series by series; histograms are left out, with an info. */
async function eachFloat(
  { series }: Group,
  { expr, env }: AggregationCall,
  see: (value: number, step: number, kinds: Uint8Array) => void,
): Promise<void> {
  for (const { kinds, values, histograms } of series) {
    env.limits.spend(1 + kinds.length);
    if (env.limits.isDue) await env.limits.yield();
    if (histograms !== undefined && kinds.includes(HISTOGRAM_SAMPLE)) {
      env.annotations.info(`ignored histogram in ${expr.op} aggregation`, expr.expr);
    }
    for (let step = 0; step < kinds.length; step++) if (kinds[step] === FLOAT_SAMPLE) see(values[step], step, kinds);
  }
}

/** NaN only where all are. */
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

export const min = extreme(false);
export const max = extreme(true);

export const stdvar = deviation((variance) => variance);
export const stddev = deviation(Math.sqrt);

/** Welford's population variance; not finite if the first value is not. */
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

export const quantile: GroupReducer = async (group, result, call) => {
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

/** Looks at what is there of any kind. */
async function eachPresent(
  series: readonly StepSeries[],
  { env }: AggregationCall,
  see: (step: number) => void,
): Promise<void> {
  for (const { kinds } of series) {
    env.limits.spend(1 + kinds.length);
    if (env.limits.isDue) await env.limits.yield();
    for (let step = 0; step < kinds.length; step++) if (kinds[step] !== NO_SAMPLE) see(step);
  }
}

export const count: GroupReducer = ({ series }, result, call) => {
  return eachPresent(series, call, (step) => setFloat(result, step, result.values[step] + 1));
};

export const group: GroupReducer = ({ series }, result, call) => {
  return eachPresent(series, call, (step) => setFloat(result, step, 1));
};
