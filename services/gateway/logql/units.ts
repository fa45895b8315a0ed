/** Durations and sizes in the texts of Go and of `humanize`. */

const DURATION = /^[+-]?(?:\d+\.?\d*(?:ns|us|µs|ms|s|m|h|d|w|y)|\.\d+(?:ns|us|µs|ms|s|m|h|d|w|y))+$/;
const DURATION_PART = /(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h|d|w|y)/g;
const HOUR_S = 3_600;
const SECONDS: Readonly<Record<string, number>> = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  ms: 1e-3,
  s: 1,
  m: 60,
  h: HOUR_S,
  d: 24 * HOUR_S,
  w: 7 * 24 * HOUR_S,
  y: 365 * 24 * HOUR_S,
};
const BYTES = /^(\d+(?:[.,\d]*\d)?)\s*([kmgtpe]?)(i?)b?$/i;
const POWERS = ['', 'k', 'm', 'g', 't', 'p', 'e'];

/** Returns the seconds of a duration such as `1m30s`; undefined if the text is none. */
export function durationSeconds(text: string): number | undefined {
  if (text === '0') return 0;
  if (!DURATION.test(text)) return undefined;
  let seconds = 0;
  for (const [, value, unit] of text.matchAll(DURATION_PART)) seconds += Number(value) * SECONDS[unit];
  return text.startsWith('-') ? -seconds : seconds;
}

/** Returns the bytes of a size such as `5KB` or `1.5MiB`; undefined if the text is none. */
export function byteCount(text: string): number | undefined {
  const match = BYTES.exec(text.trim());
  if (match === null) return undefined;
  const [, digits, prefix, binary] = match;
  const value = Number(digits.replaceAll(',', ''));
  const power = POWERS.indexOf(prefix.toLowerCase());
  if (Number.isNaN(value) || (power === 0 && binary !== '')) return undefined;
  return Math.floor(value * (binary === '' ? 1_000 : 1_024) ** power);
}

/** Returns the number of a text as Go parses it; undefined if it is none. */
export function goFloat(text: string): number | undefined {
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return Number(text);
  const word = text.replace(/^[+-]/, '').toLowerCase();
  if (word === 'nan') return NaN;
  if (word === 'inf' || word === 'infinity') return text.startsWith('-') ? -Infinity : Infinity;
  return undefined;
}

/** Returns a number as Go's `FormatFloat(v, 'f', -1, 64)` prints it. */
export function goFloatText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (value === Infinity) return '+Inf';
  if (value === -Infinity) return '-Inf';
  const text = Object.is(value, -0) ? '-0' : String(value);
  const match = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (match === null) return text;
  const [, sign, first, rest = '', exponent] = match;
  const digits = first + rest;
  const power = Number(exponent);
  if (power < 0) return `${sign}0.${'0'.repeat(-power - 1)}${digits}`;
  return sign + digits.padEnd(power + 1, '0');
}

/** Returns a duration in the words of the query language: `1h30m`. */
export function durationText(durationNs: bigint): string {
  let rest = durationNs < 0n ? -durationNs : durationNs;
  let text = '';
  for (const [unit, ns] of TEXT_UNITS) {
    const count = rest / ns;
    rest -= count * ns;
    if (count > 0n) text += `${count}${unit}`;
  }
  return (durationNs < 0n ? '-' : '') + (text === '' ? '0s' : text);
}

const TEXT_UNITS: readonly (readonly [string, bigint])[] = [
  ['h', 3_600_000_000_000n],
  ['m', 60_000_000_000n],
  ['s', 1_000_000_000n],
  ['ms', 1_000_000n],
  ['us', 1_000n],
  ['ns', 1n],
];
