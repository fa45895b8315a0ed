import { parseZone, type Zone } from '#shared/time/zone';

const DAY_S = 86_400;
/** Offsets change at whole quarters of an hour. */
const QUARTER_S = 900;
const CACHE_MAX = 10_000;
const NAME = /^[A-Z][A-Za-z0-9+_-]+(\/[A-Za-z0-9+_-]+)*$/;

/** Converts local times of a zone to UTC. */
export class LocalTimes {
  readonly #zone: Zone;
  /** Offsets by quarter of an hour: the platform takes 3 us for each. */
  readonly #offsets = new Map<number, number>();

  /** @throws `invalid_arguments` if there is no zone of that name. */
  constructor(name: string) {
    this.#zone = parseZone(name);
  }

  /** Returns the seconds since 1970 at a local time, given as if it were UTC; NaN if the zone skips or repeats it. */
  toUtc(local: number): number {
    // Offsets are between -12 and +14 hours, and do not change twice within two days.
    const before = local - this.offsetAt(local - DAY_S);
    const after = local - this.offsetAt(local + DAY_S);
    const isBefore = before + this.offsetAt(before) === local;
    if (before === after) return isBefore ? before : NaN;
    const isAfter = after + this.offsetAt(after) === local;
    if (isBefore === isAfter) return NaN;
    return isBefore ? before : after;
  }

  /** Returns the seconds east of UTC at an instant. */
  offsetAt(utc: number): number {
    const quarter = Math.floor(utc / QUARTER_S);
    let offset = this.#offsets.get(quarter);
    if (offset === undefined) {
      offset = this.#zone.offsetMsAt(quarter * QUARTER_S * 1000) / 1000;
      if (this.#offsets.size >= CACHE_MAX) this.#offsets.clear();
      this.#offsets.set(quarter, offset);
    }
    return offset;
  }
}

/** Whether a text is the name of a zone in the tz database, in its letter case. */
export function isZoneName(name: string): boolean {
  if (name === 'UTC') return true;
  if (!NAME.test(name)) return false;
  let canonical: string;
  try {
    canonical = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return false;
  }
  // The platform accepts names in any letter case, and returns another name for old ones.
  return canonical === name || canonical.toLowerCase() !== name.toLowerCase();
}
