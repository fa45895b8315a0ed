import {
  civilOf,
  civilText,
  instantOf,
  offsetMinutes,
  offsetText,
  pad,
  utcOf,
  type CivilTime,
} from '../../time/civil.js';

/** Ticks of an axis of time. */
export interface TimeTicks {
  /** Milliseconds since 1970, ascending. */
  readonly times: readonly number[];
  /** Neighbours differ. After a line break: the day or year, where it changes. */
  readonly texts: readonly string[];
}

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
/** Distances up to days, in milliseconds. */
const DISTANCES = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 7, 14].map((n) => n * DAY),
];
const MONTH_DISTANCES = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12_000, 24_000];
const MONTH_DAYS_MIN = 28;
/** The calendar of the browser ends a little later. */
const LIMIT_MS = 8.6e15;
/** A Monday, as weeks start on Monday. */
const MONDAY_MS = Date.UTC(1970, 0, 5);

/** Returns at most about `countMax` ticks, at times that are round on the clocks of the zone. */
export function timeTicks(fromMs: number, toMs: number, zone: string, countMax: number): TimeTicks {
  if (!(fromMs < toMs) || fromMs < -LIMIT_MS || toMs > LIMIT_MS) return { times: [], texts: [] };
  const least = (toMs - fromMs) / Math.max(1, countMax);
  const distance = DISTANCES.find((ms) => ms >= least);
  if (distance === undefined) {
    const months = MONTH_DISTANCES.find((count) => count * MONTH_DAYS_MIN * DAY >= least) ?? MONTH_DISTANCES.at(-1)!;
    const times = monthTimes(fromMs, toMs, zone, months);
    return { times, texts: times.map((ms) => monthText(civilOf(ms, zone), months)) };
  }
  const times = distance > HOUR ? civilTimes(fromMs, toMs, zone, distance) : evenTimes(fromMs, toMs, zone, distance);
  return { times, texts: textsOf(times, zone, distance) };
}

/** Offsets of zones differ by parts of an hour, but not by parts of these distances around one change. */
function evenTimes(fromMs: number, toMs: number, zone: string, distance: number): number[] {
  const offsetMs = offsetMinutes(fromMs, zone) * MINUTE;
  const times: number[] = [];
  const first = Math.ceil((fromMs + offsetMs) / distance) * distance - offsetMs;
  for (let ms = first; ms <= toMs; ms += distance) times.push(ms);
  return times;
}

/** Days have 23 or 25 hours when the clocks change: these ticks are at the same times of each day. */
function civilTimes(fromMs: number, toMs: number, zone: string, distance: number): number[] {
  const times: number[] = [];
  const origin = distance > DAY ? MONDAY_MS : 0;
  const start = utcOf(civilOf(fromMs, zone));
  let local = Math.floor((start - origin) / distance) * distance + origin;
  for (; ; local += distance) {
    const ms = instantOf(civilOf(local, 'UTC'), zone);
    if (ms > toMs) return times;
    if (ms >= fromMs && ms !== times.at(-1)) times.push(ms);
  }
}

function monthTimes(fromMs: number, toMs: number, zone: string, distance: number): number[] {
  const times: number[] = [];
  const { year, month } = civilOf(fromMs, zone);
  let months = Math.floor((year * 12 + month - 1) / distance) * distance;
  for (; ; months += distance) {
    const start = { year: Math.floor(months / 12), month: (((months % 12) + 12) % 12) + 1, ...MIDNIGHT };
    const ms = instantOf(start, zone);
    if (ms > toMs) return times;
    if (ms >= fromMs) times.push(ms);
  }
}

const MIDNIGHT = { day: 1, hour: 0, minute: 0, second: 0, millisecond: 0 };

function monthText({ year, month }: CivilTime, distance: number): string {
  return distance % 12 === 0 ? String(year) : `${year}-${pad(month)}`;
}

function textsOf(times: readonly number[], zone: string, distance: number): string[] {
  const texts: string[] = [];
  let [shownSecond, lastFirst] = ['', ''];
  for (const ms of times) {
    const civil = civilOf(ms, zone);
    const [day, clock] = civilText(civil, 3).split(' ');
    let first = distance >= DAY ? day.slice(-5) : clock.slice(0, clockLength(distance));
    const second = distance >= DAY ? day.slice(0, -6) : day;
    // The hour that clocks repeat.
    if (first === lastFirst && second === shownSecond) first += ` ${offsetText(offsetMinutes(ms, zone))}`;
    else lastFirst = first;
    texts.push(second === shownSecond ? first : `${first}\n${second}`);
    shownSecond = second;
  }
  return texts;
}

function clockLength(distance: number): number {
  if (distance < SECOND) return 'hh:mm:ss.mmm'.length;
  return distance < MINUTE ? 'hh:mm:ss'.length : 'hh:mm'.length;
}
