import { AlmanacError } from '#shared/errors/almanac-error';

import { arrowFormat, arrowFormatWith } from './arrow.js';
import { countFormat } from './count.js';
import { CSV_FORMATS } from './csv.js';
import type { ResultFormat } from './format.js';
import { influxFormat, influxFormatIn } from './influx.js';
import { jsonFormat } from './json.js';
import { objectsFormat } from './objects.js';
import { tableFormat } from './table.js';

/** All result formats; the first one is the default. */
const RESULT_FORMATS: readonly [ResultFormat, ...ResultFormat[]] = [
  jsonFormat,
  influxFormat,
  ...CSV_FORMATS,
  tableFormat,
  objectsFormat,
  arrowFormat,
  countFormat,
];

/** Parameters that some formats have. */
interface FormatParameters {
  /** Unit of timestamps in `influxdb_v1`. */
  readonly epoch?: string | undefined;
  /** Compression of values in `arrow`. */
  readonly compression?: string | undefined;
}

/**
 * Returns the format of a name, in any case; the default one if it is empty. Parameters that the format does not have are
 * ignored. Its own may also follow its name: `influxdb_v1:ms`, `arrow:zstd`.
 *
 * @throws `invalid_arguments` for others.
 */
export function resultFormatNamed(name: string, { epoch = '', compression = '' }: FormatParameters = {}): ResultFormat {
  if (name === '') return RESULT_FORMATS[0];
  const [wanted, suffix] = name.toLowerCase().split(':', 2);
  const format = RESULT_FORMATS.find(({ names }) => names.some((it) => it.toLowerCase() === wanted));
  if (format === influxFormat) return influxFormatIn(suffix ?? epoch);
  if (format === arrowFormat) return arrowFormatWith(suffix ?? compression);
  if (format !== undefined) return format;
  const names = RESULT_FORMATS.flatMap((candidate) => candidate.names).join(', ');
  throw new AlmanacError('invalid_arguments', `unknown format "${name.slice(0, 50)}": use one of ${names}`);
}
