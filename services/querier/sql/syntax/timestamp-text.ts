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
  const match = TEXT.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', offset] = match;
  const localMs = dateTimeMs([year, month, day, hour, minute, second].map(Number));
  if (localMs === undefined) return undefined;
  const offsetMs = offset === undefined ? zone.offsetMsOfLocal(localMs) : offsetMsOf(offset);
  if (offsetMs === undefined) return undefined;
  return (BigInt(localMs - offsetMs) / 1000n) * SECOND_NS + BigInt(fraction.padEnd(9, '0'));
}

function dateTimeMs([year, month, day, hour, minute, second]: number[]): number | undefined {
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  return date.setUTCHours(hour, minute, second);
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
