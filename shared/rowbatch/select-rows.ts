import { hasValue, type BytesColumn, type Column, type FixedColumn, type FixedValues } from './column.js';
import type { RowBatch } from './row-batch.js';

/** Some rows of a batch. */
export interface SelectedRows {
  /** The selected rows in the given order, with only the series that they use. */
  readonly batch: RowBatch;
  /** For each series of `batch`: its position in the original batch's list. */
  readonly seriesFrom: Uint32Array<ArrayBuffer>;
}

/** Copies rows of a batch. @param rows positions, each at most once. */
export function selectRows(batch: RowBatch, rows: Uint32Array): SelectedRows {
  const places = new Int32Array(batch.tsids.length).fill(-1);
  const seriesFrom = new Uint32Array(Math.min(batch.tsids.length, rows.length));
  const seriesIndex = new Uint32Array(rows.length);
  let seriesCount = 0;
  for (let i = 0; i < rows.length; i++) {
    const series = batch.seriesIndex[rows[i]];
    if (places[series] < 0) {
      places[series] = seriesCount;
      seriesFrom[seriesCount++] = series;
    }
    seriesIndex[i] = places[series];
  }
  const used = seriesFrom.slice(0, seriesCount);
  const columns: Column[] = [];
  for (const column of batch.columns) {
    const selected = selectColumn(column, rows);
    if (selected.nullCount < rows.length) columns.push(selected);
  }
  return {
    batch: {
      rowCount: rows.length,
      tsids: gather(batch.tsids, used),
      seriesIndex,
      times: gather(batch.times, rows),
      columns,
    },
    seriesFrom: used,
  };
}

function selectColumn(column: Column, rows: Uint32Array): Column {
  return column.kind === 'fixed' ? selectFixed(column, rows) : selectBytes(column, rows);
}

function selectFixed(column: FixedColumn, rows: Uint32Array): Column {
  return { ...column, values: gather(column.values, rows), ...selectNulls(column, rows) };
}

function selectBytes(column: BytesColumn, rows: Uint32Array): Column {
  const offsets = new Int32Array(rows.length + 1);
  for (let i = 0; i < rows.length; i++) {
    offsets[i + 1] = offsets[i] + column.offsets[rows[i] + 1] - column.offsets[rows[i]];
  }
  const bytes = new Uint8Array(offsets[rows.length]);
  for (let i = 0; i < rows.length; i++) {
    bytes.set(column.bytes.subarray(column.offsets[rows[i]], column.offsets[rows[i] + 1]), offsets[i]);
  }
  return { ...column, offsets, bytes, ...selectNulls(column, rows) };
}

function selectNulls(column: Column, rows: Uint32Array): Pick<Column, 'nullCount' | 'validity'> {
  if (column.validity === undefined) return { nullCount: 0, validity: undefined };
  const validity = new Uint8Array((rows.length + 7) >> 3);
  let nullCount = 0;
  for (let i = 0; i < rows.length; i++) {
    if (hasValue(column, rows[i])) validity[i >> 3] |= 1 << (i & 7);
    else nullCount++;
  }
  return { nullCount, validity: nullCount === 0 ? undefined : validity };
}

/** Returns `values[rows[i]]` for each i. Entries are moved as words of their width: no BigInt, and NaN keeps its bits. */
function gather<T extends FixedValues | BigUint64Array<ArrayBuffer>>(values: T, rows: Uint32Array): T {
  const target = values.slice(0, rows.length) as T;
  switch (values.BYTES_PER_ELEMENT) {
    case 1:
      gatherWords(new Int8Array(values.buffer, values.byteOffset, values.length), rows, new Int8Array(target.buffer));
      break;
    case 2:
      gatherWords(new Int16Array(values.buffer, values.byteOffset, values.length), rows, new Int16Array(target.buffer));
      break;
    case 4:
      gatherWords(new Int32Array(values.buffer, values.byteOffset, values.length), rows, new Int32Array(target.buffer));
      break;
    default:
      gatherPairs(
        new Int32Array(values.buffer, values.byteOffset, values.length * 2),
        rows,
        new Int32Array(target.buffer),
      );
  }
  return target;
}

function gatherWords<T extends Int8Array | Int16Array | Int32Array>(source: T, rows: Uint32Array, target: T): void {
  for (let i = 0; i < rows.length; i++) target[i] = source[rows[i]];
}

function gatherPairs(source: Int32Array, rows: Uint32Array, target: Int32Array): void {
  for (let i = 0; i < rows.length; i++) {
    target[2 * i] = source[2 * rows[i]];
    target[2 * i + 1] = source[2 * rows[i] + 1];
  }
}
