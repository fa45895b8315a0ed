import { AlmanacError } from '#shared/errors/almanac-error';

/**
 * Sizes as text: `64MiB`, `1.5GB`, `4096`.
 *
 * All units count in powers of 1024, also `KB`, `MB` and so on. Printed in the largest unit that is exact.
 */

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const POWERS: ReadonlyMap<string, number> = new Map(
  UNITS.flatMap((unit, power) => [
    [unit.toLowerCase(), power],
    [unit.replace('i', '').toLowerCase(), power],
  ]),
);

/**
 * Bytes of a size text; fractions are rounded down to a whole byte.
 *
 * @throws `invalid_arguments` if the text is no size, or one that a double cannot count exactly.
 */
export function parseByteSize(text: string): number {
  const match = /^([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)$/i.exec(text.trim());
  if (match === null) throw notASize(text, 'expected a number and a unit, as in "64MiB"');
  const [, count, unit] = match;
  const power = unit === '' ? 0 : POWERS.get(unit.toLowerCase());
  if (power === undefined) throw notASize(text, `unknown unit "${unit}", expected B, KiB, MiB, GiB, TiB or PiB`);
  const bytes = Math.floor(Number(count) * 1024 ** power);
  if (!Number.isSafeInteger(bytes)) throw notASize(text, 'it is larger than 8PiB');
  return bytes;
}

/** Text of a size in the largest binary unit that is exact; zero is `0KiB`. */
export function printByteSize(bytes: number): string {
  if (bytes === 0) return '0KiB';
  let power = 0;
  let count = bytes;
  while (count % 1024 === 0 && power < UNITS.length - 1) {
    count /= 1024;
    power++;
  }
  return `${count}${UNITS[power]}`;
}

function notASize(text: string, why: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `invalid size "${text}": ${why}`);
}
