import { ABSENT_FUNCTIONS } from './absent.js';
import { CONVERSION_FUNCTIONS } from './conversions.js';
import { promFunction, type FunctionDefinition, type PromFunction } from './function.js';
import { HISTOGRAM_FUNCTIONS } from './histogram-functions.js';
import { INFO_FUNCTIONS } from './info.js';
import { LABEL_FUNCTIONS } from './label-functions.js';
import { MATH_FUNCTIONS } from './math.js';
import { OVER_TIME_FUNCTIONS } from './over-time.js';
import { RATE_FUNCTIONS } from './rate.js';
import { REGRESSION_FUNCTIONS } from './regression.js';
import { SORT_FUNCTIONS } from './sort-functions.js';
import { DATE_FUNCTIONS } from './time.js';

/** All functions in families, by the headings of `docs/promql.md`. */
export const FUNCTION_FAMILIES: Readonly<Record<string, readonly FunctionDefinition[]>> = {
  'Rates and differences': RATE_FUNCTIONS,
  'Aggregation over time': OVER_TIME_FUNCTIONS,
  Regression: REGRESSION_FUNCTIONS,
  Histograms: HISTOGRAM_FUNCTIONS,
  Mathematics: MATH_FUNCTIONS,
  'Dates and times': DATE_FUNCTIONS,
  Labels: LABEL_FUNCTIONS,
  'Info metrics': INFO_FUNCTIONS,
  'Missing series': ABSENT_FUNCTIONS,
  Sorting: SORT_FUNCTIONS,
  'Scalars and vectors': CONVERSION_FUNCTIONS,
};

/** All functions by name. @see https://prometheus.io/docs/prometheus/latest/querying/functions/ */
export const FUNCTIONS: ReadonlyMap<string, PromFunction> = new Map(
  Object.values(FUNCTION_FAMILIES)
    .flat()
    .map((definition) => [definition.name, promFunction(definition)]),
);
