import { buildError, itemError } from '../build-error.js';
import { compileDateFormat, readDate, type DateFormat } from '../date/date-format.js';
import { DateParts } from '../date/date-parts.js';
import { isZoneName, LocalTimes } from '../date/zone-offset.js';
import type { Item } from '../item.js';
import { shortened } from '../values/value.js';
import { eachText, type FieldSlots, type ProcessorKind } from './processor.js';

const WITHOUT_ZONE = ['', '%.3f', '%.6f', '%.9f'].map((fraction) => `%Y-%m-%dT%H:%M:%S${fraction}`);
const DEFAULT_FORMATS: readonly string[] = [
  ...WITHOUT_ZONE.map((format) => `${format}%:z`),
  ...WITHOUT_ZONE.map((format) => `${format}%z`),
  '%Y-%m-%dT%H:%M:%SZ',
  ...WITHOUT_ZONE,
  '%Y-%m-%dT%H:%M:%S%.f%#z',
  '%Y-%m-%d %H:%M:%S%.f%#z',
];
const SECONDS_MAX = 8_640_000_000_000;

/** Reads dates and times by formats; the first that fits counts (spec: pipelines 3.1). */
export const date: ProcessorKind = {
  name: 'date',
  timeUnit: () => 'ns',
  build(options, slots) {
    const timezone = options.text('timezone') ?? 'UTC';
    options.text('locale');
    if (!isZoneName(timezone)) throw buildError(`Parse date timezone error ${timezone}`);
    const given = options.texts('formats') ?? DEFAULT_FORMATS;
    const formats = given.flatMap((format) => {
      const compiled = compileDateFormat(format);
      if (compiled === undefined) options.warn(`date format "${format}" has an unknown specifier: it fits no text`);
      return compiled === undefined ? [] : [compiled];
    });
    const reader = new DateReader(formats, timezone);
    return eachText('date', options, slots, (item, field) => reader.read(item, field));
  },
};

class DateReader {
  readonly #formats: readonly DateFormat[];
  readonly #zone: LocalTimes | undefined;
  readonly #parts = new DateParts();

  constructor(formats: readonly DateFormat[], timezone: string) {
    this.#formats = formats;
    this.#zone = timezone === 'UTC' ? undefined : new LocalTimes(timezone);
  }

  read(item: Item, { from, to }: FieldSlots): void {
    const bytes = item.toBytes(from);
    const [start, end] = [item.low[from], item.high[from]];
    for (const format of this.#formats) {
      const parts = this.#parts;
      if (!readDate(format, parts, bytes, start, end)) continue;
      const seconds = this.#utcSeconds(parts);
      if (!(Math.abs(seconds) <= SECONDS_MAX)) continue;
      item.setTimestamp(to, seconds, Math.max(parts.nanos, 0));
      return;
    }
    throw itemError(`Processor date: failed to parse ${shortened(item.text(from))}`);
  }

  #utcSeconds(parts: DateParts): number {
    if (!Number.isNaN(parts.unixSeconds)) return parts.unixSeconds;
    const local = parts.localSeconds();
    if (!Number.isNaN(parts.offset)) return local - parts.offset;
    return this.#zone === undefined || Number.isNaN(local) ? local : this.#zone.toUtc(local);
  }
}
