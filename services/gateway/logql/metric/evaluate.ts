import { AlmanacError } from '#shared/errors/almanac-error';

import { LinearRegex } from '../linear-regex.js';
import type { Grouping, LabelReplacement, MetricQuery } from '../syntax/ast.js';
import { aggregateSeries } from './aggregate.js';
import { operate, type MetricValue } from './binary.js';
import { isAdditive, rangeSeries, type MetricRun } from './range.js';
import { emptySeries, type MetricSeries } from './series.js';
import { checkCells } from './windows.js';

/** Computes a query for numbers at each step. @throws `invalid_arguments`, `invalid_syntax`. */
export async function evaluateMetric(query: MetricQuery, context: MetricRun, reduced?: Grouping): Promise<MetricValue> {
  const { count } = context.steps;
  switch (query.kind) {
    case 'number':
      return query.value;
    case 'vector': {
      const series = emptySeries([], count);
      series.values.fill(query.value);
      series.present.fill(1);
      return [series];
    }
    case 'range_aggregation':
      return rangeSeries(query, context, reduced);
    case 'vector_aggregation': {
      const { inner, fn } = query;
      const isReducible = fn === 'sum' && inner.kind === 'range_aggregation' && isAdditive(inner.fn);
      const needed = isReducible ? (query.grouping ?? { isWithout: false, labels: [] }) : undefined;
      const value = await evaluateMetric(inner, context, needed);
      if (typeof value === 'number') throw new AlmanacError('invalid_arguments', `${fn} needs a vector, not a number`);
      checkCells(value.length, count);
      return aggregateSeries(query, value, count);
    }
    case 'binary': {
      const left = await evaluateMetric(query.left, context);
      const right = await evaluateMetric(query.right, context);
      return operate(query, left, right, count);
    }
    case 'label_replace': {
      const value = await evaluateMetric(query.inner, context);
      if (typeof value === 'number') {
        throw new AlmanacError('invalid_arguments', 'label_replace needs a vector, not a number');
      }
      return replaced(query, value);
    }
  }
}

function replaced(
  { target, replacement, source, pattern }: LabelReplacement,
  series: readonly MetricSeries[],
): MetricSeries[] {
  const regex = new LinearRegex(pattern, true);
  return series.map((one) => {
    const labels = new Map(one.labels);
    const match = regex.find(labels.get(source) ?? '');
    if (match === undefined) return one;
    const value = regex.expand(match, replacement);
    if (value === '') labels.delete(target);
    else labels.set(target, value);
    return { ...one, labels: [...labels].sort(([a], [b]) => (a < b ? -1 : 1)) };
  });
}
