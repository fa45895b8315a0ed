import { csvRow } from '../../format/csv.js';
import { exactText } from '../../format/numbers.js';
import { civilOf, civilText, offsetMinutes, pad } from '../../time/civil.js';
import type { ChartSeries } from './series.js';

/**
 * Returns series as CSV: a column of times, and one for each series. The head of the first column has the zone. Names that
 * spreadsheets would run as formulas begin with an apostrophe, as anyone who writes rows can choose them.
 */
export function wideCsv(series: readonly ChartSeries[], zone: string): string {
  const times = [...new Set(series.flatMap((one) => Array.from(one.times)))].sort((a, b) => a - b);
  const lines = [csvRow([`time (${zone})`, ...series.map(({ label }) => notFormula(label))])];
  const next = series.map(() => 0);
  for (const ms of times) {
    const cells = [isoText(ms, zone)];
    series.forEach((one, i) => {
      let text = '';
      // Of several samples with one time the last one counts.
      for (; one.times[next[i]] === ms; next[i]++) text = exactText(one.values[next[i]]);
      cells.push(text);
    });
    lines.push(cells.join(','));
  }
  return `${lines.join('\r\n')}\r\n`;
}

/** Returns series as CSV with a row for each sample: its time, the name of its series, and its value. */
export function longCsv(series: readonly ChartSeries[], zone: string): string {
  const lines = [csvRow([`time (${zone})`, 'series', 'value'])];
  for (const { label, times, values } of series) {
    const name = csvRow([notFormula(label)]);
    times.forEach((ms, i) => {
      // A gap is no sample.
      if (!Number.isNaN(values[i])) lines.push(`${isoText(ms, zone)},${name},${exactText(values[i])}`);
    });
  }
  return `${lines.join('\r\n')}\r\n`;
}

/** Returns an instant as ISO 8601 with the offset of the zone: `2026-11-21T17:26:59.123+01:00`. */
export function isoText(ms: number, zone: string): string {
  const minutes = offsetMinutes(ms, zone);
  const size = Math.abs(minutes);
  const offset = minutes === 0 ? 'Z' : `${minutes < 0 ? '-' : '+'}${pad(Math.floor(size / 60))}:${pad(size % 60)}`;
  return civilText(civilOf(ms, zone), 3).replace(' ', 'T') + offset;
}

function notFormula(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}
