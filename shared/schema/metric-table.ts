/**
 * Tables and columns of metrics.
 *
 * All metrics of a database share one table, the physical metric table: a tag for the metric's name, one tag for each
 * label (`label-column.ts`), and a value or a native histogram.
 */

import { isExternal } from './external-table.js';
import { tagsOf, type ColumnLike, type TableLike } from './table-schema.js';

/** Option of a physical metric table; its value is `true`. */
export const PHYSICAL_METRIC_TABLE = 'physical_metric_table';
/** Option of a logical table, which shows one metric; its value is the name of the physical metric table. */
export const ON_PHYSICAL_TABLE = 'on_physical_table';
/** Tag and label that holds the metric's name. */
export const METRIC_NAME = '__name__';

/**
 * Metric number of series without a name. Any other metric has the number of the region's first series with its name: it
 * is derived from the series files and stays as long as they do.
 */
export const NO_METRIC = 0xffff_ffff;

/** Returns the tag of the metric's name; undefined if the table is not a physical metric table. */
export function metricTagOf<C extends ColumnLike>(table: TableLike<C>): C | undefined {
  if (table.options[PHYSICAL_METRIC_TABLE] !== 'true') return undefined;
  return tagsOf(table).find(({ name }) => name === METRIC_NAME);
}

type Options = Readonly<Record<string, string>>;

/**
 * Returns whether a table must refuse rows: an external one any, a metric table those of an ordinary table, because a new
 * column could collide with a label.
 */
export function isForeignTo(table: { readonly options: Options }, wanted: Options): boolean {
  if (isExternal(table)) return true;
  return table.options[PHYSICAL_METRIC_TABLE] === 'true' && wanted[PHYSICAL_METRIC_TABLE] !== 'true';
}

/** Names of the metric tables and of their columns. */
export interface MetricNames {
  /** The physical metric table that requests use by default. */
  readonly physicalTable: string;
  readonly metadataTable: string;
  readonly exemplarsTable: string;
  /** Columns of all three tables. */
  readonly timeColumn: string;
  readonly valueColumn: string;
  readonly histogramColumn: string;
  readonly startColumn: string;
}

/** Returns the names that the configuration selects: Almanac's own, or those of the product that users migrate from. */
export function metricNames(config: { readonly naming: string; readonly defaultColumnPrefix: string }): MetricNames {
  const { naming } = config;
  const prefix = config.defaultColumnPrefix === '' ? naming : config.defaultColumnPrefix;
  return {
    physicalTable: `${naming}_physical_table`,
    metadataTable: `${naming}_metric_metadata`,
    exemplarsTable: 'exemplars',
    timeColumn: `${prefix}_timestamp`,
    valueColumn: `${prefix}_value`,
    histogramColumn: `${prefix}_native_histogram`,
    startColumn: `${prefix}_start_timestamp`,
  };
}

/** Columns of the metric metadata table; the first four are tags. */
export const METADATA_COLUMNS = { metric: 'metric', type: 'type', unit: 'unit', help: 'help', seen: 'seen' } as const;
/** Columns of the exemplar table; the first is a tag. */
export const EXEMPLAR_COLUMNS = {
  metric: 'metric',
  seriesLabels: 'series_labels',
  exemplarLabels: 'exemplar_labels',
} as const;

const PLACES: Readonly<Partial<Record<string, number>>> = { tag: 0, time: 1, field: 2 };

/** Sorts the columns of a logical table: tags, time and value, each by name. */
export function metricOrder<C extends { readonly name: string; readonly kind: string }>(columns: readonly C[]): C[] {
  const place = ({ kind }: C): number => PLACES[kind] ?? 3;
  return [...columns].sort((a, b) => place(a) - place(b) || (a.name < b.name ? -1 : 1));
}
