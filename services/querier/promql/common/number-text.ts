const UNIT_MS: Readonly<Record<string, number>> = {
  y: 365 * 86_400_000,
  w: 7 * 86_400_000,
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
};
const DURATION = /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;
const UNITS = ['y', 'w', 'd', 'h', 'm', 's', 'ms'];
/** Longest duration in milliseconds: 2^63 nanoseconds. */
export const DURATION_MS_MAX = 9_223_372_036_854;

/** Largest hexadecimal number. */
const INTEGER_MAX = 2n ** 63n - 1n;

/**
 * Parses a number token: decimal, hexadecimal, octal with a leading zero, `Inf` or `NaN`.
 *
 * @returns the error text of Prometheus for a number out of range.
 */
export function numberValue(text: string): number | string {
  const plain = text.replaceAll('_', '').toLowerCase();
  if (plain === 'inf') return Infinity;
  if (plain === 'nan') return NaN;
  if (/^0[0-7]+$/.test(plain)) return Number.parseInt(plain, 8);
  const value = Number(plain);
  const failed = `error parsing number: strconv.ParseFloat: parsing ${JSON.stringify(text)}`;
  if (plain.startsWith('0x') && BigInt(plain) > INTEGER_MAX) return `${failed}: invalid syntax`;
  return Number.isFinite(value) ? value : `${failed}: value out of range`;
}

/**
 * Parses a duration such as `1h30m` to milliseconds; each unit at most once, the longest first.
 *
 * @returns undefined if the text is no duration; Infinity above 2^63 ns.
 */
export function durationMs(text: string): number | undefined {
  const parts = DURATION.exec(text);
  if (parts === null || text === '') return undefined;
  const ms = UNITS.reduce((sum, unit, i) => sum + Number(parts[i + 1] ?? 0) * UNIT_MS[unit], 0);
  return ms > DURATION_MS_MAX ? Infinity : ms;
}

/** Formats a duration as Prometheus does, in the largest units that are exact: `1h30m`, `9d`, `1w`. */
export function promDurationText(ms: number): string {
  if (ms === 0) return '0s';
  let rest = Math.abs(ms);
  let text = ms < 0 ? '-' : '';
  for (const unit of UNITS) {
    const length = UNIT_MS[unit];
    const count = Math.floor(rest / length);
    // Years and weeks are used for whole multiples only: `8d` instead of `1w1d`.
    if (count === 0 || ((unit === 'y' || unit === 'w') && rest % length !== 0)) continue;
    text += `${count}${unit}`;
    rest -= count * length;
  }
  return text;
}

/** Formats a number as Prometheus does in labels and results: without an exponent. */
export function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  const text = Object.is(value, -0) ? '-0' : String(value);
  const parts = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (parts === null) return text;
  const [, sign, whole, fraction = '', exponent] = parts;
  const shift = Number(exponent);
  if (shift >= 0) return `${sign}${whole}${fraction.padEnd(shift, '0')}`;
  return `${sign}0.${'0'.repeat(-shift - 1)}${whole}${fraction}`;
}
