/** How the values of a chart or a statistic are shown. */
export type ValueUnit = 'short' | 'bytes' | 'bytes/s' | 'seconds' | 'percent' | 'ratio' | 'per second' | 'none';

/** Units to choose from, by name. */
export const VALUE_UNITS: readonly ValueUnit[] = [
  'short',
  'bytes',
  'bytes/s',
  'seconds',
  'percent',
  'ratio',
  'per second',
  'none',
];

const DECIMAL = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
const SMALL = ['', 'm', 'µ', 'n', 'p'];
const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

/** Returns a value with at most `digits` significant digits, in a unit. */
export function valueText(value: number, unit: ValueUnit, digits = 4): string {
  if (!Number.isFinite(value)) return specialText(value);
  switch (unit) {
    case 'bytes':
      return bytesText(value, digits);
    case 'bytes/s':
      return `${bytesText(value, digits)}/s`;
    case 'seconds':
      return secondsText(value, digits);
    case 'percent':
      return `${significant(value, digits)} %`;
    case 'ratio':
      return `${significant(value * 100, digits)} %`;
    case 'per second':
      return `${shortText(value, digits)}/s`;
    case 'none':
      return exactText(value);
    case 'short':
      return shortText(value, digits);
  }
}

/** Returns a number in full, as clients of the API read it. */
export function exactText(value: number): string {
  return Number.isFinite(value) ? (Object.is(value, -0) ? '-0' : String(value)) : specialText(value);
}

/** Returns a count with narrow spaces between thousands. */
export function countText(value: number | bigint): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/** Returns bytes with a binary prefix. */
export function bytesText(value: number, digits = 4): string {
  let [scaled, step] = [value, 0];
  while (Math.abs(scaled) >= 1024 && step < BINARY.length - 1) [scaled, step] = [scaled / 1024, step + 1];
  return `${significant(scaled, digits)} ${BINARY[step]}`;
}

/** Returns a duration: `12 ms`, `1m 30s`, `2h 05m`, `3d 4h`; never a fraction of a minute. */
export function secondsText(seconds: number, digits = 4): string {
  const size = Math.abs(seconds);
  if (size === 0) return '0 s';
  if (size < 1e-6) return `${significant(seconds * 1e9, digits)} ns`;
  if (size < 1e-3) return `${significant(seconds * 1e6, digits)} µs`;
  if (size < 1) return `${significant(seconds * 1e3, digits)} ms`;
  if (size < 60) return `${significant(seconds, digits)} s`;
  const sign = seconds < 0 ? '-' : '';
  const whole = Math.round(size);
  const [days, hours, minutes, rest] = [
    Math.floor(whole / 86_400),
    Math.floor(whole / 3600) % 24,
    Math.floor(whole / 60) % 60,
    whole % 60,
  ];
  if (days > 0) return `${sign}${countText(days)}d ${hours}h`;
  if (hours > 0) return `${sign}${hours}h ${String(minutes).padStart(2, '0')}m`;
  return `${sign}${minutes}m ${String(rest).padStart(2, '0')}s`;
}

/** Guesses the unit of a metric from its name and, if it is a rate, from that. */
export function unitOf(name: string, isRate = false): ValueUnit {
  const base = name.replace(/_(total|sum|bucket|count)$/, '');
  if (base.endsWith('_bytes')) return isRate ? 'bytes/s' : 'bytes';
  if (base.endsWith('_seconds') && !name.endsWith('_count')) return isRate ? 'ratio' : 'seconds';
  if (base.endsWith('_ratio')) return 'ratio';
  if (base.endsWith('_percent')) return 'percent';
  return isRate ? 'per second' : 'short';
}

function shortText(value: number, digits: number): string {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 1000) {
    const step = Math.min(DECIMAL.length - 1, Math.floor(Math.log10(size) / 3 + 1e-12));
    return significant(value / 1000 ** step, digits) + DECIMAL[step];
  }
  if (size >= 0.01) return significant(value, digits);
  const step = Math.min(SMALL.length - 1, Math.ceil(-Math.log10(size) / 3 - 1e-12));
  return significant(value * 1000 ** step, digits) + SMALL[step];
}

function significant(value: number, digits: number): string {
  return String(Number(value.toPrecision(digits)));
}

function specialText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}
