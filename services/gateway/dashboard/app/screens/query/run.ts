import { signal } from '@preact/signals';

import { isAbort, requestJson, RequestError, type TextPosition } from '../../core/http.js';
import { randomUuid } from '../../core/random-uuid.js';
import { retryLater } from '../../core/retry.js';
import { parameter } from '../../core/route.js';
import { queryInstant, queryRange, type PromResult } from '../../data/promql.js';
import { readSchema } from '../../data/schema.js';
import { database, runSql } from '../../data/sql.js';
import type { SqlResult } from '../../data/sql-result.js';
import { firstWord, onlyReads } from '../../data/statements.js';
import { rangeNow } from '../../time/page-range.js';
import { autoStepSeconds, parseStepSeconds, type TimeRange } from '../../time/range.js';
import { zone } from '../../time/zones.js';
import { recordRun } from './runs.js';
import type { QueryMode } from './tabs.js';
import { textOffset } from './text-offset.js';

/** A query to run: one statement of the text, or the whole text of PromQL. */
export interface QueryText {
  readonly mode: QueryMode;
  readonly text: string;
  /** Where the text begins in the editor, in UTF-16 units. */
  readonly from: number;
}

/** What a query has returned so far. */
export type QueryOutcome = {
  readonly query: QueryText;
  /** Under which the server lists it while it runs. */
  readonly queryId: string;
  readonly startedMs: number;
  /** Until the end, or until it was cancelled. */
  readonly tookMs: number;
  readonly state: 'running' | 'done' | 'failed' | 'cancelled';
  readonly error?: QueryError;
  /** Whether the result is that of the last run of the same query, until the first rows of this one. */
  readonly isStale?: boolean;
} & (
  | { readonly kind: 'none' }
  | { readonly kind: 'rows'; readonly rows: SqlResult; readonly rowCount: number }
  | { readonly kind: 'command'; readonly affectedRows: number | undefined }
  | { readonly kind: 'series'; readonly result: PromResult; readonly range: TimeRange; readonly stepSeconds: number }
);

/** Why a query failed. */
export interface QueryError {
  readonly message: string;
  readonly code: number | undefined;
  readonly queryId: string | undefined;
  /** Place in the editor, in UTF-16 units; undefined if unknown. */
  readonly place: { readonly from: number; readonly to: number } | undefined;
  /** Seconds after which a repetition may succeed. */
  readonly retryAfterSeconds: number | undefined;
  /** Whether the server could not be reached, and the query runs again when it is back. */
  readonly waitsForServer: boolean;
}

/** Outcomes of the statements of the last run, in their order. */
export const outcomes = signal<readonly QueryOutcome[]>([]);
/** Whether a query runs. */
export const isRunning = signal(false);

/** Rows that a result has at most in the page. */
export const ROWS_MAX = 1_000_000;
const CHART_PX = 1000;
/** Number of the error of a server that is not ready yet. */
const STARTING = 4008;
let running: AbortController | undefined;
let last: readonly QueryText[] = [];
let endRetry: () => void = () => undefined;

const COUNTED = /^(insert|delete|update|copy)$/;
const CHANGING_SCHEMA = /^(create|alter|drop|truncate)$/;

/** Returns whether a query changes nothing. */
export function isReadOnly({ mode, text }: Pick<QueryText, 'mode' | 'text'>): boolean {
  return mode === 'promql' || onlyReads(text);
}

/** Runs the queries of the last run again, if all only read, or `isRepeated`, which is as for `runQueries`. */
export async function runAgain(isRepeated = false): Promise<void> {
  if (isRepeated || last.every(isReadOnly)) await runQueries(last, isRepeated);
}

/**
 * Runs queries one after the other until one fails; what ran before is cancelled. If all only read, and the server is away,
 * they run again when it is back.
 *
 * @param isRepeated whether they failed before because the server was busy: they are not repeated by themselves once more.
 */
export async function runQueries(queries: readonly QueryText[], isRepeated = false): Promise<void> {
  running?.abort();
  endRetry();
  // What is run again stays until there is something new.
  const isSame = queries.length === last.length && queries.every(({ mode, text }, i) => isQuery(last[i], mode, text));
  const kept = isSame ? outcomes.peek() : [];
  last = queries;
  const own = new AbortController();
  running = own;
  isRunning.value = true;
  outcomes.value = kept.map((outcome): QueryOutcome => ({ ...outcome, isStale: true }));
  const readsOnly = queries.every(isReadOnly);
  const repetition: Repetition = { isBusyRetried: !isRepeated && (readsOnly || queries.length === 1), readsOnly };
  for (const [i, query] of queries.entries()) {
    const publish = (outcome: QueryOutcome): void => {
      if (running === own) outcomes.value = outcomes.value.toSpliced(i, 1, outcome);
    };
    const { state, error } = await runOne(query, kept[i], own.signal, (outcome) =>
      publish(withRepetition(outcome, repetition)),
    );
    if (running !== own) return;
    if (error?.waitsForServer === true && readsOnly) {
      const facts = error.code === STARTING ? { status: 503, retryAfterSeconds: error.retryAfterSeconds } : {};
      endRetry = retryLater(new RequestError(error.message, facts), 1, () => void runQueries(queries, isRepeated));
    }
    if (state !== 'done') break;
  }
  running = undefined;
  isRunning.value = false;
}

/** Which failures are followed by another run. */
interface Repetition {
  /** After the time that a busy server has named. */
  readonly isBusyRetried: boolean;
  /** A run that only reads is repeated when the server is back. */
  readonly readsOnly: boolean;
}

function withRepetition(outcome: QueryOutcome, { isBusyRetried, readsOnly }: Repetition): QueryOutcome {
  const { error } = outcome;
  if (error === undefined) return outcome;
  const waitsForServer = error.waitsForServer && readsOnly;
  const retryAfterSeconds = isBusyRetried && !waitsForServer ? error.retryAfterSeconds : undefined;
  return { ...outcome, error: { ...error, retryAfterSeconds, waitsForServer } };
}

/** Cancels what runs or waits for the server; rows that have arrived stay. The server notices that its client is gone. */
export function cancelRun(): void {
  endRetry();
  running?.abort();
}

function isQuery(query: QueryText, mode: QueryMode, text: string): boolean {
  return query.mode === mode && query.text === text;
}

async function runOne(
  query: QueryText,
  kept: QueryOutcome | undefined,
  abort: AbortSignal,
  publish: (outcome: QueryOutcome) => void,
): Promise<QueryOutcome> {
  const startMs = performance.now();
  const startedMs = Date.now();
  const { error: _, ...content } = kept ?? { kind: 'none' as const };
  const queryId = randomUuid();
  let outcome: QueryOutcome = {
    ...content,
    query,
    queryId,
    startedMs,
    tookMs: 0,
    state: 'running',
    isStale: kept !== undefined,
  };
  const update = (change: Partial<QueryOutcome>): void => {
    const isStale = outcome.isStale === true && change.kind === undefined;
    outcome = { ...outcome, ...change, isStale, tookMs: performance.now() - startMs } as QueryOutcome;
    publish(outcome);
  };
  update({});
  try {
    const options = { signal: abort, queryId };
    await (query.mode === 'sql' ? runStatement(query.text, options, update) : runPromql(query.text, options, update));
    update({ state: 'done' });
  } catch (error) {
    if (isAbort(error) || abort.aborted) update({ state: 'cancelled' });
    else update({ state: 'failed', error: queryError(error, query) });
  }
  if (outcome.state !== 'cancelled') record(outcome);
  return outcome;
}

function record(outcome: QueryOutcome): void {
  const { query, startedMs, tookMs, error } = outcome;
  const rowCount =
    outcome.kind === 'rows' ? outcome.rowCount : outcome.kind === 'series' ? outcome.result.series.length : 0;
  const { text, mode } = query;
  recordRun({ text, mode, database: database(), atMs: startedMs, tookMs, rowCount, error: error?.message ?? '' });
}

type Update = (change: Partial<QueryOutcome>) => void;

/** What ends a request, and its ID. */
interface RunOptions {
  readonly signal: AbortSignal;
  readonly queryId: string;
}

async function runStatement(text: string, options: RunOptions, update: Update): Promise<void> {
  if (COUNTED.test(firstWord(text))) {
    update({ kind: 'command', affectedRows: await affectedRows(text, options) });
    return;
  }
  // Drawing for each batch would take longer than reading it.
  let drawnMs = -Infinity;
  const rows = await runSql(text, { ...options, limit: ROWS_MAX }, (partial) => {
    const nowMs = performance.now();
    if (nowMs - drawnMs < 100 && partial.rowCount > 1000) return;
    drawnMs = nowMs;
    update({ kind: 'rows', rows: partial, rowCount: partial.rowCount });
  });
  if (rows.columns.length === 0) update({ kind: 'command', affectedRows: undefined });
  else update({ kind: 'rows', rows, rowCount: rows.rowCount });
  if (CHANGING_SCHEMA.test(firstWord(text))) void readSchema(database(), true);
}

interface CommandReply {
  readonly output: readonly { readonly affectedrows?: number }[];
}

async function affectedRows(text: string, { signal, queryId }: RunOptions): Promise<number | undefined> {
  const { output } = await requestJson<CommandReply>('v1/sql', {
    parameters: { db: database() },
    body: text,
    headers: {
      'content-type': 'application/sql',
      'x-almanac-timezone': zone.value,
      'x-almanac-query-id': queryId,
    },
    signal,
  });
  return output[0]?.affectedrows;
}

async function runPromql(text: string, options: RunOptions, update: Update): Promise<void> {
  const range = rangeNow();
  const stepSeconds = parseStepSeconds(parameter('step')) ?? autoStepSeconds(range, CHART_PX);
  const isInstant = parameter('instant') === '1';
  const result = isInstant
    ? await queryInstant(text, range.toMs, options)
    : await queryRange(text, range, stepSeconds, options);
  update({ kind: 'series', result, range, stepSeconds: isInstant ? 0 : stepSeconds });
}

function queryError(error: unknown, { text, from, mode }: QueryText): QueryError {
  if (!(error instanceof RequestError)) {
    const message = error instanceof Error ? error.message : String(error);
    return {
      message,
      code: undefined,
      queryId: undefined,
      place: undefined,
      retryAfterSeconds: undefined,
      waitsForServer: false,
    };
  }
  const { message, status, code, queryId, retryAfterSeconds } = error;
  const position = error.position ?? (mode === 'promql' ? positionIn(message) : undefined);
  const at = position === undefined ? undefined : textOffset(text, position);
  const place =
    at === undefined ? undefined : { from: from + at, to: from + Math.min(text.length, at + (position?.length ?? 1)) };
  return { message, code, queryId, retryAfterSeconds, place, waitsForServer: status === 0 || code === STARTING };
}

/** Returns the place that a message of the PromQL parser begins with: `1:5: parse error`. */
function positionIn(message: string): TextPosition | undefined {
  const match = /\b(\d+):(\d+): parse error/.exec(message);
  return match === null ? undefined : { line: Number(match[1]), column: Number(match[2]), length: 1 };
}
