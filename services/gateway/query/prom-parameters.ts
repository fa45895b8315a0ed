import type { Call } from '#shared/contracts/call';
import type { PromQueryRequest, PromSeriesRequest, PromText } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { ErrorCode } from '#shared/errors/codes';

import type { PromForm } from './prom-form.js';
import { MAX_TIME_MS, MIN_TIME_MS, parseDuration, parseLimit, parseTime } from './prom-times.js';

/** Most steps of a range query. */
const STEPS_MAX = 11_000;

/** The smallest step is a millisecond: no two samples of a series are closer. */
const STEP_MS_MIN = 1;

/** Reads a parameter; what is wrong with it is said under its name. @throws `invalid_arguments`. */
export function named<T>(parameter: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw underName(parameter, error);
  }
}

/** Passes an answer on; if the parameter turns out to be wrong, that is said under its name. @param codes that say so. */
export async function* namedAnswer(
  parameter: string,
  pieces: AsyncIterable<PromText>,
  codes: readonly ErrorCode[] = ['invalid_syntax'],
): AsyncIterable<PromText> {
  try {
    yield* pieces;
  } catch (error) {
    throw error instanceof AlmanacError && codes.includes(error.code) ? underName(parameter, error) : error;
  }
}

/** A time; one that is wrong is said to be that twice, as Prometheus does. */
export function timeParameter(form: PromForm, name: string, absent: number): number {
  const text = form.value(name);
  if (text === '') return absent;
  return named(name, () => {
    try {
      return parseTime(text);
    } catch (error) {
      throw new AlmanacError('invalid_arguments', `invalid time value for '${name}': ${messageOf(error)}`);
    }
  });
}

export function limitParameter(form: PromForm): number {
  return named('limit', () => parseLimit(form.value('limit')));
}

/** The window of a question about series: all time unless it is named. */
export function windowParameters(form: PromForm): Pick<PromSeriesRequest, 'fromMs' | 'toMs'> {
  return { fromMs: timeParameter(form, 'start', MIN_TIME_MS), toMs: timeParameter(form, 'end', MAX_TIME_MS) };
}

/** What a range query asks for. @throws `invalid_arguments`. */
export function rangeParameters(form: PromForm): Pick<PromQueryRequest, 'startMs' | 'endMs' | 'stepMs'> {
  const startMs = named('start', () => parseTime(form.value('start')));
  const endMs = named('end', () => parseTime(form.value('end')));
  if (endMs < startMs) throw underName('end', invalid('end timestamp must not be before start time'));
  const stepMs = named('step', () => parseDuration(form.value('step')));
  if (stepMs <= 0) {
    const text = 'zero or negative query resolution step widths are not accepted. Try a positive integer';
    throw underName('step', invalid(text));
  }
  if (Math.floor((endMs - startMs) / stepMs) > STEPS_MAX) {
    const most = STEPS_MAX.toLocaleString('en-US');
    const cure = 'Try decreasing the query resolution (?step=XX)';
    throw invalid(`exceeded maximum resolution of ${most} points per timeseries. ${cure}`);
  }
  return { startMs, endMs, stepMs: Math.max(Math.floor(stepMs), STEP_MS_MIN) };
}

/** What all queries may say besides. @throws `invalid_arguments`. */
export function queryOptions(form: PromForm): Pick<PromQueryRequest, 'lookbackMs' | 'stats'> {
  return { lookbackMs: lookbackOf(form), stats: form.value('stats') };
}

/** The call, for as long as the request gives it. @throws `invalid_arguments`. */
export function withTimeout(call: Call, form: PromForm, nowMs: number): Call {
  const text = form.value('timeout');
  if (text === '') return call;
  const timeoutMs = named('timeout', () => parseDuration(text));
  return { ...call, deadlineMs: Math.min(call.deadlineMs, Math.floor(nowMs + timeoutMs)) };
}

function lookbackOf(form: PromForm): number {
  const ours = form.value('lookback_delta');
  const text = ours === '' ? form.value('lookback') : ours;
  if (text === '') return 0;
  try {
    return Math.max(0, Math.floor(parseDuration(text)));
  } catch (error) {
    throw invalid(`error parsing lookback delta duration: ${messageOf(error)}`);
  }
}

function underName(parameter: string, thrown: unknown): AlmanacError {
  const { code, details } = AlmanacError.from(thrown);
  return new AlmanacError(code, `invalid parameter ${JSON.stringify(parameter)}: ${messageOf(thrown)}`, {
    cause: thrown,
    details,
  });
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}

function messageOf(error: unknown): string {
  return AlmanacError.from(error).message;
}
