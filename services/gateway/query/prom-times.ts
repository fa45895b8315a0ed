import { AlmanacError } from '#shared/errors/almanac-error';

/**
 * Parses times, durations and limits of Prometheus's HTTP API.
 *
 * @see https://prometheus.io/docs/prometheus/latest/querying/api/#format-overview
 */

/** Before all times, in milliseconds. */
export const MIN_TIME_MS = Number.MIN_SAFE_INTEGER;
/** After all times, in milliseconds. */
export const MAX_TIME_MS = Number.MAX_SAFE_INTEGER;

/** The same two in Prometheus. */
const MIN_TIME_TEXT = '-292273086-05-16T16:47:06Z';
const MAX_TIME_TEXT = '292277025-08-18T07:12:54.999999999Z';

const FLOAT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(Z|([+-])(\d\d):(\d\d))$/;
const DURATION = /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;
const DAY_MS = 86_400_000;
const UNITS_MS = [365 * DAY_MS, 7 * DAY_MS, DAY_MS, 3_600_000, 60_000, 1000, 1];
const INT64_MAX = 2 ** 63;
/** Longest duration: 2^63 nanoseconds. */
const DURATION_MS_MAX = 9_223_372_036_854;

/**
 * Parses a time, in seconds with a fraction or as RFC 3339, to milliseconds. Times beyond the earliest and the latest,
 * up to the range of 64 bits, become those two: clients use them for all time.
 *
 * @throws `invalid_arguments`.
 */
export function parseTime(text: string): number {
  if (FLOAT.test(text) && Math.abs(Number(text)) * 1000 <= INT64_MAX) return clamped(Math.round(Number(text) * 1000));
  const timeMs = rfc3339(text);
  if (timeMs !== undefined) return timeMs;
  if (text === MIN_TIME_TEXT) return MIN_TIME_MS;
  if (text === MAX_TIME_TEXT) return MAX_TIME_MS;
  throw invalid(`cannot parse ${JSON.stringify(text)} to a valid timestamp`);
}

/** Parses a duration, in seconds or with units as in `1h30m`, to milliseconds. @throws `invalid_arguments`. */
export function parseDuration(text: string): number {
  if (FLOAT.test(text)) {
    const ms = Number(text) * 1000;
    if (Math.abs(ms) <= DURATION_MS_MAX) return ms;
    throw invalid(`cannot parse ${JSON.stringify(text)} to a valid duration. It overflows int64`);
  }
  const parts = DURATION.exec(text);
  const ms = parts === null ? NaN : UNITS_MS.reduce((sum, unit, i) => sum + Number(parts[i + 1] ?? 0) * unit, 0);
  if (text !== '' && ms <= DURATION_MS_MAX) return ms;
  throw invalid(`cannot parse ${JSON.stringify(text)} to a valid duration`);
}

/** Parses a whole number that is not negative; 0 if it is empty. @throws `invalid_arguments`. */
export function parseLimit(text: string): number {
  if (text === '') return 0;
  const shown = `strconv.Atoi: parsing ${JSON.stringify(text)}`;
  if (!/^[+-]?\d+$/.test(text)) throw invalid(`${shown}: invalid syntax`);
  const limit = Number(text);
  if (Math.abs(limit) > 2 ** 63 - 1) throw invalid(`${shown}: value out of range`);
  if (limit < 0) throw invalid('limit must be non-negative');
  // No result has more series than this.
  return Math.min(limit, 2 ** 32 - 1);
}

/** Returns a duration as Prometheus prints it: `1h30m`. */
export function compactDurationText(durationMs: number): string {
  let rest = durationMs;
  let text = '';
  for (const [unit, length] of [
    ['d', DAY_MS],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1000],
    ['ms', 1],
  ] as const) {
    const count = Math.floor(rest / length);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * length;
  }
  return text === '' ? '0s' : text;
}

function rfc3339(text: string): number | undefined {
  const parts = RFC3339.exec(text);
  if (parts === null) return undefined;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number);
  const [fraction = '', , sign, zoneHour = '0', zoneMinute = '0'] = parts.slice(7);
  const midnight = new Date(0);
  midnight.setUTCFullYear(year, month - 1, day);
  const isDate = midnight.getUTCMonth() === month - 1 && midnight.getUTCDate() === day;
  if (!isDate || hour > 23 || minute > 59 || second > 59 || Number(zoneHour) > 24 || Number(zoneMinute) > 59) {
    return undefined;
  }
  const zoneMs = (Number(zoneHour) * 60 + Number(zoneMinute)) * 60_000 * (sign === '-' ? -1 : 1);
  const ms = Number(fraction.padEnd(3, '0').slice(0, 3));
  return midnight.getTime() + ((hour * 60 + minute) * 60 + second) * 1000 + ms - zoneMs;
}

function clamped(timeMs: number): number {
  return Math.min(Math.max(timeMs, MIN_TIME_MS), MAX_TIME_MS);
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}
