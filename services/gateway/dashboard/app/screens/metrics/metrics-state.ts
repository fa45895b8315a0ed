import { computed, signal } from '@preact/signals';

import { parameter, setParameters } from '../../core/route.js';
import { reloadCount } from '../../time/page-range.js';
import { filtersText, parseFilters, type LabelFilter } from './filters.js';

/** A tab of the screen. */
export type MetricsTab = 'overview' | 'labels' | 'cardinality';

/** The tabs, with their names. */
export const METRICS_TABS: Readonly<Record<MetricsTab, string>> = {
  overview: 'Charts',
  labels: 'Labels',
  cardinality: 'Cardinality',
};

/** Name of the chosen metric; empty for none. */
export const chosenMetric = computed(() => parameter('m'));
const parsedFilters = computed(() => parseFilters(parameter('f')));
/** Whether the filters in the address can be read. */
export const areFiltersValid = computed(() => parsedFilters.value !== undefined);
/** Conditions on the series of the metric. */
export const metricFilters = computed<readonly LabelFilter[]>(() => parsedFilters.value ?? []);
/** The label that splits charts; empty for none. */
export const splitBy = computed(() => parameter('by'));
/** The tab in view. */
export const metricsTab = computed<MetricsTab>(() => {
  const name = parameter('tab', 'overview');
  return Object.hasOwn(METRICS_TABS, name) ? (name as MetricsTab) : 'overview';
});

/** Number of charts that wait for values: the next ones are loaded after these. */
export const loadingCount = signal(0);
/** Counts reloads by hand: those at intervals load the charts only, not what they are chosen by. */
export const manualReloads = computed(() => (parameter('refresh', 'off') === 'off' ? reloadCount.value : 0));

/** Changes the filters; Back returns to the last ones. */
export function setFilters(changed: readonly LabelFilter[]): void {
  setParameters({ f: changed.length === 0 ? undefined : filtersText(changed) });
}

/** Chooses a metric; filters and bounds of another one do not apply to it. */
export function chooseMetric(name: string): void {
  setParameters({
    ...{ m: name, f: undefined, by: undefined, off: undefined, tab: undefined },
    ...{ unit: undefined, min: undefined, max: undefined },
  });
}
