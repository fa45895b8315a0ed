import { civilOf, instantOf, type CivilTime } from './civil.js';

/** A range of time as the user wrote it: `now-1h`, `now/d`, or milliseconds since 1970. */
export interface RangeText {
  readonly from: string;
  readonly to: string;
}

/** A range of time, in milliseconds since 1970; `toMs` is the later one. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Ranges that people choose most, by their text after `now-`. */
export const QUICK_RANGES = ['5m', '15m', '1h', '3h', '6h', '12h', '24h', '2d', '7d', '30d', '90d'] as const;
/** Without a choice. */
export const DEFAULT_RANGE: RangeText = { from: 'now-1h', to: 'now' };

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};
const LATEST_MS = 8_640_000_000_000_000;

/** Returns the bounds of a range now; undefined if a text is no time, or the range is empty. */
export function resolveRange({ from, to }: RangeText, nowMs: number, zone: string): TimeRange | undefined {
  const fromMs = parseInstant(from, nowMs, zone, 'start');
  const toMs = parseInstant(to, nowMs, zone, 'end');
  return fromMs === undefined || toMs === undefined || fromMs >= toMs ? undefined : { fromMs, toMs };
}

/**
 * Reads a time: `now`, `now-1h30m`, `now/d`, a date with or without a time of day (`2026-11-21 17:26`, ISO 8601 with a
 * zone), or an integer of seconds, milliseconds, microseconds or nanoseconds since 1970, by its number of digits.
 *
 * @param edge the side of the day, hour .. that `/d`, `/h` .. rounds to.
 * @returns milliseconds since 1970; undefined if it is no time.
 */
export function parseInstant(text: string, nowMs: number, zone: string, edge: 'start' | 'end'): number | undefined {
  const trimmed = text.trim();
  if (trimmed.startsWith('now')) return relative(trimmed, nowMs, zone, edge);
  const ms = /^-?\d+$/.test(trimmed) ? epochMs(trimmed) : dateMs(trimmed, zone);
  return ms !== undefined && Math.abs(ms) <= LATEST_MS ? ms : undefined;
}

/** Returns a range around the middle of another one, `factor` times as long. */
export function zoomed({ fromMs, toMs }: TimeRange, factor: number): TimeRange {
  const middle = (fromMs + toMs) / 2;
  const half = ((toMs - fromMs) / 2) * factor;
  return { fromMs: Math.round(middle - half), toMs: Math.round(middle + half) };
}

/** Returns a range that begins later, or earlier, by a share of its length. */
export function moved({ fromMs, toMs }: TimeRange, share: number): TimeRange {
  const by = Math.round((toMs - fromMs) * share);
  return { fromMs: fromMs + by, toMs: toMs + by };
}

const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400];
const POINTS_MAX = 11_000;

/** Returns a step in seconds that makes at most one point a pixel of a chart, and no more than the server computes. */
export function autoStepSeconds({ fromMs, toMs }: TimeRange, widthPx: number): number {
  const seconds = (toMs - fromMs) / 1000;
  const least = seconds / Math.max(1, Math.min(widthPx, POINTS_MAX));
  return STEPS_S.find((step) => step >= least) ?? Math.ceil(least / 86_400) * 86_400;
}

/** Reads a step: `30`, `30s`, `1m30s`. @returns seconds; undefined if it is none. */
export function parseStepSeconds(text: string): number | undefined {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) > 0 ? Number(text) : undefined;
  const ms = lengthMs(text);
  return ms === undefined || ms === 0 ? undefined : ms / 1000;
}

function relative(text: string, nowMs: number, zone: string, edge: 'start' | 'end'): number | undefined {
  const match = /^now(?:([+-])((?:\d+[smhdwMy])+))?(?:\/([smhdwMy]))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign, length, unit] = match;
  const shifted = length === undefined ? nowMs : shift(nowMs, length, sign === '-' ? -1 : 1, zone);
  return unit === undefined ? shifted : rounded(shifted, unit, zone, edge);
}

/** Adds a length; months and years by the calendar. */
function shift(ms: number, length: string, sign: number, zone: string): number {
  let result = ms;
  for (const [, digits, unit] of length.matchAll(/(\d+)([smhdwMy])/g)) {
    const count = Number(digits) * sign;
    if (unit === 'M' || unit === 'y') result = shiftMonths(result, unit === 'M' ? count : count * 12, zone);
    else result += count * UNIT_MS[unit];
  }
  return result;
}

function shiftMonths(ms: number, months: number, zone: string): number {
  const civil = civilOf(ms, zone);
  const total = civil.year * 12 + civil.month - 1 + months;
  const [year, month] = [Math.floor(total / 12), (((total % 12) + 12) % 12) + 1];
  const day = Math.min(civil.day, new Date(Date.UTC(2000 + (((year % 400) + 400) % 400), month, 0)).getUTCDate());
  return instantOf({ ...civil, year, month, day }, zone);
}

function rounded(ms: number, unit: string, zone: string, edge: 'start' | 'end'): number {
  const civil = civilOf(ms, zone);
  const start = { ...civil, ...startOf(unit), millisecond: 0 };
  if (unit === 'w') start.day -= (new Date(Date.UTC(civil.year, civil.month - 1, civil.day)).getUTCDay() + 6) % 7;
  if (edge === 'start') return instantOf(start, zone);
  const next = { ...start, ...nextOf(unit, start) };
  return instantOf(next, zone) - 1;
}

function startOf(unit: string): Partial<CivilTime> {
  switch (unit) {
    case 's':
      return {};
    case 'm':
      return { second: 0 };
    case 'h':
      return { minute: 0, second: 0 };
    case 'M':
      return { day: 1, hour: 0, minute: 0, second: 0 };
    case 'y':
      return { month: 1, day: 1, hour: 0, minute: 0, second: 0 };
    default:
      return { hour: 0, minute: 0, second: 0 };
  }
}

function nextOf(unit: string, { year, month, day, hour, minute, second }: CivilTime): Partial<CivilTime> {
  switch (unit) {
    case 's':
      return { second: second + 1 };
    case 'm':
      return { minute: minute + 1 };
    case 'h':
      return { hour: hour + 1 };
    case 'd':
      return { day: day + 1 };
    case 'w':
      return { day: day + 7 };
    case 'M':
      return { month: month + 1 };
    default:
      return { year: year + 1 };
  }
}

function epochMs(digits: string): number {
  const value = Number(digits);
  const count = digits.replace('-', '').length;
  if (count <= 11) return value * 1000;
  if (count <= 14) return value;
  return count <= 17 ? value / 1000 : value / 1_000_000;
}

function dateMs(text: string, zone: string): number | undefined {
  const match =
    /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?(Z|[+-]\d{2}:?\d{2})?$/i.exec(
      text,
    );
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0));
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 24 || minute > 59 || second > 59) return undefined;
  const millisecond = Math.floor(Number(`0.${match[7] ?? '0'}`) * 1000);
  const civil = { year, month, day, hour, minute, second, millisecond };
  const offset = match[8];
  if (offset === undefined) return instantOf(civil, zone);
  const utc = instantOf(civil, 'UTC');
  if (/z/i.test(offset)) return utc;
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(-2));
  return utc - (offset.startsWith('-') ? -1 : 1) * minutes * UNIT_MS['m'];
}

function lengthMs(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|[smhdw]))+$/.test(text)) return undefined;
  let sum = 0;
  for (const [, digits, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdw])/g)) {
    sum += Number(digits) * (unit === 'ms' ? 1 : UNIT_MS[unit]);
  }
  return sum;
}
