import type { Call } from '#shared/contracts/call';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';
import type { MetricNames } from '#shared/schema/metric-table';

import type { LabelMatcher } from '../series/matcher.js';
import type { SeriesSource } from './runtime/env.js';
import type { PromResult } from './index.js';
import type { Dialect } from './syntax/parse.js';

/** A query and its steps; `stepMs` is 0 for an instant. */
export interface PromRequest {
  readonly query: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
  /** 0: as configured. */
  readonly lookbackMs: number;
}

/** What a question was answered with. */
export interface PromEvaluation {
  readonly answer: PromResult;
  /** Most samples that were held at once. */
  readonly peakSamples: number;
}

/** One statement's view of databases: all that it evaluates sees the same rows. Must be closed. */
export interface PromSession extends SeriesSource {
  /** @param source what is read; the session itself if it is not given. */
  evaluate(question: PromRequest, source?: SeriesSource): Promise<PromEvaluation>;
  /** The database that matchers name. @throws `invalid_arguments` if they name none in particular. */
  resolveDatabase(matchers: readonly LabelMatcher[]): { readonly database: string };
  close(): void;
}

/** PromQL for statements. */
export interface PromEngine {
  readonly dialect: Dialect;
  /** Most steps of a query. */
  readonly stepsMax: number;
  /** How metrics are stored. */
  readonly names: MetricNames;
  open(database: string, call: Call, slot: AdmissionSlot): PromSession;
}
