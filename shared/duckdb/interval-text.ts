import type { IntervalCell } from './chunk-reader.js';

/** Prints an interval as SQL does: `14 mons 3 days 4 hours 5 mins 6.000100 secs`. */
export function intervalText({ months, days, micros }: IntervalCell): string {
  const parts: string[] = [];
  const add = (value: number | bigint, unit: string): void => {
    if (Number(value) !== 0) parts.push(`${value} ${unit}`);
  };
  add(months, 'mons');
  add(days, 'days');
  add(micros / 3_600_000_000n, 'hours');
  add((micros / 60_000_000n) % 60n, 'mins');
  const rest = micros % 60_000_000n;
  if (rest !== 0n || parts.length === 0) parts.push(`${secondsText(rest)} secs`);
  return parts.join(' ');
}

function secondsText(micros: bigint): string {
  const size = micros < 0n ? -micros : micros;
  return `${micros < 0n ? '-' : ''}${size / 1_000_000n}.${String(size % 1_000_000n).padStart(6, '0')}`;
}
