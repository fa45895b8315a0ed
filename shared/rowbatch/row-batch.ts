import { invariant } from '#shared/errors/invariant';
import type { Column } from './column.js';

/**
 * Rows of one table as columns, as they travel from a protocol to the log and are kept in a memtable.
 *
 * Tag values are not included: a row refers to its series by position in the batch's own list of series IDs.
 */
export interface RowBatch {
  readonly rowCount: number;
  /** The series of the batch as 64-bit IDs, in no particular order; an ID may occur twice. */
  readonly tsids: BigUint64Array<ArrayBuffer>;
  /** Per row: position in `tsids`. */
  readonly seriesIndex: Uint32Array<ArrayBuffer>;
  /** Per row: time index in the table's unit. */
  readonly times: BigInt64Array<ArrayBuffer>;
  /** Fields that have at least one value in the batch. */
  readonly columns: readonly Column[];
}

/** Asserts that the arrays of a batch are consistent; called once for each batch that comes from outside. */
export function checkBatch(batch: RowBatch): void {
  const { rowCount, tsids, seriesIndex, times, columns } = batch;
  invariant(seriesIndex.length === rowCount && times.length === rowCount, 'row batch: key columns differ in length');
  let highest = -1;
  for (let row = 0; row < rowCount; row++) if (seriesIndex[row] > highest) highest = seriesIndex[row];
  invariant(highest < tsids.length, 'row batch: series index out of range');
  for (const column of columns) {
    invariant(column.validity === undefined || column.validity.length >= (rowCount + 7) >> 3, 'row batch: validity');
    if (column.kind === 'fixed') {
      invariant(column.values.length === rowCount, 'row batch: column length');
      continue;
    }
    const { offsets, bytes } = column;
    invariant(offsets.length === rowCount + 1 && offsets[rowCount] <= bytes.length, 'row batch: text offsets');
    for (let row = 0; row < rowCount; row++) invariant(offsets[row] <= offsets[row + 1], 'row batch: text order');
  }
}
