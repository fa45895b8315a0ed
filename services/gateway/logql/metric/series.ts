/** Labels of a series, sorted by name. */
export type SeriesLabels = readonly (readonly [name: string, value: string])[];

/** Values of a series at each step. */
export interface MetricSeries {
  readonly labels: SeriesLabels;
  readonly values: Float64Array;
  /** 1 where there is a value. */
  readonly present: Uint8Array;
}

/** The steps of a query. */
export interface Steps {
  readonly startNs: bigint;
  readonly stepNs: bigint;
  readonly count: number;
}

/** Returns the key that series with equal labels have. */
export function seriesKey(labels: SeriesLabels): string {
  let key = '';
  for (const [name, value] of labels) key += `${name}\u0000${value}\u0000`;
  return key;
}

/** Returns the labels that a grouping leaves. */
export function groupedLabels(
  labels: SeriesLabels,
  grouping: { readonly isWithout: boolean; readonly labels: readonly string[] } | undefined,
): SeriesLabels {
  if (grouping === undefined) return [];
  return labels.filter(([name]) => grouping.labels.includes(name) !== grouping.isWithout);
}

/** Makes a series without values. */
export function emptySeries(labels: SeriesLabels, count: number): MetricSeries {
  return { labels, values: new Float64Array(count), present: new Uint8Array(count) };
}
