import { AlmanacError } from '#shared/errors/almanac-error';

import type { Format } from './format.js';
import { json } from './json.js';

const FORMATS: readonly Format[] = [json];

/** The format of this name, in any case; empty means the default. @throws `invalid_arguments`, naming those there are. */
export function formatNamed(name: string): Format {
  const format = name === '' ? json : FORMATS.find((candidate) => candidate.names.includes(name.toLowerCase()));
  if (format !== undefined) return format;
  const names = FORMATS.flatMap((candidate) => candidate.names);
  throw new AlmanacError(
    'invalid_arguments',
    `unknown format "${name.slice(0, 50)}", must be one of ${names.join(', ')}`,
  );
}
