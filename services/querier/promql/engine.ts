import type { Call } from '#shared/contracts/call';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';
import type { MetricNames } from '#shared/schema/metric-table';

import type { LabelMatcher } from '../series/matcher.js';
import type { PromResult } from './index.js';
import type { SeriesSource } from './runtime/env.js';
import type { Dialect } from './syntax/parse.js';

/** A PromQL query with its evaluation times, as requests and statements give it. */
export interface PromEvaluationRequest {
  readonly query: string;
  readonly startMs: number;
  readonly endMs: number;
  /** 0 for an instant query. */
  readonly stepMs: number;
  /** 0 for the configured lookback. */
  readonly lookbackMs: number;
}

/** The result of a request and its cost. */
export interface PromEvaluation {
  readonly result: PromResult;
  /** Largest number of samples that were in memory at once. */
  readonly peakSamples: number;
}

/** A consistent view of the databases for all queries of one statement. Must be closed. */
export interface PromSession extends SeriesSource {
  /** @param source replaces the session as the source of samples; its results are not cached. */
  evaluate(request: PromEvaluationRequest, source?: SeriesSource): Promise<PromEvaluation>;
  /** Returns the database that a selector reads. @throws `invalid_syntax` if its matchers name no single database. */
  resolveDatabase(matchers: readonly LabelMatcher[]): { readonly database: string };
  close(): void;
}

/** Evaluates PromQL over the databases of this node. */
export interface PromEngine {
  readonly dialect: Dialect;
  /** Largest number of steps of a query. */
  readonly stepsMax: number;
  /** Names of the tables and columns that store metrics. */
  readonly names: MetricNames;
  open(database: string, call: Call, slot: AdmissionSlot): PromSession;
}
