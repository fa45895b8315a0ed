import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import type { Call } from '#shared/contracts/call';
import type {
  PromQueryRequest,
  PromSeriesRequest,
  PromText,
  QuerierService,
  SqlEvent,
} from '#shared/contracts/gen/querier';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';
import { resultFormatNamed } from '#shared/formats/registry';

import type { QuerierMetrics } from '../metrics.js';
import { parseQuery, type Dialect } from '../promql/syntax/parse.js';
import { prettyExpr } from '../promql/syntax/print.js';
import { selectorsOf } from '../promql/syntax/selectors.js';
import { exprTree, exprTreeWithPositions } from '../promql/syntax/tree.js';
import type { Admission } from '../run/admission.js';
import { withOwnDeadline } from '../run/deadline.js';
import type { MemoryWatch } from '../run/memory-watch.js';
import type { Processes, ProcessStart } from '../run/processes.js';
import type { PromEvaluation, PromSession } from '../promql/engine.js';
import { queryResponse, type QueryStats } from './prom/query-response.js';
import type { SessionDatabases } from './prom/databases.js';
import { envelope, textChunks, NO_NOTES } from './prom/envelope.js';
import type { Evaluation, PromLimits } from './prom/evaluation.js';
import type { PromExtras } from './prom/extras.js';
import { remoteReadParts } from './prom/read.js';
import { seriesResponse } from './prom/series.js';
import { matchersKey, ReadStats } from './prom/stats.js';
import { tableOf } from './prom/table.js';
import { wholeResults } from './whole-results.js';

/** Dependencies of the PromQL methods. */
export interface PromServiceDeps {
  readonly evaluation: Evaluation;
  readonly extras: PromExtras;
  readonly catalog: Pick<Catalog, 'database' | 'databases'>;
  readonly clock: Clock;
  readonly metrics: QuerierMetrics;
  readonly admission: Admission;
  readonly memory: MemoryWatch;
  readonly processes: Processes;
  readonly promLimits: PromLimits;
}

type PromMethods = Pick<QuerierService, 'promQuery' | 'promTable' | 'promSeries' | 'promParse' | 'promRead'>;

/** Number of table blocks between yields. */
const BLOCKS_PER_YIELD = 2;

/** Returns the PromQL methods of the querier. */
export function prom(deps: PromServiceDeps): PromMethods {
  const runner = new PromRunner(deps);
  return {
    promQuery: (request, call) => runner.query(request, call),
    promTable: (request, call) => wholeResults(runner.table(request, call)),
    promSeries: (request, call) =>
      runner.during(
        { database: request.database, text: seriesText(request), kind: 'series' },
        call,
        async function* ({ databases, call: timed }) {
          const { catalog, extras } = deps;
          yield* textChunks(
            await seriesResponse(request, { databases, catalog, extras, dialect: runner.dialect, call: timed }),
          );
        },
      ),
    promRead: (request, call) => {
      const { clock, promLimits } = deps;
      const subject = { database: request.database, text: 'remote read', kind: 'remote_read' } as const;
      return runner.during(subject, call, ({ databases, call: timed }) =>
        remoteReadParts(request, { databases, samplesMax: promLimits.samplesMax, clock, call: timed }),
      );
    },
    async *promParse({ query, kind }) {
      await Promise.resolve();
      const expr = parseQuery(query, runner.dialect);
      const tree = kind === 'positions' ? exprTreeWithPositions : exprTree;
      const data = kind === 'format' ? prettyExpr(expr) : tree(expr);
      yield* textChunks(envelope([JSON.stringify(data)], () => NO_NOTES));
    },
  };
}

/** A request that is admitted. */
interface PromRun {
  readonly databases: PromSession & SessionDatabases;
  readonly call: Call;
  readonly startedMs: number;
}

class PromRunner {
  readonly dialect: Dialect;
  readonly #deps: PromServiceDeps;

  constructor(deps: PromServiceDeps) {
    this.#deps = deps;
    this.dialect = deps.evaluation.dialect;
  }

  query(request: PromQueryRequest, call: Call): AsyncIterable<PromText> {
    const { dialect } = this;
    const { clock } = this.#deps;
    const queuedMs = this.#deps.clock.monotonicMs();
    const evaluate = (run: PromRun, stats?: ReadStats): Promise<Evaluated> => this.#evaluate(request, run, stats);
    return this.during({ database: request.database, text: request.query, kind: 'promql' }, call, async (run) => {
      const stats = request.stats === '' ? undefined : statsOf(request, run.databases, dialect, clock);
      const { result, peakSamples, elapsedMs } = await evaluate(run, stats);
      const isPerStep = request.stats === 'all';
      const timed: QueryStats | undefined = stats && {
        samples: stats.json(peakSamples, isPerStep),
        queuedMs: run.startedMs - queuedMs,
        elapsedMs,
        isDeprecated: request.stats !== 'true' && !isPerStep,
      };
      const { warnings } = run.databases;
      return sliced(textChunks(queryResponse(request, result, { stats: timed, warnings })), clock);
    });
  }

  /** @throws `database_not_found` as well: an empty table would hide a misspelt database name. */
  table(request: PromQueryRequest, call: Call): AsyncIterable<SqlEvent> {
    const { names } = this.#deps.promLimits;
    const { dialect } = this;
    const { catalog, clock } = this.#deps;
    const evaluate = (run: PromRun): Promise<Evaluated> => this.#evaluate(request, run);
    return this.during(
      { database: request.database, text: request.query, kind: 'promql' },
      call,
      async function* (run) {
        await catalog.database(request.database, run.call);
        const format = resultFormatNamed(request.format ?? '');
        await format.load?.();
        const { result } = await evaluate(run);
        let blocks = 0;
        for (const event of tableOf(request, format, result, parseQuery(request.query, dialect), names)) {
          yield event;
          if (++blocks % BLOCKS_PER_YIELD === 0) await clock.yield();
        }
      },
    );
  }

  /** Runs work in an admission slot, within the time limit. */
  async *during<T>(
    subject: Pick<ProcessStart, 'database' | 'text' | 'kind'>,
    outer: Call,
    work: (run: PromRun) => AsyncIterable<T> | Promise<Iterable<T> | AsyncIterable<T>>,
  ): AsyncIterable<T> {
    const { admission, clock, evaluation, memory, metrics, processes, promLimits } = this.#deps;
    const startMs = clock.monotonicMs();
    const timed = withOwnDeadline(outer, clock, promLimits.timeoutMs);
    const { call } = timed;
    const { rights, requestId: queryId } = call;
    const { database, text, kind } = subject;
    const listed = processes.begin({ database, text, kind, rights, queryId, end: (error) => timed.end(error) });
    let outcome = 'cancelled';
    try {
      const entered = admission.enter(call);
      const { slot, leave } = entered instanceof Promise ? await entered : entered;
      // Not earlier: a query in the queue uses no memory and would be cancelled first.
      const unwatch = memory.enter((error) => timed.end(error));
      const count = { samples: 0 };
      listed.figures = () => ({ rowsScanned: count.samples });
      const databases = evaluation.open(subject.database, call, slot, count);
      try {
        const coming = work({ databases, call, startedMs: clock.monotonicMs() });
        yield* coming instanceof Promise ? await coming : coming;
      } finally {
        databases.close();
        unwatch();
        leave();
      }
      outcome = 'ok';
    } catch (error) {
      const reported = callError(call, error);
      outcome = reported.code;
      throw reported;
    } finally {
      listed.end();
      timed.close();
      metrics.promEnded((clock.monotonicMs() - startMs) / 1000, outcome);
    }
  }

  async #evaluate(request: PromQueryRequest, run: PromRun, source?: ReadStats): Promise<Evaluated> {
    const { result, peakSamples } = await run.databases.evaluate(request, source);
    return { result, peakSamples, elapsedMs: this.#deps.clock.monotonicMs() - run.startedMs };
  }
}

/** Passes chunks on, and yields to the event loop between them: formatting a long response takes long. */
function sliced(chunks: Iterable<PromText>, clock: Clock): Iterable<PromText> | AsyncIterable<PromText> {
  const rest = chunks[Symbol.iterator]();
  const [first, second] = [rest.next(), rest.next()];
  if (first.done === true) return [];
  return second.done === true ? [first.value] : inSlices([first.value, second.value], rest, clock);
}

async function* inSlices(first: readonly PromText[], rest: Iterator<PromText>, clock: Clock): AsyncIterable<PromText> {
  yield* first;
  const slices = new Slices(clock);
  for (let next = rest.next(); next.done !== true; next = rest.next()) {
    yield next.value;
    if (slices.isOver(next.value.text.length)) await slices.yield();
  }
}

interface Evaluated extends PromEvaluation {
  readonly elapsedMs: number;
}

/** Returns what a request for series is listed as. */
function seriesText({ kind, name, matches }: PromSeriesRequest): string {
  return [kind, name, ...matches].filter((part) => part !== '').join(' ');
}

function statsOf(request: PromQueryRequest, source: SessionDatabases, dialect: Dialect, clock: Clock): ReadStats {
  const selectors = selectorsOf(parseQuery(request.query, dialect)).filter(({ isRange }) => isRange);
  const ranges = new Set(selectors.map(({ selector }) => matchersKey(selector.matchers)));
  return new ReadStats({ source, clock }, request, ranges);
}

/** Returns the reason why a call was cancelled, if it was. */
function callError({ signal }: Call, thrown: unknown): AlmanacError {
  const error = AlmanacError.from(thrown);
  const reason: unknown = signal.reason;
  return error.code === 'cancelled' && reason instanceof AlmanacError ? reason : error;
}
