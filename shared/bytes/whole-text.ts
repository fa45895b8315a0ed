/** V8 formats integers from here on as floats, which takes several times as long as small integers. */
export const LARGE_MIN = 2 ** 31;
const LOW_MAX = 1e9;

/** Formats an integer as `String` does. Large ones, as times and sizes in bytes are, become texts of two small ones. */
export function wholeText(value: number): string {
  const size = Math.abs(value);
  if (size < LARGE_MIN || size > Number.MAX_SAFE_INTEGER) return `${value}`;
  const high = Math.floor(size / LOW_MAX);
  const low = `${LOW_MAX + (size - high * LOW_MAX)}`.slice(1);
  return value < 0 ? `-${high}${low}` : `${high}${low}`;
}
