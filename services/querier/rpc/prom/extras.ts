import type { Call } from '#shared/contracts/call';

import type { LabelMatcher } from '../../series/matcher.js';
import type { Labels } from '../../series/labels.js';

/** Metadata of a metric as a remote write sent it. */
export interface StoredMetricMetadata {
  readonly type: string;
  readonly help: string;
  readonly unit: string;
}

/** An exemplar of a series. */
export interface Exemplar {
  readonly labels: Labels;
  readonly value: number;
  readonly timeMs: number;
}

/** The exemplars of a series. */
export interface SeriesExemplars {
  readonly series: Labels;
  /** Ascending by time. */
  readonly exemplars: readonly Exemplar[];
}

/** Selectors and time range of exemplars. */
export interface ExemplarQuery {
  readonly database: string;
  /** Selects series that match all matchers of one of the sets. */
  readonly matcherSets: readonly (readonly LabelMatcher[])[];
  readonly fromMs: number;
  readonly toMs: number;
}

/** Metadata and exemplars of databases. An unknown database has none. */
export interface PromExtras {
  /** Returns metadata by metric; several entries if sources differ. @param metric empty for all metrics. */
  metadata(database: string, metric: string, call: Call): Promise<ReadonlyMap<string, readonly StoredMetricMetadata[]>>;
  exemplars(query: ExemplarQuery, call: Call): Promise<readonly SeriesExemplars[]>;
}
