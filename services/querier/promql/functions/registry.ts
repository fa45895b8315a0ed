import type { PromFunction } from './function.js';
import { HISTOGRAM_FUNCTIONS } from './histogram-functions.js';
import { LABEL_FUNCTIONS } from './label-functions.js';
import { MATH } from './math.js';
import { OVER_TIME } from './over-time.js';
import { delta, idelta, increase, irate, rate } from './rate.js';
import { deriv, doubleExponentialSmoothing, predictLinear } from './regression.js';
import { TIME } from './time.js';
import { VECTOR_FUNCTIONS } from './vector-functions.js';

/** What functions do, by name; `absent_over_time`, `info` and `timestamp` of a selector are the evaluator's own. */
export const FUNCTIONS: ReadonlyMap<string, PromFunction> = new Map<string, PromFunction>(
  Object.entries({
    ...MATH,
    ...OVER_TIME,
    ...TIME,
    ...VECTOR_FUNCTIONS,
    ...LABEL_FUNCTIONS,
    ...HISTOGRAM_FUNCTIONS,
    ...{ rate, increase, delta, irate, idelta, deriv },
    predict_linear: predictLinear,
    double_exponential_smoothing: doubleExponentialSmoothing,
  }),
);
