import { orderValue, type CellValue, type SqlResult } from '../../data/sql-result.js';
import type { GridSort } from '../../widgets/grid.js';

/** Returns the numbers of the rows in the order of a column: nulls last, NaN after all other numbers. */
export function sortedRows(rows: SqlResult, rowCount: number, { column, isDescending }: GridSort): Uint32Array {
  const values = Array.from({ length: rowCount }, (_, row) =>
    orderValue(rows.value(column, row), rows.columns[column]),
  );
  const order = Uint32Array.from({ length: rowCount }, (_, row) => row);
  const sign = isDescending ? -1 : 1;
  return order.sort((a, b) => {
    const [left, right] = [values[a], values[b]];
    if (left === null || right === null) return left === right ? a - b : left === null ? 1 : -1;
    return sign * compare(left, right) || a - b;
  });
}

type Present = Exclude<CellValue, null>;

function compare(left: Present, right: Present): number {
  if (typeof left === 'number' && typeof right === 'number') {
    if (Number.isNaN(left) || Number.isNaN(right)) return Number(Number.isNaN(left)) - Number(Number.isNaN(right));
    return left - right;
  }
  if (typeof left === 'string' && typeof right === 'string') return left < right ? -1 : Number(left > right);
  if (left instanceof Uint8Array || right instanceof Uint8Array) return String(left) < String(right) ? -1 : 1;
  return left < right ? -1 : Number(left > right);
}
