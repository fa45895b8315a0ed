import stringWidth from 'fast-string-width';

import { encodeByRow, leadsOf, type HeadColumn, type ResultFormat } from './format.js';
import { jsonEncoder, jsonSql } from './json.js';

/** Between values and rows on the way from the querier: JSON has no such characters. */
const CELL_END = '\u0001';
const ROW_END = '\u0002';

/** The format `table`: a frame of lines around the JSON texts of the values, for people. */
export const tableFormat: ResultFormat = {
  names: ['table'],
  contentType: 'text/plain; charset=utf-8',
  isSingle: true,
  separator: ROW_END,
  head: () => '',
  tail: () => '',
  affected: (rowCount) => `${rowCount}\n`,
  end: () => '',

  encodeRows(columns, cells, rowCount) {
    const encoders = columns.map(({ type }) => jsonEncoder(type));
    const leads = leadsOf(columns.length, '', CELL_END);
    return encodeByRow(cells, rowCount, { encoders, leads, close: '', separator: ROW_END, nullText: 'null' });
  },

  rowSql(columns, names) {
    const values = columns.map((column, i) => jsonSql(column, names[i]));
    if (values.includes(undefined)) return undefined;
    return `concat(${values.map((sql) => `coalesce(${sql}, 'null')`).join(`, chr(1), `)})`;
  },

  whole(columns, rows) {
    const lines = rows === '' ? [] : rows.split(ROW_END).map((row) => row.split(CELL_END));
    const widths = columns.map(({ name }, i) => widestOf([name, ...lines.map((line) => line[i])]));
    const frame = (left: string, between: string, right: string): string =>
      `${left}${widths.map((width) => '─'.repeat(width + 2)).join(between)}${right}\n`;
    const out = [headLine(columns, widths)];
    for (const line of lines) {
      out.push(`│ ${line.map((cell, i) => cell + ' '.repeat(widths[i] - stringWidth(cell))).join(' │ ')} │\n`);
    }
    out.push(frame('└', '┴', '┘'));
    return out.join('');
  },
};

function headLine(columns: readonly HeadColumn[], widths: readonly number[]): string {
  const cells = columns.map(({ name }, i) => `─${name}${'─'.repeat(widths[i] - stringWidth(name) + 1)}`);
  return `┌${cells.join('┬')}┐\n`;
}

/** Returns the columns of a terminal that the widest text takes. */
export function widestOf(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, stringWidth(text)), 0);
}
