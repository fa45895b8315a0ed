import type { Column } from '#shared/contracts/gen/common';
import { quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import { dataType } from '#shared/schema/data-type';
import type { CellValue } from '#shared/write/cell-value';
import { UTC, type Zone } from '#shared/time/zone';

import { converterOf } from './cells.js';
import { Cursor } from './cursor.js';
import { lexSql } from './lex.js';
import { readLiteralCell, type LiteralCell } from './literal-cell.js';
import { parseTimestampText } from './timestamp-text.js';

/** Text of the default in SHOW CREATE TABLE if it is the time of the statement. */
export const NOW_SQL = 'current_timestamp()';

/**
 * Returns the SQL text of a DEFAULT expression, as the catalog stores it; empty for NULL. A timestamp without offset is
 * interpreted in the session's zone now, so that its meaning never changes.
 *
 * @throws `unsupported` for anything but a literal or the current time; `invalid_syntax` if the value does not fit.
 */
export function defaultSql(
  column: { readonly name: string; readonly type: string },
  cursor: Cursor,
  zone: Zone,
): string {
  const text = cursor.tokens.source.slice(cursor.tokens.start(cursor.from), cursor.tokens.end(cursor.to - 1));
  const cell = readLiteralCell(cursor);
  if (cell === undefined || !cursor.done) throw unsupported(column.name, text);
  const isTime = dataType(column.type).timeUnit !== undefined;
  if (cell.kind === 'now') {
    if (!isTime) throw unsupported(column.name, text);
    return NOW_SQL;
  }
  const target = {
    ...column,
    id: 0,
    kind: 'field',
    nullable: true,
    defaultSql: '',
    comment: '',
    backfillSql: '',
    formerTypes: [],
    indexes: [],
  };
  valueOf(target, cell, 0n, zone);
  if (cell.kind === 'bool') return String(cell.value);
  if (cell.kind !== 'literal') return '';
  if (cell.literal.kind !== 'text') {
    return (
      (cell.isNegative ? '-' : '') + (cell.literal.kind === 'binary' ? `0x${cell.literal.value}` : cell.literal.value)
    );
  }
  return quoteText(isTime ? instantText(cell.literal.value, zone) : cell.literal.value);
}

/** Returns the default of a column that a statement omits; undefined if it has none. */
export function defaultCell(column: Column, nowNs: bigint): CellValue | undefined {
  if (column.defaultSql === '') return undefined;
  const tokens = lexSql(column.defaultSql);
  const cell = readLiteralCell(new Cursor(tokens, 0, tokens.count));
  return cell === undefined ? undefined : valueOf(column, cell, nowNs, UTC);
}

/** Converts a literal cell to the type that its column is stored in. */
export function valueOf(column: Column, cell: LiteralCell, nowNs: bigint, zone: Zone): CellValue {
  const converter = converterOf(column, zone);
  switch (cell.kind) {
    case 'literal':
      return converter.literal(cell.literal, cell.isNegative);
    case 'bool':
      return converter.bool(cell.value);
    case 'now':
      return converter.time(nowNs);
    default:
      return null;
  }
}

function instantText(text: string, zone: Zone): string {
  const ns = parseTimestampText(text, zone) ?? 0n;
  const ms = ns / 1_000_000n - (ns % 1_000_000n < 0n ? 1n : 0n);
  const fraction = String(((ns % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n)
    .padStart(9, '0')
    .replace(/0+$/, '');
  const whole = new Date(Number(ms)).toISOString().slice(0, 19).replace('T', ' ');
  return `${whole}${fraction === '' ? '' : `.${fraction}`}+0000`;
}

function unsupported(column: string, expression: string): AlmanacError {
  return new AlmanacError(
    'unsupported',
    `Unsupported default constraint for column: '${column}', reason: expr '${expression.slice(0, 100)}' not supported`,
  );
}
