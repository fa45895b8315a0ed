const DAY_SECONDS = 86_400;
/** The time that Go uses for NaN and infinities. */
const NO_TIME_SECONDS = -(2n ** 63n);

/** A date in UTC. */
export interface Calendar {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  /** 1 to 31. */
  readonly day: number;
  readonly dayOfYear: number;
  /** 0 is Sunday. */
  readonly weekday: number;
  readonly hour: number;
  readonly minute: number;
}

/** Largest absolute time, in seconds, for which arithmetic of doubles is exact. */
const PLAIN_SECONDS_MAX = 2 ** 50;

/** Converts times to dates; fast for consecutive times on one day. */
export class Dates {
  #days = NaN;
  #date: Omit<Calendar, 'hour' | 'minute'> | undefined;

  /** Returns the date of a time in seconds, as Go computes it, also beyond the range of `Date`. */
  of(value: number): Calendar {
    // Also false for NaN.
    if (!(Math.abs(value) < PLAIN_SECONDS_MAX)) return calendarOf(value);
    const seconds = Math.trunc(value);
    const days = Math.floor(seconds / DAY_SECONDS);
    const inDay = seconds - days * DAY_SECONDS;
    if (this.#date === undefined || days !== this.#days) this.#date = dateOf(BigInt(days));
    this.#days = days;
    const { year, month, day, dayOfYear, weekday } = this.#date;
    const [hour, minute] = [Math.floor(inDay / 3600), Math.floor((inDay % 3600) / 60)];
    return { year, month, day, dayOfYear, weekday, hour, minute };
  }
}

/** Returns the date of a time of any size. */
function calendarOf(value: number): Calendar {
  const isTime = Number.isFinite(value) && Math.abs(value) < 2 ** 63;
  const seconds = isTime ? BigInt(Math.trunc(value)) : NO_TIME_SECONDS;
  const perDay = BigInt(DAY_SECONDS);
  let days = seconds / perDay;
  let rest = seconds % perDay;
  if (rest < 0n) {
    rest += perDay;
    days -= 1n;
  }
  const inDay = Number(rest);
  return { ...dateOf(days), hour: Math.floor(inDay / 3600), minute: Math.floor((inDay % 3600) / 60) };
}

/** Formats a time in whole seconds as Go does by RFC 3339; years may have any number of digits. */
export function rfc3339(seconds: number): string {
  const { year, month, day, hour, minute } = calendarOf(seconds);
  const second = ((seconds % 60) + 60) % 60;
  const [date, time] = [[month, day].map(twoDigits), [hour, minute, second].map(twoDigits)];
  const years = String(Math.abs(year)).padStart(4, '0');
  return `${year < 0 ? '-' : ''}${years}-${date.join('-')}T${time.join(':')}Z`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

/** Returns the date of a number of days since 1970-01-01. @see Hinnant, "chrono-compatible low-level date algorithms", civil_from_days */
function dateOf(daysSinceEpoch: bigint): Omit<Calendar, 'hour' | 'minute'> {
  // Years start in March here, so that a leap day is the last day.
  const days = daysSinceEpoch + 719_468n;
  const era = (days >= 0n ? days : days - 146_096n) / 146_097n;
  const dayOfEra = Number(days - era * 146_097n);
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shifted = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shifted + 2) / 5) + 1;
  const month = shifted < 10 ? shifted + 3 : shifted - 9;
  const year = Number(era * 400n) + yearOfEra + (month <= 2 ? 1 : 0);
  const weekday = Number((((daysSinceEpoch + 4n) % 7n) + 7n) % 7n);
  return { year, month, day, dayOfYear: dayOfYearOf(year, month, day), weekday };
}

/** Returns the number of days of a month, 1 to 12. */
export function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeap(year) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

function dayOfYearOf(year: number, month: number, day: number): number {
  let days = day;
  for (let before = 1; before < month; before++) days += daysInMonth(year, before);
  return days;
}
