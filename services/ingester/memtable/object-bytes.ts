import type { RowBatch } from '#shared/rowbatch/row-batch';

/** Bytes of a batch, and of each of its columns, in the JavaScript heap besides their arrays. */
const BATCH_BYTES = 1_100;
const COLUMN_BYTES = 530;

/** Limit for all batches in memory. The heap has about 4 GiB at most, whatever the machine's memory. */
const OBJECTS_MAX = 1 << 30;

/** Returns the heap bytes of a batch's objects. For one row that is many times the bytes of its arrays. */
export function objectBytes({ columns }: RowBatch): number {
  return BATCH_BYTES + columns.length * COLUMN_BYTES;
}

/**
 * Returns the same as a charge to a memory budget, scaled so that the budget is used up when objects reach their limit.
 */
export function objectCharge(batch: RowBatch, limitBytes: number): number {
  return Math.ceil(objectBytes(batch) * Math.max(1, limitBytes / OBJECTS_MAX));
}
