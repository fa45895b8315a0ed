import type { Timestamp } from '../values/timestamp.js';

const MONTHS = 'January February March April May June July August September October November December'.split(' ');
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');
const COMPOSED: Readonly<Record<string, string>> = {
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  T: '%H:%M:%S',
  X: '%H:%M:%S',
  R: '%H:%M',
  v: '%e-%b-%Y',
  r: '%I:%M:%S %p',
  c: '%a %b %e %H:%M:%S %Y',
  '+': '%Y-%m-%dT%H:%M:%S%.f%:z',
};
const SPECIFIER = /%([-_0]?)(\.[369]?f|[369]f|::?z|[A-Za-z%+])/g;

type Part = (
  date: Date,
  time: Timestamp,
  offset: number,
) => string | readonly [value: number, width: number, pad: string];

const PARTS: Readonly<Record<string, Part>> = {
  Y: (date) => [date.getUTCFullYear(), 4, '0'],
  y: (date) => [date.getUTCFullYear() % 100, 2, '0'],
  m: (date) => [date.getUTCMonth() + 1, 2, '0'],
  d: (date) => [date.getUTCDate(), 2, '0'],
  e: (date) => [date.getUTCDate(), 2, ' '],
  H: (date) => [date.getUTCHours(), 2, '0'],
  k: (date) => [date.getUTCHours(), 2, ' '],
  I: (date) => [date.getUTCHours() % 12 || 12, 2, '0'],
  l: (date) => [date.getUTCHours() % 12 || 12, 2, ' '],
  M: (date) => [date.getUTCMinutes(), 2, '0'],
  S: (date) => [date.getUTCSeconds(), 2, '0'],
  j: (date) => [Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / 86_400_000) + 1, 3, '0'],
  f: (_date, { nanos }) => [nanos, 9, '0'],
  u: (date) => String(date.getUTCDay() || 7),
  w: (date) => String(date.getUTCDay()),
  b: (date) => MONTHS[date.getUTCMonth()].slice(0, 3),
  h: (date) => MONTHS[date.getUTCMonth()].slice(0, 3),
  B: (date) => MONTHS[date.getUTCMonth()],
  a: (date) => DAYS[date.getUTCDay()].slice(0, 3),
  A: (date) => DAYS[date.getUTCDay()],
  p: (date) => (date.getUTCHours() < 12 ? 'AM' : 'PM'),
  P: (date) => (date.getUTCHours() < 12 ? 'am' : 'pm'),
  s: (_date, { seconds }) => String(seconds),
  z: (_date, _time, offset) => offsetText(offset, ''),
  ':z': (_date, _time, offset) => offsetText(offset, ':'),
  '::z': (_date, _time, offset) => `${offsetText(offset, ':')}:00`,
  Z: (_date, _time, offset) => (offset === 0 ? 'UTC' : offsetText(offset, ':')),
  '%': () => '%',
  t: () => '\t',
  n: () => '\n',
};

/**
 * Prints an instant by a format of strftime; undefined if the format has an unknown specifier.
 *
 * @param offset seconds east of UTC.
 */
export function formatDate(time: Timestamp, format: string, offset: number): string | undefined {
  const date = new Date((time.seconds + offset) * 1000);
  let isKnown = true;
  const expanded = format.replace(SPECIFIER, (token, _pad, name: string) => COMPOSED[name] ?? token);
  const text = expanded.replace(SPECIFIER, (token, pad: string, name: string) => {
    if (name.endsWith('f') && name !== 'f') return fraction(time.nanos, name);
    const part = Object.hasOwn(PARTS, name) ? PARTS[name](date, time, offset) : undefined;
    if (part === undefined) {
      isKnown = false;
      return token;
    }
    if (typeof part === 'string') return part;
    const [value, width, usual] = part;
    return pad === '-' ? String(value) : String(value).padStart(width, pad === '' ? usual : pad === '_' ? ' ' : '0');
  });
  return isKnown ? text : undefined;
}

function fraction(nanos: number, name: string): string {
  const digits = String(nanos).padStart(9, '0');
  const dot = name.startsWith('.') ? '.' : '';
  const count = Number(/\d/.exec(name)?.[0] ?? 0);
  if (count > 0) return dot + digits.slice(0, count);
  return nanos === 0
    ? ''
    : dot + (digits.endsWith('000000') ? digits.slice(0, 3) : digits.endsWith('000') ? digits.slice(0, 6) : digits);
}

function offsetText(offset: number, separator: string): string {
  const minutes = Math.floor(Math.abs(offset) / 60);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}${separator}${two(minutes % 60)}`;
}
