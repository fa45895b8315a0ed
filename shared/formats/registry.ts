import { AlmanacError } from '#shared/errors/almanac-error';

import type { ResultFormat } from './format.js';
import { jsonFormat } from './json.js';

/** All result formats; the first one is the default. */
const RESULT_FORMATS: readonly [ResultFormat, ...ResultFormat[]] = [jsonFormat];

/** Returns the format of a name, in any case; the default one if it is empty. @throws `invalid_arguments` for others. */
export function resultFormatNamed(name: string): ResultFormat {
  if (name === '') return RESULT_FORMATS[0];
  const format = RESULT_FORMATS.find(({ names }) => names.includes(name.toLowerCase()));
  if (format !== undefined) return format;
  const names = RESULT_FORMATS.flatMap((candidate) => candidate.names).join(', ');
  throw new AlmanacError('invalid_arguments', `unknown format "${name.slice(0, 50)}": use one of ${names}`);
}
