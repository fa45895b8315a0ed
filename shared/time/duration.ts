import { AlmanacError } from '#shared/errors/almanac-error';

/**
 * Durations as text: `5m`, `1h 30m`, `7days`.
 *
 * Parts are a whole number and a unit, with or without spaces between them. A month is 30.44 days and a
 * year 365.25 days. The canonical form takes the largest unit first and leaves zero parts out, so that
 * `90d` prints as `2months 29days 2h 52m 48s`.
 */

const NS_PER_MS = 1_000_000n;
const NS_PER_SECOND = 1_000_000_000n;
const SECONDS = { minute: 60n, hour: 3_600n, day: 86_400n, week: 604_800n, month: 2_630_016n, year: 31_557_600n };

/** The longest duration that a signed 64-bit count of nanoseconds can hold: about 292 years. */
const LONGEST_NS = 2n ** 63n - 1n;

const UNITS: ReadonlyMap<string, bigint> = new Map([
  ...spellings(1n, ['ns', 'nsec', 'nanos', 'nanosecond', 'nanoseconds']),
  ...spellings(1_000n, ['us', 'µs', 'usec', 'micros', 'microsecond', 'microseconds']),
  ...spellings(NS_PER_MS, ['ms', 'msec', 'millis', 'millisecond', 'milliseconds']),
  ...spellings(NS_PER_SECOND, ['s', 'sec', 'secs', 'second', 'seconds']),
  ...spellings(SECONDS.minute * NS_PER_SECOND, ['m', 'min', 'mins', 'minute', 'minutes']),
  ...spellings(SECONDS.hour * NS_PER_SECOND, ['h', 'hr', 'hrs', 'hour', 'hours']),
  ...spellings(SECONDS.day * NS_PER_SECOND, ['d', 'day', 'days']),
  ...spellings(SECONDS.week * NS_PER_SECOND, ['w', 'wk', 'wks', 'week', 'weeks']),
  ...spellings(SECONDS.month * NS_PER_SECOND, ['M', 'month', 'months']),
  ...spellings(SECONDS.year * NS_PER_SECOND, ['y', 'yr', 'yrs', 'year', 'years']),
]);

const PRINTED: readonly { readonly ns: bigint; readonly one: string; readonly many: string }[] = [
  { ns: SECONDS.year * NS_PER_SECOND, one: 'year', many: 'years' },
  { ns: SECONDS.month * NS_PER_SECOND, one: 'month', many: 'months' },
  { ns: SECONDS.day * NS_PER_SECOND, one: 'day', many: 'days' },
  { ns: SECONDS.hour * NS_PER_SECOND, one: 'h', many: 'h' },
  { ns: SECONDS.minute * NS_PER_SECOND, one: 'm', many: 'm' },
  { ns: NS_PER_SECOND, one: 's', many: 's' },
  { ns: NS_PER_MS, one: 'ms', many: 'ms' },
  { ns: 1_000n, one: 'us', many: 'us' },
  { ns: 1n, one: 'ns', many: 'ns' },
];

/**
 * Nanoseconds of a duration text.
 *
 * @throws `invalid_arguments` if the text is no duration, or one longer than 292 years.
 */
export function parseDurationNs(text: string): bigint {
  const trimmed = text.trim();
  if (trimmed === '0') return 0n;
  if (trimmed === '') throw notADuration(text, 'it is empty');
  let total = 0n;
  let rest = trimmed;
  while (rest !== '') {
    const part = /^([0-9]+)\s*([A-Za-zµ]+)\s*/.exec(rest);
    if (part === null) throw notADuration(text, 'expected a whole number and a unit, as in "1h 30m"');
    const [whole, count, unit] = part;
    const unitNs = UNITS.get(unit);
    if (unitNs === undefined) {
      throw notADuration(text, `unknown unit "${unit}", expected ns, us, ms, s, m, h, d, w, M or y`);
    }
    total += BigInt(count) * unitNs;
    rest = rest.slice(whole.length);
  }
  if (total > LONGEST_NS) throw notADuration(text, 'it is longer than 292 years');
  return total;
}

/**
 * Milliseconds of a duration text.
 *
 * @throws `invalid_arguments` if the text is no duration, or not a whole number of milliseconds.
 */
export function parseDurationMs(text: string): number {
  const ns = parseDurationNs(text);
  if (ns % NS_PER_MS !== 0n) throw notADuration(text, 'it is not a whole number of milliseconds');
  return Number(ns / NS_PER_MS);
}

/** Canonical text of a duration; zero is `0s`. */
export function printDurationNs(durationNs: bigint): string {
  if (durationNs === 0n) return '0s';
  const parts: string[] = [];
  let rest = durationNs;
  for (const { ns, one, many } of PRINTED) {
    const count = rest / ns;
    if (count > 0n) parts.push(`${count.toString()}${count === 1n ? one : many}`);
    rest -= count * ns;
  }
  return parts.join(' ');
}

/** Canonical text of a whole number of milliseconds. */
export function printDurationMs(durationMs: number): string {
  return printDurationNs(BigInt(durationMs) * NS_PER_MS);
}

function spellings(ns: bigint, names: readonly string[]): [string, bigint][] {
  return names.map((name) => [name, ns]);
}

function notADuration(text: string, why: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `invalid duration "${text}": ${why}`);
}
