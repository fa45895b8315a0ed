import { AlmanacError } from '#shared/errors/almanac-error';

import { arrowFormat } from './arrow.js';
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

/**
 * Returns the format of a name, in any case; the default one if it is empty.
 *
 * @param epoch unit of timestamps in `influxdb_v1`, which other formats ignore; also after the name: `influxdb_v1:ms`.
 * @throws `invalid_arguments` for others.
 */
export function resultFormatNamed(name: string, epoch = ''): ResultFormat {
  if (name === '') return RESULT_FORMATS[0];
  const [wanted, suffix = epoch] = name.toLowerCase().split(':', 2);
  const format = RESULT_FORMATS.find(({ names }) => names.some((it) => it.toLowerCase() === wanted));
  if (format === influxFormat) return influxFormatIn(suffix);
  if (format !== undefined) return format;
  const names = RESULT_FORMATS.flatMap((candidate) => candidate.names).join(', ');
  throw new AlmanacError('invalid_arguments', `unknown format "${name.slice(0, 50)}": use one of ${names}`);
}
