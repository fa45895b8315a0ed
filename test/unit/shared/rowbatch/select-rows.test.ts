import { expect } from 'chai';
import fc from 'fast-check';

import { hasValue } from '#shared/rowbatch/column';
import { checkBatch, type RowBatch } from '#shared/rowbatch/row-batch';
import { selectRows } from '#shared/rowbatch/select-rows';
import { mixedBatch } from '../../../support/batches.js';
import { cellOf } from '../../../support/memory-ingester.js';

/** Everything that a row says, by column id. */
function rowsOf(batch: RowBatch): unknown[] {
  return Array.from({ length: batch.rowCount }, (_, row) => ({
    tsid: batch.tsids[batch.seriesIndex[row]],
    time: batch.times[row],
    ...Object.fromEntries(
      batch.columns.filter((column) => hasValue(column, row)).map((column) => [column.columnId, cellOf(column, row)]),
    ),
  }));
}

describe('selectRows', () => {
  it('copies the selected rows, in their order', () => {
    const batch = mixedBatch();
    const all = rowsOf(batch);
    fc.assert(
      fc.property(fc.shuffledSubarray([...all.keys()]), (chosen) => {
        const selected = selectRows(batch, Uint32Array.from(chosen));
        checkBatch(selected.batch);
        expect(rowsOf(selected.batch)).to.deep.equal(chosen.map((row) => all[row]));
        expect([...selected.batch.tsids]).to.deep.equal(Array.from(selected.seriesFrom, (at) => batch.tsids[at]));
      }),
    );
  });

  it('drops series without rows, columns without values and unneeded nulls', () => {
    const batch = mixedBatch();
    const { batch: one, seriesFrom } = selectRows(batch, Uint32Array.of(1));
    expect([...seriesFrom]).to.deep.equal([1]);
    expect(one.columns.map((column) => column.columnId)).to.deep.equal([2]);
    const { batch: two } = selectRows(batch, Uint32Array.of(0, 2));
    expect(two.columns.every((column) => column.validity === undefined && column.nullCount === 0)).to.equal(true);
    expect(two.columns).to.have.length(10);
  });

  it('keeps the bits of a NaN', () => {
    const bits = new BigUint64Array([0x7ff8_0000_0000_0001n, 0x7ff4_dead_beef_0000n]);
    const values = new Float64Array(bits.buffer);
    const column = { kind: 'fixed', columnId: 1, type: 'Float64', nullCount: 0, validity: undefined, values } as const;
    const { seriesIndex, times, tsids } = mixedBatch();
    const batch = {
      rowCount: 2,
      tsids,
      seriesIndex: seriesIndex.slice(0, 2),
      times: times.slice(0, 2),
      columns: [column],
    };
    const [copied] = selectRows(batch, Uint32Array.of(1)).batch.columns;
    const buffer = copied.kind === 'fixed' ? copied.values.buffer : expect.fail('not fixed');
    expect(new BigUint64Array(buffer)[0]).to.equal(0x7ff4_dead_beef_0000n);
  });
});
