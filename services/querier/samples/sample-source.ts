import type { Call } from '#shared/contracts/call';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';

import type { LabelMatcher } from '../series/matcher.js';
import type { SeriesSource } from '../promql/runtime/env.js';
import type { Labels } from '../series/labels.js';
import type { DatabaseState } from '../series/database-state.js';
import type { SampleSlice } from './sample-slice.js';

/** Which series are meant: those that fit all matchers of one of the sets; no set: all. */
export interface SeriesQuery {
  readonly matcherSets: readonly (readonly LabelMatcher[])[];
  /** Series that surely have no sample in `[fromMs, toMs]` may be left out. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** How often a value is there. */
export interface NamedCount {
  readonly name: string;
  readonly value: number;
}

/** Facts about the series of a database, for `/status/tsdb`. */
export interface SeriesFacts {
  readonly seriesCount: number;
  readonly labelPairCount: number;
  readonly seriesCountByMetricName: readonly NamedCount[];
  readonly labelValueCountByLabelName: readonly NamedCount[];
  readonly memoryInBytesByLabelName: readonly NamedCount[];
  readonly seriesCountByLabelValuePair: readonly NamedCount[];
}

/** A series with its samples as they are stored: ascending, no row without a sample, histograms as bytes. */
export interface StoredSeries {
  readonly labels: Labels;
  readonly slice: SampleSlice;
}

/** What a database has, as of one moment: every part of a query sees the same rows. Must be closed. */
export interface DatabaseSamples extends SeriesSource {
  /** What it has of the tables that the matchers mean. */
  state(matcherSets: readonly (readonly LabelMatcher[])[]): Promise<DatabaseState>;
  /** Ascending. */
  labelNames(query: SeriesQuery): Promise<readonly string[]>;
  /** Ascending. */
  labelValues(name: string, query: SeriesQuery): Promise<readonly string[]>;
  series(query: SeriesQuery): Promise<readonly Labels[]>;
  /**
   * Series that fit all matchers, with their samples in `(fromMs, toMs]`, in the order of their labels. They are read as
   * they are taken, so that they need not be in memory together.
   */
  stored(matchers: readonly LabelMatcher[], fromMs: number, toMs: number): AsyncIterable<StoredSeries>;
  /** @param limit entries of each list, the greatest first. */
  facts(limit: number): Promise<SeriesFacts>;
  close(): void;
}

/** Opens databases for PromQL. */
export interface SampleSources {
  /**
   * @param place of the query: other processes are waited for aside of it.
   * @throws `database_not_found`.
   */
  open(database: string, call: Call, slot: AdmissionSlot): Promise<DatabaseSamples>;
}
