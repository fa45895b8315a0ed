import type { TimeUnit } from '#shared/schema/data-type';

/** Milliseconds in one time unit. */
export const MS_PER: Readonly<Record<TimeUnit, number>> = { s: 1000, ms: 1, us: 1e-3, ns: 1e-6 };

const TWO_32 = 4_294_967_296;
const NANOS_PER_MS = 1_000_000;
const MICROS_PER_MS = 1_000;

/**
 * Converts a stored time to milliseconds, rounded down. Exact, and without a BigInt for each row.
 *
 * @param low low half of the 64-bit integer, unsigned
 * @param high high half, signed
 */
export function millisOf(low: number, high: number, unit: TimeUnit): number {
  switch (unit) {
    case 's':
      return (high * TWO_32 + low) * 1_000;
    case 'ms':
      return high * TWO_32 + low;
    case 'us':
      return split(low, high, MICROS_PER_MS);
    case 'ns':
      return split(low, high, NANOS_PER_MS);
  }
}

/** Computes `floor((high * 2^32 + low) / by)` in parts, because the whole number does not fit a double. */
function split(low: number, high: number, by: number): number {
  const whole = Math.floor(TWO_32 / by);
  return high * whole + Math.floor((high * (TWO_32 - whole * by) + low) / by);
}
