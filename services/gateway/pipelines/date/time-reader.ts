import { Timestamp } from '../values/timestamp.js';
import { compileDateFormat, readDate, type DateFormat } from './date-format.js';
import { DateParts } from './date-parts.js';
import { LocalTimes } from './zone-offset.js';

/** Reads times of fixed formats from texts. */
export class TimeReader {
  readonly #formats: readonly DateFormat[];
  readonly #zone: LocalTimes | undefined;
  readonly #parts = new DateParts();

  /**
   * @param formats tried one after the other.
   * @param timezone of texts without an offset.
   */
  constructor(formats: readonly string[], timezone = 'UTC') {
    this.#formats = formats.flatMap((format) => compileDateFormat(format) ?? []);
    this.#zone = timezone === 'UTC' ? undefined : new LocalTimes(timezone);
  }

  /** Returns the time of a text; undefined if no format fits. */
  read(text: string): Timestamp | undefined {
    const bytes = Buffer.from(text);
    for (const format of this.#formats) {
      const parts = this.#parts;
      if (!readDate(format, parts, bytes, 0, bytes.length)) continue;
      const time = new Timestamp(this.#utcSeconds(parts), Math.max(parts.nanos, 0));
      if (time.isValid) return time;
    }
    return undefined;
  }

  #utcSeconds(parts: DateParts): number {
    if (!Number.isNaN(parts.unixSeconds)) return parts.unixSeconds;
    const local = parts.localSeconds();
    if (!Number.isNaN(parts.offset)) return local - parts.offset;
    return this.#zone === undefined || Number.isNaN(local) ? local : this.#zone.toUtc(local);
  }
}

const DAY_NS = 86_400_000_000_000n;

/** Reads times of formats that lack the year, which it takes from the clock: no time is more than a day in the future. */
export class YearlessTimeReader {
  readonly #reader: TimeReader;
  readonly #nowNs: () => bigint;

  /** @param formats they begin after the year and a space. */
  constructor(formats: readonly string[], timezone: string, nowNs: () => bigint) {
    this.#reader = new TimeReader(
      formats.map((format) => `%Y ${format}`),
      timezone,
    );
    this.#nowNs = nowNs;
  }

  /** Returns the time of a text; undefined if no format fits. */
  read(text: string): Timestamp | undefined {
    const nowNs = this.#nowNs();
    const latest = Timestamp.ofNs(nowNs + DAY_NS);
    const year = Number(latest.text().slice(0, 4));
    const time = this.#reader.read(`${year} ${text}`);
    const isPast = time !== undefined && time.ns <= latest.ns;
    // The 29th of February exists only in some years.
    return isPast ? time : (this.#reader.read(`${year - 1} ${text}`) ?? time);
  }
}
