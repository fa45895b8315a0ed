import { AlmanacError } from '#shared/errors/almanac-error';

import { DateParts } from './date/date-parts.js';
import { compileDateFormat, readDate } from './date/date-format.js';
import { fractionText, Timestamp } from './values/timestamp.js';

const FORMATS = ['%Y-%m-%d %H:%M:%S%.f', '%Y-%m-%d %H:%M:%S%.f%#z', '%Y-%m-%dT%H:%M:%S%.f%#z'].flatMap((format) => {
  return compileDateFormat(format) ?? [];
});

/** Returns the text of a version: its instant in UTC, such as `2024-06-27 12:02:34.257312110`. */
export function pipelineVersionText(version: bigint): string {
  const time = Timestamp.ofNs(version);
  const seconds = new Timestamp(time.seconds, 0).text().slice(0, -1).replace('T', ' ');
  return seconds + fractionText(time.nanos);
}

/** Parses the text of a version. @throws `invalid_arguments`. */
export function parseVersion(text: string): bigint {
  const parts = new DateParts();
  const bytes = Buffer.from(text);
  for (const format of FORMATS) {
    if (!readDate(format, parts, bytes, 0, bytes.length)) continue;
    const seconds = parts.localSeconds() - (Number.isNaN(parts.offset) ? 0 : parts.offset);
    if (!Number.isNaN(seconds)) return new Timestamp(seconds, Math.max(parts.nanos, 0)).ns;
  }
  throw new AlmanacError('invalid_arguments', `Invalid pipeline version format: ${text}`);
}
