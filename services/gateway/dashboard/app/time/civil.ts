/** A date and time of day on the clocks of a zone. */
export interface CivilTime {
  readonly year: number;
  /** From 1. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly millisecond: number;
}

const MINUTE_MS = 60_000;
const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns what the clocks of a zone show. @param ms since 1970. */
export function civilOf(ms: number, zone: string): CivilTime {
  const values: Record<string, number> = {};
  for (const { type, value } of formatOf(zone).formatToParts(ms)) values[type] = Number(value);
  const { year, month, day, hour, minute, second } = values as unknown as CivilTime;
  return { year, month, day, hour, minute, second, millisecond: ((ms % 1000) + 1000) % 1000 };
}

/** Returns the offset of a zone from UTC at an instant, in minutes. */
export function offsetMinutes(ms: number, zone: string): number {
  const civil = civilOf(ms, zone);
  return Math.round((utcOf(civil) - ms) / MINUTE_MS);
}

/** Returns an offset as text, such as `UTC+05:30`. */
export function offsetText(minutes: number): string {
  if (minutes === 0) return 'UTC';
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? '-' : '+'}${pad(hours)}:${pad(rest)}`;
}

/**
 * Returns the instant at which the clocks of a zone show a time, in ms since 1970. A time that the clocks skip becomes the
 * one as much later; of two instants with the same time it is the first.
 */
export function instantOf(civil: CivilTime, zone: string): number {
  const utc = utcOf(civil);
  // Offsets differ by at most a few hours around a change: the one of the day before finds the first instant.
  const before = utc - offsetMinutes(utc - 24 * 60 * MINUTE_MS, zone) * MINUTE_MS;
  if (utcOf(civilOf(before, zone)) === utc) return before;
  const after = utc - offsetMinutes(utc + 24 * 60 * MINUTE_MS, zone) * MINUTE_MS;
  return utcOf(civilOf(after, zone)) === utc ? after : before;
}

/** Returns a time as `2026-11-21 17:26:59.123`, with as many digits of the second as `fractionDigits`. */
export function civilText(civil: CivilTime, fractionDigits = 0): string {
  const day = `${String(civil.year).padStart(4, '0')}-${pad(civil.month)}-${pad(civil.day)}`;
  const time = `${pad(civil.hour)}:${pad(civil.minute)}:${pad(civil.second)}`;
  const fraction =
    fractionDigits === 0 ? '' : `.${String(civil.millisecond).padStart(3, '0').slice(0, fractionDigits)}`;
  return `${day} ${time}${fraction}`;
}

/** Returns the two digits of a number below 100. */
export function pad(value: number): string {
  return String(value).padStart(2, '0');
}

/** Milliseconds since 1970 as if the time were one of UTC. */
export function utcOf({ year, month, day, hour, minute, second, millisecond }: CivilTime): number {
  const ms = Date.UTC(2000, month - 1, day, hour, minute, second, millisecond);
  // Date.UTC takes years below 100 for those of the last century.
  return new Date(ms).setUTCFullYear(year, month - 1, day);
}

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formats.set(zone, format);
  }
  return format;
}
