import { unitOf, VALUE_UNITS, type ValueUnit } from '../../format/numbers.js';
import { nameText, selectorText, type LabelFilter } from './filters.js';

/** Type of a metric, as far as its charts depend on it. */
export type MetricKind = 'gauge' | 'counter' | 'histogram' | 'native histogram' | 'summary';

/** What is known of a metric. */
export interface MetricFacts {
  readonly name: string;
  /** As the source declared it; empty if it did not. */
  readonly type: string;
  readonly help: string;
  readonly unit: string;
}

/** A chart of a metric. */
export interface MetricChart {
  readonly title: string;
  readonly unit: ValueUnit;
  /** Each one is drawn; `name` distinguishes several. */
  readonly queries: readonly { readonly name: string; readonly query: string }[];
  /** Returns cumulative buckets, for a heatmap below the lines. */
  readonly bucketQuery?: string;
}

const QUANTILES = [0.5, 0.95, 0.99];

/** Returns how a metric is to be charted: as its source declares it, else by its name and labels. */
export function kindOfMetric(
  { name, type }: Pick<MetricFacts, 'name' | 'type'>,
  labels: readonly string[],
): MetricKind {
  if (labels.includes('le')) return 'histogram';
  if (labels.includes('quantile')) return 'summary';
  if (/_(total|count|sum)$/.test(name) || type === 'counter') return 'counter';
  return type === 'histogram' || type === 'gaugehistogram' ? 'native histogram' : 'gauge';
}

/**
 * Returns the charts of a metric.
 *
 * @param by the label that splits it; empty for none.
 * @param window the range of rates, such as `5m`.
 */
export function metricCharts(
  facts: MetricFacts,
  labels: readonly string[],
  filters: readonly LabelFilter[],
  by: string,
  window: string,
): readonly MetricChart[] {
  const { name } = facts;
  const selector = selectorText(name, filters);
  const rate = `rate(${selector}[${window}])`;
  const grouped = (...more: readonly string[]): string => {
    // Fields of a table measure different things.
    const always = labels.includes('__field__') ? ['__field__'] : [];
    const all = [...new Set([...more, ...always, ...(by === '' ? [] : [by])])];
    return all.length === 0 ? '' : ` by (${all.map(nameText).join(', ')}) `;
  };
  switch (kindOfMetric(facts, labels)) {
    case 'gauge':
      return [gauge(facts, selector, grouped())];
    case 'counter':
      return [
        {
          title: `${name} per second`,
          unit: declaredUnit(facts, true),
          queries: [{ name: '', query: `sum${grouped()}(${rate})` }],
        },
      ];
    case 'summary':
      return [
        {
          title: `quantiles of ${name}`,
          unit: declaredUnit(facts, false),
          queries: [{ name: '', query: `avg${grouped('quantile')}(${selector})` }],
        },
      ];
    case 'histogram':
      return [
        {
          ...quantiles(facts, `sum${grouped('le')}(${rate})`),
          // A heatmap has one picture for all groups.
          ...(by === '' ? { bucketQuery: `sum by (le) (${rate})` } : {}),
        },
        observations(facts, `sum${grouped()}(rate(${countSelector(name, filters)}[${window}]))`),
      ];
    case 'native histogram':
      return [
        quantiles(facts, `sum${grouped()}(${rate})`),
        observations(facts, `histogram_count(sum${grouped()}(${rate}))`),
      ];
  }
}

/** Returns the window of rates for a step: rates over less than some scrapes have gaps. */
export function rateWindow(stepSeconds: number): string {
  return `${Math.max(300, Math.ceil(stepSeconds * 2))}s`;
}

function gauge(facts: MetricFacts, selector: string, by: string): MetricChart {
  // One line for each group is enough; without groups the spread shows whether an average hides something.
  const functions = by === '' ? ['avg', 'min', 'max'] : ['avg'];
  return {
    title: facts.name,
    unit: declaredUnit(facts, false),
    queries: functions.map((name) => ({ name: by === '' ? name : '', query: `${name}${by}(${selector})` })),
  };
}

function quantiles(facts: MetricFacts, buckets: string): MetricChart {
  return {
    title: `quantiles of ${facts.name.replace(/_bucket$/, '')}`,
    unit: declaredUnit(facts, false),
    queries: QUANTILES.map((q) => ({ name: `p${q * 100}`, query: `histogram_quantile(${q}, ${buckets})` })),
  };
}

function observations({ name }: MetricFacts, query: string): MetricChart {
  return {
    title: `observations of ${name.replace(/_bucket$/, '')} per second`,
    unit: 'per second',
    queries: [{ name: '', query }],
  };
}

/** The largest bucket counts all observations, with or without a separate metric of their number. */
function countSelector(name: string, filters: readonly LabelFilter[]): string {
  return selectorText(name, [...filters, { label: 'le', operator: '=', value: '+Inf' }]);
}

function declaredUnit({ name, unit }: MetricFacts, isRate: boolean): ValueUnit {
  const declared = VALUE_UNITS.find((known) => known === unit);
  if (declared === 'bytes' || declared === 'seconds') return unitOf(`x_${declared}`, isRate);
  return declared ?? unitOf(name, isRate);
}
