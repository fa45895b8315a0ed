const DECIMAL = /^(-?)([0-9]{1,20})(?:\.([0-9]*))?$/;
/** Greater numbers are milliseconds. */
const MILLISECONDS_MIN = 1_000_000_000_000n;
const TIME_MAX = 2n ** 63n - 2n;

/** Reads a time in seconds or milliseconds, exact to the nanosecond; undefined if it is none or out of range. */
export function readEventTime(text: string): bigint | undefined {
  const match = DECIMAL.exec(text.trim()) ?? DECIMAL.exec(plainText(text));
  if (match === null) return undefined;
  const [, sign, whole, fraction = ''] = match;
  const units = BigInt(whole);
  const isMilliseconds = units >= MILLISECONDS_MIN;
  const digits = isMilliseconds ? 6 : 9;
  const part = BigInt(fraction.slice(0, digits).padEnd(digits, '0'));
  const ns = units * (isMilliseconds ? 1_000_000n : 1_000_000_000n) + part;
  if (ns > TIME_MAX) return undefined;
  return sign === '' ? ns : -ns;
}

/** Returns a number with an exponent without it. */
function plainText(text: string): string {
  const value = Number(text);
  return text.trim() === '' || !Number.isFinite(value) || Math.abs(value) >= 1e21 ? '' : value.toFixed(9);
}
