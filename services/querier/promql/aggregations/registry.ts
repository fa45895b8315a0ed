import type { PromAggregation } from './aggregation.js';
import { COUNT_VALUES } from './count-values.js';
import { PICK_AGGREGATIONS } from './pick.js';
import { STATISTICS } from './statistics.js';
import { AVG, SUM } from './sum-avg.js';

/** All aggregations by name. @see https://prometheus.io/docs/prometheus/latest/querying/operators/#aggregation-operators */
export const AGGREGATIONS: ReadonlyMap<string, PromAggregation> = new Map(
  [SUM, AVG, ...STATISTICS, COUNT_VALUES, ...PICK_AGGREGATIONS].map((aggregation) => [aggregation.name, aggregation]),
);
