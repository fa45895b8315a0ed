import stringWidth from 'fast-string-width';

import { widestOf } from '#shared/formats/table';

import { jsonText, plainText, type ResultCell } from './answer.js';

/** Prints rows in one output format. */
export type Print = (columns: readonly string[], rows: readonly (readonly ResultCell[])[]) => string;

/** CSV of RFC 4180 with a header. */
export const printCsv: Print = (columns, rows) => {
  return [columns, ...rows.map((row) => row.map(plainText))]
    .map((record) => `${record.map(csvField).join(',')}\r\n`)
    .join('');
};

/** One JSON object per line. */
export const printNdjson: Print = (columns, rows) => rows.map((row) => `${rowObject(columns, row)}\n`).join('');

/** A JSON array of objects. */
export const printJson: Print = (columns, rows) => {
  return `[${rows.map((row) => `\n  ${rowObject(columns, row)}`).join(',')}${rows.length > 0 ? '\n' : ''}]\n`;
};

/** A box of aligned columns, in which a value of several lines has as many. */
export const printTable: Print = (columns, rows) => {
  const texts = rows.map((row) => row.map((cell) => linesOf(plainText(cell))));
  const widths = columns.map((name, i) => widestOf([name, ...texts.flatMap((row) => row[i])]));
  const line = (left: string, middle: string, right: string): string => {
    return `${left}${widths.map((width) => '─'.repeat(width + 2)).join(middle)}${right}\n`;
  };
  const record = (cells: readonly string[]): string => {
    return `│${cells.map((cell, i) => ` ${cell}${' '.repeat(widths[i] - stringWidth(cell))} `).join('│')}│\n`;
  };
  const records = (cells: readonly (readonly string[])[]): string => {
    const height = Math.max(...cells.map(({ length }) => length));
    return Array.from({ length: height }, (_, i) => record(cells.map((lines) => lines[i] ?? ''))).join('');
  };
  const body = texts.map(records).join('');
  return line('┌', '┬', '┐') + record(columns) + line('├', '┼', '┤') + body + line('└', '┴', '┘');
};

/** Each row as lines of `name | value`. */
export const printExpanded: Print = (columns, rows) => {
  const width = Math.max(0, ...columns.map((name) => name.length));
  return rows
    .map((row, number) => {
      const lines = row.map((cell, i) => `${columns[i].padEnd(width)} | ${plainText(cell)}\n`);
      return `-[ row ${number + 1} ]-\n${lines.join('')}`;
    })
    .join('');
};

function rowObject(columns: readonly string[], row: readonly ResultCell[]): string {
  return `{${row.map((cell, i) => `${JSON.stringify(columns[i])}:${jsonText(cell)}`).join(',')}}`;
}

function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function linesOf(text: string): string[] {
  return text.replaceAll('\r', '\\r').split('\n');
}
