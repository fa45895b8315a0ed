import { expect } from 'chai';

import { decodeRowBatch, encodeBorrowedBatch } from '#shared/rowbatch/arrow';
import { BatchSet, SeriesEntry } from '#shared/rowbatch/builder';
import { BuilderPool } from '#shared/rowbatch/builder-pool';

function fill(batches: BatchSet, table: string, values: readonly number[], type = 'Float64'): void {
  const builder = batches.table(table);
  const series = new SeriesEntry(table, 1n, []);
  for (const [row, value] of values.entries()) {
    builder.startRow(series);
    builder.field('f', type).setNumber(row, value);
    builder.endRow(row, 0);
  }
}

describe('BatchSet with a pool', () => {
  it('leaves nothing of a released batch in the next one', () => {
    const pool = new BuilderPool(1_000_000);
    const first = new BatchSet(pool);
    fill(first, 'a', [1, 2, 3, 4]);
    const batch = decodeRowBatch(encodeBorrowedBatch(first.table('a').finish(() => 1)));
    first.release();

    const second = new BatchSet(pool);
    const builder = second.table('b');
    const series = new SeriesEntry('b', 2n, []);
    builder.startRow(series);
    builder.endRow(0, 0);
    builder.startRow(series);
    builder.field('g', 'Int64').setNumber(1, 9);
    builder.endRow(0, 0);
    const again = builder.finish(() => 1);
    expect(again.rowCount).to.equal(2);
    expect(again.columns[0]).to.deep.include({ type: 'Int64', nullCount: 1, values: Int8Array.from([0, 9]) });
    expect(batch.columns[0]).to.deep.include({ type: 'Float64', values: Float64Array.from([1, 2, 3, 4]) });
  });

  it('lists a series once in each batch', () => {
    const batches = new BatchSet();
    const [a, b] = [new SeriesEntry('t', 1n, []), new SeriesEntry('t', 2n, [])];
    const [first, second] = [batches.table('t'), batches.table('u')];
    for (const series of [a, b, a]) {
      first.startRow(series);
      first.endRow(0, 0);
    }
    for (const series of [b, b, a]) {
      second.startRow(series);
      second.endRow(0, 0);
    }
    expect([...first.finish(() => 1).seriesIndex]).to.deep.equal([0, 1, 0]);
    expect([...second.finish(() => 1).seriesIndex]).to.deep.equal([0, 0, 1]);
  });

  it('removes a series with the only row that has it', () => {
    const table = new BatchSet().table('t');
    const [a, b] = [new SeriesEntry('t', 1n, []), new SeriesEntry('t', 2n, [])];
    table.startRow(a);
    table.endRow(0, 0);
    table.startRow(b);
    table.undoRow();
    table.startRow(a);
    table.undoRow();
    table.startRow(b);
    table.endRow(0, 0);
    expect([...table.finish(() => 1).tsids]).to.deep.equal([1n, 2n]);
  });
});
