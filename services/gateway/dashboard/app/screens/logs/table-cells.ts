import type { LogLine } from './log-line.js';
import type { LogTable } from './search/log-table.js';
import { nanosecondText } from '../../time/nanosecond-text.js';

/** Returns a cell of the view of lines as a table. */
export function cellTextOf(
  line: LogLine,
  column: string,
  { timeColumn }: LogTable,
  zone: string,
): { readonly text: string; readonly isSpecial: boolean } {
  if (column === timeColumn) return { text: nanosecondText(line.timeNs, zone, 9), isSpecial: false };
  const value = line.fields.get(column);
  return { text: value ?? 'NULL', isSpecial: value === undefined };
}
