import type { TimeUnit } from '#shared/schema/data-type';

/** Counts of each unit in a second. */
export const PER_SECOND: Readonly<Record<TimeUnit, number>> = { s: 1, ms: 1e3, us: 1e6, ns: 1e9 };

/** Long names of the units. */
export const UNIT_NAMES: Readonly<Record<TimeUnit, string>> = {
  s: 'second',
  ms: 'millisecond',
  us: 'microsecond',
  ns: 'nanosecond',
};

const UNITS: Readonly<Record<string, TimeUnit>> = {
  s: 's',
  sec: 's',
  second: 's',
  ms: 'ms',
  milli: 'ms',
  millisecond: 'ms',
  us: 'us',
  micro: 'us',
  microsecond: 'us',
  ns: 'ns',
  nano: 'ns',
  nanosecond: 'ns',
};

/** All names of units. */
export const UNIT_WORDS: readonly string[] = Object.keys(UNITS);

/** Returns the unit of a name; undefined if there is none. */
export function timeUnit(name: string): TimeUnit | undefined {
  return Object.hasOwn(UNITS, name) ? UNITS[name] : undefined;
}
