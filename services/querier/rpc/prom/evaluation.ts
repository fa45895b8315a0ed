import type { Clock } from '#shared/clock/clock';
import { withSpan, type Call } from '#shared/contracts/call';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';
import type { MetricNames } from '#shared/schema/metric-table';

import type { SeriesSource } from '../../promql/runtime/env.js';
import { DIALECT, runParsed, type PromResult, type PromQuery } from '../../promql/index.js';
import { QueryLimits } from '../../promql/runtime/limits.js';
import type { VectorSelector } from '../../promql/syntax/ast.js';
import type { Dialect } from '../../promql/syntax/parse.js';
import { ParsedQueries } from '../../promql/syntax/parsed-queries.js';
import { selectorsOf } from '../../promql/syntax/selectors.js';
import { isStepwise, reachMs } from '../../promql/syntax/time-dependence.js';
import type { SampleCount, SampleSources } from '../../samples/sample-source.js';
import type { PromEngine, PromEvaluation, PromEvaluationRequest, PromSession } from '../../promql/engine.js';
import { SessionDatabases } from './databases.js';
import { RangeCache, type DatabaseStates } from './range-cache.js';

/** Configured limits of PromQL queries. */
export interface PromLimits {
  /** Default lookback of instant selectors. */
  readonly lookbackMs: number;
  /** Longest time of a query; a request may set an earlier deadline. */
  readonly timeoutMs: number;
  readonly samplesMax: number;
  readonly isExperimental: boolean;
  /** Size of the cache of range query results. */
  readonly resultCacheBytes: number;
  /** Names of the columns that store metrics. */
  readonly names: MetricNames;
}

/** Dependencies of the evaluation. */
export interface EvaluationDeps {
  readonly sources: SampleSources;
  readonly clock: Clock;
  readonly promLimits: PromLimits;
}

/** Largest number of steps of a query. */
const STEPS_MAX = 11_000;
/** Smallest number of steps that is worth caching. */
const CACHED_STEPS_MIN = 8;
/** Step of subqueries without one. */
const SUBQUERY_STEP_MS = 60_000;

/** Reports whether samples from a time on have expired, so that cached results may depend on them. */
function hasExpired(states: DatabaseStates, fromMs: number): boolean {
  const tables = [...states.values()].flatMap((state) => [...state.values()]);
  return tables.some(({ oldestMs }) => oldestMs > fromMs);
}

/** Scope of an evaluation. Results of a query with its own source are not cached. */
interface EvaluationScope {
  readonly session: string;
  readonly databases: SessionDatabases;
  readonly source: SeriesSource | undefined;
  readonly call: Call;
}

/** Evaluates queries over the samples of databases, within the configured limits. */
export class Evaluation implements PromEngine {
  readonly dialect: Dialect;
  readonly stepsMax = STEPS_MAX;
  readonly names: MetricNames;
  readonly #deps: EvaluationDeps;
  readonly #ranges: RangeCache;
  readonly #parsed: ParsedQueries;

  constructor(deps: EvaluationDeps) {
    const { isExperimental, names, resultCacheBytes } = deps.promLimits;
    this.#deps = deps;
    this.#ranges = new RangeCache(resultCacheBytes);
    this.dialect = { ...DIALECT, isExperimental };
    this.names = names;
    this.#parsed = new ParsedQueries(this.dialect);
  }

  /** @param count is increased while samples are read. */
  open(
    database: string,
    call: Call,
    slot: AdmissionSlot,
    count: SampleCount = { samples: 0 },
  ): PromSession & SessionDatabases {
    const databases = new SessionDatabases({ sources: this.#deps.sources, session: database, call, slot, count });
    const evaluate: PromSession['evaluate'] = (request, source) => {
      return withSpan(call, 'evaluate PromQL', { 'db.namespace': database }, (own) =>
        this.#evaluate(request, { session: database, databases, source, call: own }),
      );
    };
    return Object.assign(databases, { evaluate });
  }

  async #evaluate(
    request: PromEvaluationRequest,
    { session, databases, source, call }: EvaluationScope,
  ): Promise<PromEvaluation> {
    const { clock, promLimits } = this.#deps;
    const { query, startMs, endMs, stepMs } = request;
    const { lookbackMs, samplesMax } = promLimits;
    // Timers do not fire during computation, so the query checks the clock itself.
    const timeoutMs = call.deadlineMs - clock.nowMs();
    const limits = new QueryLimits({ samplesMax, timeoutMs, signal: call.signal, clock });
    const promQuery = {
      query,
      startMs,
      endMs,
      stepMs,
      defaultStepMs: SUBQUERY_STEP_MS,
      stepsMax: STEPS_MAX,
      lookbackMs: request.lookbackMs > 0 ? request.lookbackMs : lookbackMs,
    };
    const result =
      source === undefined
        ? await this.#cached(session, promQuery, databases, limits)
        : await runParsed(this.#parsed.of(query), promQuery, source, limits);
    return { result, peakSamples: limits.peak };
  }

  /** Evaluates a query; uses cached steps of its range as far as they are valid. */
  async #cached(
    session: string,
    promQuery: PromQuery,
    databases: SessionDatabases,
    limits: QueryLimits,
  ): Promise<PromResult> {
    const { query, startMs, endMs, stepMs, lookbackMs } = promQuery;
    const expr = this.#parsed.of(query);
    const evaluate = (part: PromQuery): Promise<PromResult> => runParsed(expr, part, databases, limits);
    const steps = stepMs > 0 ? Math.floor((endMs - startMs) / stepMs) + 1 : 0;
    if (steps < CACHED_STEPS_MIN || steps > STEPS_MAX) return evaluate(promQuery);
    const selectors: VectorSelector[] = [];
    for (const { selector } of selectorsOf(expr)) selectors.push(selector);
    if (selectors.length === 0 || !isStepwise(expr)) return evaluate(promQuery);
    const states = await databases.states(selectors);
    if (states === undefined || hasExpired(states, startMs - reachMs(expr, lookbackMs))) return evaluate(promQuery);
    const key = JSON.stringify([session, query, stepMs, ((startMs % stepMs) + stepMs) % stepMs, lookbackMs]);
    return this.#ranges.resultOf({ key, startMs, stepMs, steps, states }, (fromMs, count) => {
      return evaluate({ ...promQuery, startMs: fromMs, endMs: fromMs + (count - 1) * stepMs });
    });
  }
}
