import type { Clock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import type { PromQueryRequest, PromText, QuerierService, SqlEvent } from '#shared/contracts/gen/querier';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { MetricNames } from '#shared/schema/metric-table';

import type { QuerierMetrics } from '../metrics.js';
import { DIALECT, runQuery, type PromAnswer, type PromQuery } from '../promql/index.js';
import { Limits } from '../promql/limits.js';
import { parseQuery, type Dialect } from '../promql/parse.js';
import { prettyExpr } from '../promql/print.js';
import { isStepwise } from '../promql/stepwise.js';
import { exprTree } from '../promql/tree.js';
import type { Admission } from '../run/admission.js';
import { withDeadline } from '../run/deadline.js';
import type { MemoryWatch } from '../run/memory-watch.js';
import type { SampleSources } from '../samples/sample-source.js';
import { answerText, type AnswerStats } from './prom/answer.js';
import { Databases } from './prom/databases.js';
import { envelope, inPieces, NO_NOTES } from './prom/envelope.js';
import type { PromExtras } from './prom/extras.js';
import { RangeCache } from './prom/range-cache.js';
import { readAnswer } from './prom/read.js';
import { selectorsOf } from './prom/selectors.js';
import { seriesAnswer } from './prom/series.js';
import { matchersKey, ReadStats } from './prom/stats.js';
import { tableOf } from './prom/table.js';

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

export interface PromDeps {
  readonly sources: SampleSources;
  readonly extras: PromExtras;
  readonly catalog: Pick<Catalog, 'database' | 'databases'>;
  readonly clock: Clock;
  readonly metrics: QuerierMetrics;
  readonly admission: Admission;
  readonly memory: MemoryWatch;
  readonly promLimits: PromLimits;
}

type PromMethods = Pick<QuerierService, 'promQuery' | 'promTable' | 'promSeries' | 'promParse' | 'promRead'>;

/** Most steps of a query. */
const STEPS_MAX = 11_000;
/** Ranges of fewer steps are computed faster than they are kept. */
const KEPT_STEPS_MIN = 8;
/** Step of subqueries that name none. */
const SUBQUERY_STEP_MS = 60_000;

/** The methods of the querier that speak PromQL. */
export function prom(deps: PromDeps): PromMethods {
  const runner = new PromRunner(deps);
  return {
    promQuery: (request, call) => runner.query(request, call),
    promTable: (request, call) => runner.table(request, call),
    promSeries: (request, call) =>
      runner.during(request.database, call, async function* ({ databases, call: timed }) {
        const { catalog, extras } = deps;
        yield* inPieces(
          await seriesAnswer(request, { databases, catalog, extras, dialect: runner.dialect, call: timed }),
        );
      }),
    promRead: (request, call) => {
      const { clock, promLimits } = deps;
      return runner.during(request.database, call, ({ databases, call: timed }) =>
        readAnswer(request, { databases, samplesMax: promLimits.samplesMax, clock, call: timed }),
      );
    },
    async *promParse({ query, kind }) {
      await Promise.resolve();
      const expr = parseQuery(query, runner.dialect);
      const data = kind === 'format' ? prettyExpr(expr) : exprTree(expr);
      yield* inPieces(envelope([JSON.stringify(data)], () => NO_NOTES));
    },
  };
}

/** What one request works with. */
interface Run {
  readonly databases: Databases;
  readonly call: Call;
  readonly startedMs: number;
}

class PromRunner {
  readonly dialect: Dialect;
  readonly #deps: PromDeps;
  readonly #ranges: RangeCache;

  constructor(deps: PromDeps) {
    this.#deps = deps;
    this.#ranges = new RangeCache(deps.promLimits.resultCacheBytes);
    this.dialect = { ...DIALECT, isExperimental: deps.promLimits.isExperimental };
  }

  query(request: PromQueryRequest, call: Call): AsyncIterable<PromText> {
    const { dialect } = this;
    const queuedMs = this.#deps.clock.monotonicMs();
    const evaluate = (run: Run, stats?: ReadStats): Promise<Evaluated> => this.#evaluate(request, run, stats);
    return this.during(request.database, call, async function* (run) {
      const stats = request.stats === '' ? undefined : statsOf(request, run.databases, dialect);
      const { answer, limits, elapsedMs } = await evaluate(run, stats);
      const isPerStep = request.stats === 'all';
      const timed: AnswerStats | undefined = stats && {
        samples: stats.json(limits.peak, isPerStep),
        queuedMs: run.startedMs - queuedMs,
        elapsedMs,
        isDeprecated: request.stats !== 'true' && !isPerStep,
      };
      yield* inPieces(answerText(request, answer, { stats: timed, warnings: run.databases.warnings }));
    });
  }

  /** @throws `database_not_found` too: a table that is empty for want of its database would hide a slip. */
  table(request: PromQueryRequest, call: Call): AsyncIterable<SqlEvent> {
    const { names } = this.#deps.promLimits;
    const { dialect } = this;
    const { catalog } = this.#deps;
    const evaluate = (run: Run): Promise<Evaluated> => this.#evaluate(request, run);
    return this.during(request.database, call, async function* (run) {
      await catalog.database(request.database, run.call);
      const { answer } = await evaluate(run);
      yield* tableOf(request, answer, parseQuery(request.query, dialect), names);
    });
  }

  /** Runs work in a place among the queries, within its time. */
  async *during<T>(database: string, outer: Call, work: (run: Run) => AsyncIterable<T>): AsyncIterable<T> {
    const { admission, clock, memory, metrics, promLimits, sources } = this.#deps;
    const beganMs = clock.monotonicMs();
    const timed = withDeadline(outer, clock, promLimits.timeoutMs);
    const { call } = timed;
    const leave = memory.enter((error) => timed.end(error));
    let outcome = 'cancelled';
    try {
      yield* admission.hold(call, async function* (place) {
        const databases = new Databases({ sources, session: database, call, place });
        try {
          yield* work({ databases, call, startedMs: clock.monotonicMs() });
        } finally {
          databases.close();
        }
      });
      outcome = 'ok';
    } catch (error) {
      const known = endOf(call, error);
      outcome = known.code;
      throw known;
    } finally {
      leave();
      timed.close();
      metrics.promEnded((clock.monotonicMs() - beganMs) / 1000, outcome);
    }
  }

  async #evaluate(request: PromQueryRequest, run: Run, source?: ReadStats): Promise<Evaluated> {
    const { clock, promLimits } = this.#deps;
    const { query, startMs, endMs, stepMs } = request;
    const { lookbackMs, samplesMax } = promLimits;
    // Timers do not fire while the query is computed: it looks at the clock itself.
    const timeoutMs = run.call.deadlineMs - clock.nowMs();
    const limits = new Limits({ samplesMax, timeoutMs, signal: run.call.signal, clock });
    const asked = {
      ...{ query, startMs, endMs, stepMs, defaultStepMs: SUBQUERY_STEP_MS, stepsMax: STEPS_MAX },
      lookbackMs: request.lookbackMs > 0 ? request.lookbackMs : lookbackMs,
    };
    const answer =
      source === undefined
        ? await this.#kept(request.database, asked, run.databases, limits)
        : await runQuery(asked, source, limits, this.dialect);
    return { answer, limits, elapsedMs: clock.monotonicMs() - run.startedMs };
  }

  /** Answers a query with what is kept of its range, as far as that is still true. */
  async #kept(session: string, asked: PromQuery, databases: Databases, limits: Limits): Promise<PromAnswer> {
    const { query, startMs, endMs, stepMs, lookbackMs } = asked;
    const evaluate = (part: PromQuery): Promise<PromAnswer> => runQuery(part, databases, limits, this.dialect);
    const steps = stepMs > 0 ? Math.floor((endMs - startMs) / stepMs) + 1 : 0;
    if (steps < KEPT_STEPS_MIN || steps > STEPS_MAX) return evaluate(asked);
    const expr = parseQuery(query, this.dialect);
    const selectors = selectorsOf(expr).map(({ selector }) => selector);
    if (selectors.length === 0 || !isStepwise(expr)) return evaluate(asked);
    const states = await databases.states(selectors);
    if (states === undefined) return evaluate(asked);
    const key = JSON.stringify([session, query, stepMs, ((startMs % stepMs) + stepMs) % stepMs, lookbackMs]);
    return this.#ranges.answer({ key, startMs, stepMs, steps, states }, (fromMs, count) => {
      return evaluate({ ...asked, startMs: fromMs, endMs: fromMs + (count - 1) * stepMs });
    });
  }
}

interface Evaluated {
  readonly answer: PromAnswer;
  readonly limits: Limits;
  readonly elapsedMs: number;
}

function statsOf(request: PromQueryRequest, source: Databases, dialect: Dialect): ReadStats {
  const selectors = selectorsOf(parseQuery(request.query, dialect)).filter(({ isRange }) => isRange);
  const ranges = new Set(selectors.map(({ selector }) => matchersKey(selector.matchers)));
  return new ReadStats(source, request, ranges);
}

/** The error of a call that was ended from outside says why that was. */
function endOf({ signal }: Call, thrown: unknown): AlmanacError {
  const error = AlmanacError.from(thrown);
  const reason: unknown = signal.reason;
  return error.code === 'cancelled' && reason instanceof AlmanacError ? reason : error;
}
