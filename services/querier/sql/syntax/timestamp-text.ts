import { UTC, type Zone } from '#shared/time/zone';

const TEXT =
  /^\s*([+-]?\d{4,6})-(\d\d)-(\d\d)(?:(?: {1,100}|T)(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9})\d*)?)?)?\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?\s*$/i;
const SECOND_NS = 1_000_000_000n;

/**
 * Parses `2024-01-31`, `2024-01-31 08:00[:00[.123456789]]`, with `T` instead of the space and `Z` or an offset at the end.
 *
 * @param zone time zone of a text without offset.
 * @returns ns since 1970, or undefined if the text is malformed or names a day or time that does not exist.
 */
export function parseTimestampText(text: string, zone: Zone = UTC): bigint | undefined {
  const usualMs = usualTimeMs(text);
  if (usualMs !== undefined) return BigInt(usualMs) * 1_000_000n;
  const match = TEXT.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', offset] = match;
  const dayMs = dateMs(Number(year), Number(month), Number(day));
  const localMs = dayMs === undefined ? undefined : withTime(dayMs, Number(hour), Number(minute), Number(second));
  if (localMs === undefined) return undefined;
  const offsetMs = offset === undefined ? zone.offsetMsOfLocal(localMs) : offsetMsOf(offset);
  if (offsetMs === undefined) return undefined;
  const seconds = BigInt(Math.trunc((localMs - offsetMs) / 1000)) * SECOND_NS;
  return fraction === '' ? seconds : seconds + BigInt(fraction.padEnd(9, '0'));
}

/** What is fixed in `2024-01-31T08:00:00Z`, the form that programs write. */
const USUAL = '    -  -  T  :  :  Z';
const USUAL_PLACES = [4, 7, 10, 13, 16, 19];
/** All months have as many days. */
const DAYS_MIN = 28;

/** Returns the time of a text of the usual form, in ms since 1970; undefined for others, which take ten times as long. */
function usualTimeMs(text: string): number | undefined {
  if (text.length !== USUAL.length) return undefined;
  for (const place of USUAL_PLACES) if (text[place] !== USUAL[place]) return undefined;
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const [month, day] = [twoDigits(text, 5), twoDigits(text, 8)];
  const [hour, minute, second] = [twoDigits(text, 11), twoDigits(text, 14), twoDigits(text, 17)];
  const isValid = month >= 1 && month <= 12 && day >= 1 && day <= DAYS_MIN && hour < 24 && minute < 60 && second < 60;
  // Date.UTC takes years below 100 for those since 1900. A comparison with NaN is false.
  return isValid && year >= 100 ? Date.UTC(year, month - 1, day, hour, minute, second) : undefined;
}

/** Returns the number that two characters are; NaN if one of them is no digit. */
function twoDigits(text: string, at: number): number {
  const [tens, ones] = [text.charCodeAt(at) - 48, text.charCodeAt(at + 1) - 48];
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? 10 * tens + ones : NaN;
}

/** Returns the start of a day in ms since 1970; undefined if there is no such day. */
function dateMs(year: number, month: number, day: number): number | undefined {
  const date = new Date(0);
  const ms = date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? ms : undefined;
}

function withTime(dayMs: number, hour: number, minute: number, second: number): number | undefined {
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  return dayMs + ((hour * 60 + minute) * 60 + second) * 1000;
}

/** Parses `Z`, `+08`, `+0800`, `+08:00` to milliseconds. */
export function offsetMsOf(offset: string): number | undefined {
  if (/^(z|utc)$/i.test(offset)) return 0;
  const match = /^([+-])(\d{1,2})(?::?(\d\d))?$/.exec(offset);
  if (match === null) return undefined;
  const minutes = Number(match[2]) * 60 + Number(match[3] ?? 0);
  if (minutes > 14 * 60 || Number(match[3] ?? 0) > 59) return undefined;
  return (match[1] === '-' ? -minutes : minutes) * 60_000;
}
