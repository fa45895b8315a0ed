import type { Call } from '#shared/contracts/call';

import type { LabelMatcher } from '../../series/matcher.js';
import type { Labels } from '../../series/labels.js';

/** What is told of a metric. */
export interface StoredMetricMetadata {
  readonly type: string;
  readonly help: string;
  readonly unit: string;
}

export interface Exemplar {
  readonly labels: Labels;
  readonly value: number;
  readonly timeMs: number;
}

export interface SeriesExemplars {
  readonly series: Labels;
  /** Ascending in time. */
  readonly exemplars: readonly Exemplar[];
}

export interface ExemplarQuery {
  readonly database: string;
  /** Series that fit all matchers of one of the sets. */
  readonly matcherSets: readonly (readonly LabelMatcher[])[];
  readonly fromMs: number;
  readonly toMs: number;
}

/** What databases keep besides samples. An unknown database has nothing. */
export interface PromExtras {
  /** By metric; several entries where sources disagree. @param metric the only one that is asked for; all if empty. */
  metadata(database: string, metric: string, call: Call): Promise<ReadonlyMap<string, readonly StoredMetricMetadata[]>>;
  exemplars(query: ExemplarQuery, call: Call): Promise<readonly SeriesExemplars[]>;
}
