import type { Clock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';
import type { MetricNames } from '#shared/schema/metric-table';

import type { SeriesSource } from '../../promql/runtime/env.js';
import { DIALECT, runQuery, type PromResult, type PromQuery } from '../../promql/index.js';
import { QueryLimits } from '../../promql/runtime/limits.js';
import { parseQuery, type Dialect } from '../../promql/syntax/parse.js';
import { selectorsOf } from '../../promql/syntax/selectors.js';
import { isStepwise, reachMs } from '../../promql/syntax/time-dependence.js';
import type { SampleSources } from '../../samples/sample-source.js';
import type { PromEngine, PromEvaluation, PromRequest, PromSession } from '../../promql/engine.js';
import { SessionDatabases } from './databases.js';
import { RangeCache, type States } from './range-cache.js';

export interface PromLimits {
  /** How far back a selector looks where the query does not say it. */
  readonly lookbackMs: number;
  /** Longest time that a query may take, whatever deadline it brings. */
  readonly timeoutMs: number;
  readonly samplesMax: number;
  readonly isExperimental: boolean;
  /** What kept answers of ranges may take. */
  readonly resultCacheBytes: number;
  /** Of the columns of `PromTable`. */
  readonly names: MetricNames;
}

export interface EvaluationDeps {
  readonly sources: SampleSources;
  readonly clock: Clock;
  readonly promLimits: PromLimits;
}

/** Most steps of a query. */
const STEPS_MAX = 11_000;
/** Ranges of fewer steps are computed faster than they are kept. */
const KEPT_STEPS_MIN = 8;
/** Step of subqueries that name none. */
const SUBQUERY_STEP_MS = 60_000;

/** Whether samples from a time on have expired: what was kept of a range that needs them is not true any more. */
function mayExpire(states: States, fromMs: number): boolean {
  const tables = [...states.values()].flatMap((state) => [...state.values()]);
  return tables.some(({ oldestMs }) => oldestMs > fromMs);
}

/** Who asks: the session's database, and what is read; what a source of its own reads is not kept. */
interface Asker {
  readonly session: string;
  readonly databases: SessionDatabases;
  readonly source: SeriesSource | undefined;
  readonly call: Call;
}

/** Evaluates queries over the samples of databases, within the limits that are configured. */
export class Evaluation implements PromEngine {
  readonly dialect: Dialect;
  readonly stepsMax = STEPS_MAX;
  readonly names: MetricNames;
  readonly #deps: EvaluationDeps;
  readonly #ranges: RangeCache;

  constructor(deps: EvaluationDeps) {
    const { isExperimental, names, resultCacheBytes } = deps.promLimits;
    this.#deps = deps;
    this.#ranges = new RangeCache(resultCacheBytes);
    this.dialect = { ...DIALECT, isExperimental };
    this.names = names;
  }

  open(database: string, call: Call, slot: AdmissionSlot): PromSession & SessionDatabases {
    const databases = new SessionDatabases({ sources: this.#deps.sources, session: database, call, slot });
    const evaluate: PromSession['evaluate'] = (question, source) => {
      return this.#evaluate(question, { session: database, databases, source, call });
    };
    return Object.assign(databases, { evaluate });
  }

  async #evaluate(question: PromRequest, { session, databases, source, call }: Asker): Promise<PromEvaluation> {
    const { clock, promLimits } = this.#deps;
    const { query, startMs, endMs, stepMs } = question;
    const { lookbackMs, samplesMax } = promLimits;
    // Timers do not fire while the query is computed: it looks at the clock itself.
    const timeoutMs = call.deadlineMs - clock.nowMs();
    const limits = new QueryLimits({ samplesMax, timeoutMs, signal: call.signal, clock });
    const asked = {
      ...{ query, startMs, endMs, stepMs, defaultStepMs: SUBQUERY_STEP_MS, stepsMax: STEPS_MAX },
      lookbackMs: question.lookbackMs > 0 ? question.lookbackMs : lookbackMs,
    };
    const answer =
      source === undefined
        ? await this.#kept(session, asked, databases, limits)
        : await runQuery(asked, source, limits, this.dialect);
    return { result: answer, peakSamples: limits.peak };
  }

  /** Answers a query with what is kept of its range, as far as that is still true. */
  async #kept(
    session: string,
    asked: PromQuery,
    databases: SessionDatabases,
    limits: QueryLimits,
  ): Promise<PromResult> {
    const { query, startMs, endMs, stepMs, lookbackMs } = asked;
    const evaluate = (part: PromQuery): Promise<PromResult> => runQuery(part, databases, limits, this.dialect);
    const steps = stepMs > 0 ? Math.floor((endMs - startMs) / stepMs) + 1 : 0;
    if (steps < KEPT_STEPS_MIN || steps > STEPS_MAX) return evaluate(asked);
    const expr = parseQuery(query, this.dialect);
    const selectors = selectorsOf(expr).map(({ selector }) => selector);
    if (selectors.length === 0 || !isStepwise(expr)) return evaluate(asked);
    const states = await databases.states(selectors);
    if (states === undefined || mayExpire(states, startMs - reachMs(expr, lookbackMs))) return evaluate(asked);
    const key = JSON.stringify([session, query, stepMs, ((startMs % stepMs) + stepMs) % stepMs, lookbackMs]);
    return this.#ranges.answer({ key, startMs, stepMs, steps, states }, (fromMs, count) => {
      return evaluate({ ...asked, startMs: fromMs, endMs: fromMs + (count - 1) * stepMs });
    });
  }
}
