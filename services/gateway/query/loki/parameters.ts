import { AlmanacError } from '#shared/errors/almanac-error';

import type { PromForm } from '../prom-form.js';
import { parseLokiDuration, parseLokiTime } from './times.js';

/** A time range in nanoseconds; the end is excluded from searches for lines. */
export interface LokiRange {
  readonly startNs: bigint;
  readonly endNs: bigint;
}

/** Parameters of a range query. */
export interface LokiRangeQuery extends LokiRange {
  readonly query: string;
  readonly stepNs: bigint;
  readonly limit: number;
  readonly isForward: boolean;
  /** Least time between two lines of the result; 0: any. */
  readonly intervalNs: bigint;
}

const LIMIT_DEFAULT = 100;
const DEFAULT_RANGE_NS = 3_600_000_000_000n;
const SECOND_NS = 1_000_000_000n;
const DEFAULT_STEPS = 250n;
const STEPS_MAX = 11_000n;

/** Reads `start`, `end` and `since`. @throws `invalid_arguments`. */
export function lokiRange(form: PromForm, nowNs: bigint): LokiRange {
  const [start, end, since] = ['start', 'end', 'since'].map((name) => form.value(name));
  const endNs = end === '' ? nowNs : named('end', () => parseLokiTime(end));
  const sinceNs = since === '' ? DEFAULT_RANGE_NS : named('since', () => parseLokiDuration(since));
  const startNs = start === '' ? (endNs < nowNs ? endNs : nowNs) - sinceNs : named('start', () => parseLokiTime(start));
  if (endNs < startNs) throw invalid('end timestamp must not be before or equal to start time');
  return { startNs, endNs };
}

/** Reads the parameters of `query_range`. @throws `invalid_arguments`. */
export function lokiRangeQuery(form: PromForm, nowNs: bigint, entriesMax: number): LokiRangeQuery {
  const range = lokiRange(form, nowNs);
  const step = form.value('step');
  const span = range.endNs - range.startNs;
  const seconds = (span + DEFAULT_STEPS * SECOND_NS - 1n) / (DEFAULT_STEPS * SECOND_NS);
  const stepNs = step === '' ? (seconds < 1n ? 1n : seconds) * SECOND_NS : named('step', () => parseLokiDuration(step));
  if (stepNs <= 0n) {
    throw invalid('zero or negative query resolution step widths are not accepted. Try a positive integer');
  }
  const interval = form.value('interval');
  const intervalNs = interval === '' ? 0n : named('interval', () => parseLokiDuration(interval));
  if (intervalNs < 0n) throw invalid('interval must be >= 0');
  return {
    ...range,
    query: requiredQuery(form),
    stepNs,
    intervalNs,
    limit: lineLimit(form, entriesMax),
    isForward: isForward(form),
  };
}

/** Returns the number of steps. @throws `invalid_arguments` if it is too large. */
export function lokiStepCount({ startNs, endNs, stepNs }: LokiRangeQuery): number {
  const count = (endNs - startNs) / stepNs;
  if (count <= STEPS_MAX) return Number(count) + 1;
  throw invalid(
    'exceeded maximum resolution of 11,000 points per time series. Try increasing the value of the step parameter',
  );
}

/** Returns `query`. @throws `invalid_arguments` if there is none. */
export function requiredQuery(form: PromForm): string {
  const query = form.value('query');
  if (query.trim() === '') throw invalid('parse error : syntax error: unexpected $end');
  return query;
}

/** Returns the largest number of lines. @throws `invalid_arguments`. */
export function lineLimit(form: PromForm, entriesMax: number): number {
  const limit = wholeParameter(form, 'limit', LIMIT_DEFAULT);
  if (limit > entriesMax) {
    throw invalid(
      `max entries limit per query exceeded, limit > max_entries_limit_per_query (${limit} > ${entriesMax})`,
    );
  }
  return limit;
}

/** Returns a whole number that is not negative. @throws `invalid_arguments`. */
export function wholeParameter(form: PromForm, name: string, fallback: number): number {
  const text = form.value(name);
  if (text === '') return fallback;
  if (!/^\d{1,9}$/.test(text)) {
    throw invalid(`parameter '${name}' must be a whole number below 10^9, not "${text.slice(0, 50)}"`);
  }
  return Number(text);
}

/** Whether lines are in the order of their times, oldest first. @throws `invalid_arguments`. */
export function isForward(form: PromForm): boolean {
  const text = form.value('direction').toLowerCase();
  if (text === 'forward') return true;
  if (text === '' || text === 'backward') return false;
  throw invalid(`invalid direction '${text.slice(0, 50)}': use forward or backward`);
}

/** Returns `time`, or now. @throws `invalid_arguments`. */
export function instantTime(form: PromForm, nowNs: bigint): bigint {
  const text = form.value('time');
  return text === '' ? nowNs : named('time', () => parseLokiTime(text));
}

function named(name: string, parse: () => bigint): bigint {
  try {
    return parse();
  } catch (thrown) {
    const error = AlmanacError.from(thrown);
    throw new AlmanacError('invalid_arguments', `could not parse '${name}' parameter: ${error.publicMessage}`);
  }
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}
