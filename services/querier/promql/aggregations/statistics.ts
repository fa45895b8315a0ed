import { numberText } from '../common/number-text.js';
import { quantileOf } from '../runtime/quantile.js';
import {
  FLOAT_SAMPLE,
  HISTOGRAM_SAMPLE,
  NO_SAMPLE,
  setFloat,
  type MutableSeries,
  type StepSeries,
} from '../runtime/samples.js';
import type { AggregationCall, GroupFold, GroupReducer, PromAggregation } from './aggregation.js';

/** Visits the floats of a series; histograms are ignored, with an info annotation. */
function eachFloat(
  { kinds, values, histograms }: StepSeries,
  { expr, env }: AggregationCall,
  visit: (value: number, step: number) => void,
): void {
  if (histograms !== undefined && kinds.includes(HISTOGRAM_SAMPLE)) {
    env.annotations.info(`ignored histogram in ${expr.op} aggregation`, expr.expr);
  }
  for (let step = 0; step < kinds.length; step++) if (kinds[step] === FLOAT_SAMPLE) visit(values[step], step);
}

/** Returns a fold whose result of each step depends on that step alone. */
function perStep(add: (series: StepSeries) => void, put: (result: MutableSeries, step: number) => void): GroupFold {
  return {
    add,
    *finish(result) {
      for (let step = 0; step < result.kinds.length; step++) put(result, step);
    },
  };
}

/** Least or greatest value; NaN only if all values are. */
function extreme(isMax: boolean): GroupReducer {
  return (call) => {
    const { steps } = call.env;
    const kinds = new Uint8Array(steps);
    const best = new Float64Array(steps);
    const visit = (x: number, step: number): void => {
      const known = best[step];
      if (kinds[step] !== NO_SAMPLE && !(isMax ? x > known : x < known) && !Number.isNaN(known)) return;
      kinds[step] = FLOAT_SAMPLE;
      best[step] = x;
    };
    return perStep(
      (series) => eachFloat(series, call, visit),
      (result, step) => {
        if (kinds[step] === FLOAT_SAMPLE) setFloat(result, step, best[step]);
      },
    );
  };
}

/** Population variance by Welford's algorithm; NaN if the first value is not finite. */
function deviation(of: (variance: number) => number): GroupReducer {
  return (call) => {
    const { steps } = call.env;
    const counts = new Int32Array(steps);
    const means = new Float64Array(steps);
    const squares = new Float64Array(steps);
    const visit = (x: number, step: number): void => {
      const count = ++counts[step];
      if (count === 1 && !Number.isFinite(x)) squares[step] = NaN;
      const distance = x - means[step];
      means[step] += distance / count;
      squares[step] += distance * (x - means[step]);
    };
    return perStep(
      (series) => eachFloat(series, call, visit),
      (result, step) => {
        if (counts[step] > 0) setFloat(result, step, of(squares[step] / counts[step]));
      },
    );
  };
}

const quantile: GroupReducer = (call) => {
  const { steps, limits, scheduler } = call.env;
  const columns: number[][] = Array.from({ length: steps }, () => []);
  return {
    add: (series) => eachFloat(series, call, (x, step) => columns[step].push(x)),
    *finish(result) {
      for (let step = 0; step < steps; step++) {
        if (columns[step].length === 0) continue;
        limits.spend(columns[step].length);
        if (scheduler.isDue) yield;
        setFloat(result, step, yield* quantileOf(call.param?.[step] ?? NaN, Float64Array.from(columns[step]), limits));
      }
    },
  };
};

/** Number of samples of each step, floats and histograms. */
function counting(of: (count: number) => number): GroupReducer {
  return ({ env }) => {
    const counts = new Float64Array(env.steps);
    return perStep(
      ({ kinds }) => {
        for (let step = 0; step < kinds.length; step++) if (kinds[step] !== NO_SAMPLE) counts[step]++;
      },
      (result, step) => {
        if (counts[step] > 0) setFloat(result, step, of(counts[step]));
      },
    );
  };
}

function warnOfQuantiles({ expr, env, param = new Float64Array(0) }: AggregationCall): void {
  let last: number | undefined;
  for (const q of param) {
    if ((q >= 0 && q <= 1) || Object.is(q, last)) continue;
    last = q;
    env.annotations.warn(`quantile value should be between 0 and 1, got ${numberText(q)}`, expr.param ?? expr);
  }
}

function reducer(name: string, doc: string, begin: GroupReducer): PromAggregation {
  return { name, doc, body: { kind: 'reduce', begin } };
}

/** Aggregations that compute one statistic per group. */
export const STATISTICS: readonly PromAggregation[] = [
  reducer('min', 'Least float.', extreme(false)),
  reducer('max', 'Greatest float.', extreme(true)),
  reducer(
    'count',
    'Number of series.',
    counting((count) => count),
  ),
  reducer(
    'group',
    'Returns 1 for each group.',
    counting(() => 1),
  ),
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
