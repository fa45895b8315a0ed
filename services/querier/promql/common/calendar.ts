/** Dates of PromQL: those of Go, also of times that JavaScript's dates do not know. */

const DAY_SECONDS = 86_400;
/** What Go's calendar makes of times that are no number. */
const NO_TIME_SECONDS = -(2n ** 63n);

/** A part of the calendar, in UTC. */
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

/** Up to so many seconds the arithmetic of numbers is exact. */
const PLAIN_SECONDS_MAX = 2 ** 50;

/** The dates of many times; most are on the same day as the one before. */
export class Dates {
  #days = NaN;
  #date: Omit<Calendar, 'hour' | 'minute'> | undefined;

  /** The date of a time in seconds, also beyond what JavaScript's dates know. */
  of(value: number): Calendar {
    // NaN is not plain either.
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

/** The same for times of any size. */
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

/** A time in whole seconds as Go writes it by RFC 3339; years may have any number of digits. */
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

/** Days since 1970-01-01 to a date. @see Hinnant, "chrono-compatible low-level date algorithms", civil_from_days */
function dateOf(daysSinceEpoch: bigint): Omit<Calendar, 'hour' | 'minute'> {
  // Years begin in March here, so that leap days are last.
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
