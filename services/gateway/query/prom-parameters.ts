import type { Call } from '#shared/contracts/call';
import type { PromQueryRequest, PromSeriesRequest, PromText } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { ErrorCode } from '#shared/errors/codes';

import { mappedItems } from './mapped-items.js';
import type { PromForm } from './prom-form.js';
import { MAX_TIME_MS, MIN_TIME_MS, parseDuration, parseLimit, parseTime } from './prom-times.js';

/** Largest number of steps of a range query. */
const STEPS_MAX = 11_000;

/** The smallest step: samples of a series are at least a millisecond apart. */
const STEP_MS_MIN = 1;

/** Reads a parameter, and adds its name to errors. @throws `invalid_arguments`. */
export function named<T>(parameter: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw withName(parameter, error);
  }
}

/** Passes a result on, and adds the name of the parameter to errors. @param codes of errors that the parameter causes. */
export function namedResult(
  parameter: string,
  texts: AsyncIterable<PromText>,
  codes: readonly ErrorCode[] = ['invalid_syntax'],
): AsyncIterable<PromText> {
  const rethrow = (error: unknown): never => {
    throw error instanceof AlmanacError && codes.includes(error.code) ? withName(parameter, error) : error;
  };
  return mappedItems(texts, (next) => next.catch(rethrow));
}

/** Reads a time; the error has the name of the parameter twice, as in Prometheus. @throws `invalid_arguments`. */
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

/** Reads the parameter `limit`; 0 if absent. @throws `invalid_arguments`. */
export function limitParameter(form: PromForm): number {
  return named('limit', () => parseLimit(form.value('limit')));
}

/** Reads the time range of a request for series; all time by default. @throws `invalid_arguments`. */
export function windowParameters(form: PromForm): Pick<PromSeriesRequest, 'fromMs' | 'toMs'> {
  return { fromMs: timeParameter(form, 'start', MIN_TIME_MS), toMs: timeParameter(form, 'end', MAX_TIME_MS) };
}

/** Reads the times of a range query. @throws `invalid_arguments`. */
export function rangeParameters(form: PromForm): Pick<PromQueryRequest, 'startMs' | 'endMs' | 'stepMs'> {
  const startMs = named('start', () => parseTime(form.value('start')));
  const endMs = named('end', () => parseTime(form.value('end')));
  if (endMs < startMs) throw withName('end', invalid('end timestamp must not be before start time'));
  const stepMs = named('step', () => parseDuration(form.value('step')));
  if (stepMs <= 0) {
    const text = 'zero or negative query resolution step widths are not accepted. Try a positive integer';
    throw withName('step', invalid(text));
  }
  if (Math.floor((endMs - startMs) / stepMs) > STEPS_MAX) {
    const stepsMax = STEPS_MAX.toLocaleString('en-US');
    const remedy = 'Try decreasing the query resolution (?step=XX)';
    throw invalid(`exceeded maximum resolution of ${stepsMax} points per timeseries. ${remedy}`);
  }
  return { startMs, endMs, stepMs: Math.max(Math.floor(stepMs), STEP_MS_MIN) };
}

/** Reads the optional parameters of all queries. @throws `invalid_arguments`. */
export function queryOptions(form: PromForm): Pick<PromQueryRequest, 'lookbackMs' | 'stats'> {
  return { lookbackMs: lookbackOf(form), stats: form.value('stats') };
}

/** Returns the call with the timeout of the request. @throws `invalid_arguments`. */
export function withTimeout(call: Call, form: PromForm, nowMs: number): Call {
  const text = form.value('timeout');
  if (text === '') return call;
  const timeoutMs = named('timeout', () => parseDuration(text));
  return { ...call, deadlineMs: Math.min(call.deadlineMs, Math.floor(nowMs + timeoutMs)) };
}

function lookbackOf(form: PromForm): number {
  const delta = form.value('lookback_delta');
  const text = delta === '' ? form.value('lookback') : delta;
  if (text === '') return 0;
  try {
    return Math.max(0, Math.floor(parseDuration(text)));
  } catch (error) {
    throw invalid(`error parsing lookback delta duration: ${messageOf(error)}`);
  }
}

function withName(parameter: string, thrown: unknown): AlmanacError {
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
