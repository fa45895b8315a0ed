import type { Call } from '#shared/contracts/call';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';

import type { LabelMatcher } from '../series/matcher.js';
import type { SeriesSource } from '../promql/runtime/env.js';
import type { Labels } from '../series/labels.js';
import type { DatabaseState } from '../series/database-state.js';
import type { SampleSlice } from './sample-slice.js';

/** Selects the series that match all matchers of one of the sets; all series if there is no set. */
export interface SeriesQuery {
  readonly matcherSets: readonly (readonly LabelMatcher[])[];
  /** Series without samples in `[fromMs, toMs]` may be left out. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** Number of occurrences of a value. */
export interface NamedCount {
  readonly name: string;
  readonly value: number;
}

/** Statistics about the series of a database, for `/status/tsdb`. */
export interface SeriesFacts {
  readonly seriesCount: number;
  readonly labelPairCount: number;
  readonly seriesCountByMetricName: readonly NamedCount[];
  readonly labelValueCountByLabelName: readonly NamedCount[];
  readonly memoryInBytesByLabelName: readonly NamedCount[];
  readonly seriesCountByLabelValuePair: readonly NamedCount[];
}

/** A series with its stored samples: ascending, every row has a sample, histograms encoded. */
export interface StoredSeries {
  readonly labels: Labels;
  readonly slice: SampleSlice;
}

/** A database as of one moment: all parts of a query see the same rows. Must be closed. */
export interface DatabaseSamples extends Required<SeriesSource> {
  /** Returns the state of the tables that the matchers select. */
  state(matcherSets: readonly (readonly LabelMatcher[])[]): Promise<DatabaseState>;
  /** Returns the label names of the selected series, ascending. */
  labelNames(query: SeriesQuery): Promise<readonly string[]>;
  /** Returns the values of a label in the selected series, ascending. */
  labelValues(name: string, query: SeriesQuery): Promise<readonly string[]>;
  series(query: SeriesQuery): Promise<readonly Labels[]>;
  /**
   * Returns the series that match all matchers, with their samples in `(fromMs, toMs]`, ordered by labels. Reads them
   * lazily, so that they need not fit in memory together.
   */
  stored(matchers: readonly LabelMatcher[], fromMs: number, toMs: number): AsyncIterable<StoredSeries>;
  /** @param limit largest number of entries in each list, largest counts first. */
  facts(limit: number): Promise<SeriesFacts>;
  close(): void;
}

/** What a query has read so far. */
export interface SampleCount {
  /** Samples that were decoded from segments; those in memory, which earlier queries read, are not counted. */
  samples: number;
}

/** Opens databases for PromQL. */
export interface SampleSources {
  /**
   * Opens a database for one query.
   *
   * @param slot the query's admission slot, released while waiting for other processes
   * @param count is increased while samples are read; undefined: they are not counted
   * @throws `database_not_found` when the database does not exist
   */
  open(database: string, call: Call, slot: AdmissionSlot, count?: SampleCount): Promise<DatabaseSamples>;
}
