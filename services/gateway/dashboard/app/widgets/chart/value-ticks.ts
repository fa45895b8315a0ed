import { valueText, type ValueUnit } from '../../format/numbers.js';

const DIGITS_MIN = 4;
const DIGITS_MAX = 15;
const BYTE_UNITS: ReadonlySet<ValueUnit> = new Set(['bytes', 'bytes/s']);

/** Distances of ticks, by unit, for units that people do not count in tens. */
export function tickDistances(unit: ValueUnit): readonly number[] | undefined {
  if (BYTE_UNITS.has(unit)) return BYTE_DISTANCES;
  return unit === 'seconds' ? SECOND_DISTANCES : undefined;
}

const TENS = Array.from({ length: 19 }, (_, i) => i - 18).flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power));
/** Powers of two, so that ticks are round in binary units. */
const BYTE_DISTANCES = [...TENS.filter((n) => n < 1), ...Array.from({ length: 63 }, (_, power) => 2 ** power)];
const SECOND_DISTANCES = [
  ...TENS.filter((n) => n < 15),
  ...[15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400],
  ...Array.from({ length: 30 }, (_, power) => 86_400 * 2 ** (power + 1)),
];

/** Returns the texts of ticks, with as many digits as make neighbours differ. @param values null for a tick without text. */
export function tickTexts(values: readonly (number | null)[], unit: ValueUnit): readonly (string | null)[] {
  for (let digits = DIGITS_MIN; digits <= DIGITS_MAX; digits++) {
    const texts = values.map((value) => (value === null ? null : tickText(value, unit, digits)));
    if (areDistinct(texts)) return texts;
  }
  // Durations above a minute have no fractions.
  return values.map((value) =>
    value === null ? null : `${rounded(value, DIGITS_MAX)}${unit === 'seconds' ? ' s' : ''}`,
  );
}

function tickText(value: number, unit: ValueUnit, digits: number): string {
  // Sums of distances have rounding errors that the exact text would show.
  return unit === 'none' ? rounded(value, digits) : valueText(Number(value.toPrecision(DIGITS_MAX)), unit, digits);
}

function rounded(value: number, digits: number): string {
  return String(Number(value.toPrecision(digits)));
}

function areDistinct(texts: readonly (string | null)[]): boolean {
  const shown = texts.filter((text) => text !== null);
  return shown.every((text, i) => i === 0 || text !== shown[i - 1]);
}
