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
/** Longest duration: 2^63 nanoseconds. */
export const DURATION_MS_MAX = 9_223_372_036_854;

/** Greatest whole number that may be written in hexadecimal. */
const INTEGER_MAX = 2n ** 63n - 1n;

/**
 * The value of a number token: decimal, hexadecimal, octal with a leading zero, `Inf` or `NaN`.
 *
 * @returns why it is none, in Prometheus's words, if it is too large.
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
 * The length of a duration such as `1h30m` in milliseconds: each unit at most once, the longest first.
 *
 * @returns undefined if the text is none; Infinity if it is longer than 2^63 ns.
 */
export function durationMs(text: string): number | undefined {
  const parts = DURATION.exec(text);
  if (parts === null || text === '') return undefined;
  const ms = UNITS.reduce((sum, unit, i) => sum + Number(parts[i + 1] ?? 0) * UNIT_MS[unit], 0);
  return ms > DURATION_MS_MAX ? Infinity : ms;
}

/** A duration in the largest units that are exact, as Prometheus prints it: `1h30m`, `9d`, `1w`. */
export function promDurationText(ms: number): string {
  if (ms === 0) return '0s';
  let rest = Math.abs(ms);
  let text = ms < 0 ? '-' : '';
  for (const unit of UNITS) {
    const length = UNIT_MS[unit];
    const count = Math.floor(rest / length);
    // Years and weeks only when nothing is left over: `8d` says more than `1w1d`.
    if (count === 0 || ((unit === 'y' || unit === 'w') && rest % length !== 0)) continue;
    text += `${count}${unit}`;
    rest -= count * length;
  }
  return text;
}
