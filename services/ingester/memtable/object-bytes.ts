import type { RowBatch } from '#shared/rowbatch/row-batch';

/** What a batch and each of its columns take in the heap of JavaScript, beside the bytes of their arrays. */
const BATCH_BYTES = 1_100;
const COLUMN_BYTES = 530;

/** Of all batches in memory. The heap has about 4 GiB at most, however much memory there is. */
const OBJECTS_MAX = 1 << 30;

/** What the objects of a batch take: many times the bytes of its arrays, if it has one row. */
export function objectBytes({ columns }: RowBatch): number {
  return BATCH_BYTES + columns.length * COLUMN_BYTES;
}

/** The same as a part of a budget, which is full when objects take all that they may. */
export function objectCharge(batch: RowBatch, limitBytes: number): number {
  return Math.ceil(objectBytes(batch) * Math.max(1, limitBytes / OBJECTS_MAX));
}
