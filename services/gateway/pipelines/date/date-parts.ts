/** Parts of a date and time, as a format has read them; -1 is unset where no part can be negative. */
export class DateParts {
  bytes: Uint8Array = new Uint8Array(0);
  at = 0;
  end = 0;

  year = NaN;
  month = -1;
  day = -1;
  dayOfYear = -1;
  isoYear = NaN;
  isoWeek = -1;
  /** Monday is 1. */
  weekday = -1;
  hour = -1;
  hour12 = -1;
  /** 0 for am, 1 for pm. */
  half = -1;
  minute = -1;
  second = -1;
  nanos = -1;
  /** Seconds since 1970. */
  unixSeconds = NaN;
  /** Seconds east of UTC. */
  offset = NaN;

  start(bytes: Uint8Array, from: number, to: number): void {
    this.bytes = bytes;
    this.at = from;
    this.end = to;
    this.year = this.isoYear = this.unixSeconds = this.offset = NaN;
    this.month = this.day = this.dayOfYear = this.isoWeek = this.weekday = -1;
    this.hour = this.hour12 = this.half = this.minute = this.second = this.nanos = -1;
  }

  /** Returns the seconds since 1970 at the local time, as if it were UTC; NaN if parts are missing or contradict. */
  localSeconds(): number {
    const days = this.#days();
    const hour = this.#hourOfDay();
    if (Number.isNaN(days) || hour < 0 || hour > 23 || this.minute < 0 || this.minute > 59) return NaN;
    if (this.second > 60 || (this.nanos >= 0 && this.second < 0)) return NaN;
    if (this.weekday > 0 && this.weekday !== weekdayOf(days)) return NaN;
    return days * 86_400 + hour * 3_600 + this.minute * 60 + Math.max(this.second, 0);
  }

  #hourOfDay(): number {
    if (this.hour12 < 0) return this.hour;
    if (this.hour12 < 1 || this.hour12 > 12 || this.half < 0) return -1;
    return (this.hour12 % 12) + 12 * this.half;
  }

  #days(): number {
    if (!Number.isNaN(this.year) && this.month > 0) {
      const isDay = this.month <= 12 && this.day >= 1 && this.day <= daysInMonth(this.year, this.month);
      return isDay ? daysOfCivil(this.year, this.month, this.day) : NaN;
    }
    if (!Number.isNaN(this.year) && this.dayOfYear > 0) {
      const days = daysOfCivil(this.year, 1, 1) + this.dayOfYear - 1;
      return days < daysOfCivil(this.year + 1, 1, 1) ? days : NaN;
    }
    if (!Number.isNaN(this.isoYear) && this.isoWeek > 0 && this.weekday > 0) {
      // The fourth of January is always in the first week.
      const fourth = daysOfCivil(this.isoYear, 1, 4);
      return fourth - weekdayOf(fourth) + 1 + (this.isoWeek - 1) * 7 + this.weekday - 1;
    }
    return NaN;
  }
}

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function daysInMonth(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && isLeap ? 29 : MONTH_DAYS[month - 1];
}

/** Returns the days from 1970-01-01 to a date of the Gregorian calendar. */
function daysOfCivil(year: number, month: number, day: number): number {
  // Years that begin in March have the leap day at their end.
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function weekdayOf(days: number): number {
  // 1970-01-01 was a Thursday.
  return ((((days + 3) % 7) + 7) % 7) + 1;
}
