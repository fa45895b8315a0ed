import { METRIC_NAME, type Labels } from '../../series/labels.js';

/** The metric name of a series; empty if it has none. */
export function metricName(labels: Labels | undefined): string {
  return labels?.get(METRIC_NAME) ?? '';
}
