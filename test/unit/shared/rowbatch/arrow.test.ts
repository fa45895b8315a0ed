import { readFileSync } from 'node:fs';

import { tableFromIPC, type Vector } from 'apache-arrow';
import { expect } from 'chai';

import { AlmanacError } from '#shared/errors/almanac-error';
import { decodeRowBatch, encodeBorrowedBatch, encodeRowBatch } from '#shared/rowbatch/arrow';
import { SeriesEntry, TableBuilder } from '#shared/rowbatch/builder';
import { hasValue } from '#shared/rowbatch/column';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { dataType } from '#shared/schema/data-type';
import { mixedBatch } from '../../../support/batches.js';
import { cellOf } from '../../../support/memory-ingester.js';

const GOLDEN = new URL('../../../../../test/golden/row-batch.arrow', import.meta.url);

function cells(batch: RowBatch): unknown[][] {
  return batch.columns.map((column) =>
    Array.from({ length: batch.rowCount }, (_, row) => (hasValue(column, row) ? cellOf(column, row) : null)),
  );
}

/** Checks that two batches have the same rows, whatever arrays hold them. */
function same(found: RowBatch, expected: RowBatch): void {
  expect(found.rowCount).to.equal(expected.rowCount);
  expect([...found.tsids]).to.deep.equal([...expected.tsids]);
  expect([...found.seriesIndex]).to.deep.equal([...expected.seriesIndex]);
  expect([...found.times]).to.deep.equal([...expected.times]);
  const shape = (batch: RowBatch) => batch.columns.map(({ columnId, type, kind }) => ({ columnId, type, kind }));
  expect(shape(found)).to.deep.equal(shape(expected));
  expect(found.columns.map((it) => it.nullCount)).to.deep.equal(expected.columns.map((it) => it.nullCount));
  expect(cells(found)).to.deep.equal(cells(expected));
}

describe('row batches as Arrow streams', () => {
  it('return the same batch within one process', () => {
    const batch = mixedBatch();
    expect(decodeRowBatch(encodeRowBatch(batch))).to.equal(batch);
  });

  it('of borrowed arrays are decoded as views of the bytes', () => {
    const batch = mixedBatch();
    const bytes = encodeBorrowedBatch(batch);
    expect(Buffer.compare(bytes, encodeRowBatch(batch))).to.equal(0);
    const found = decodeRowBatch(bytes);
    same(found, batch);
    const arrays = found.columns.flatMap((column) =>
      column.kind === 'fixed' ? [column.values] : [column.offsets, column.bytes],
    );
    for (const { buffer } of [found.tsids, found.seriesIndex, found.times, ...arrays]) {
      expect(buffer).to.equal(bytes.buffer);
    }
    const before = cells(found);
    for (const column of batch.columns) if (column.kind === 'fixed') new Uint8Array(column.values.buffer).fill(0);
    batch.times.fill(0n);
    expect(cells(found)).to.deep.equal(before);
    expect(found.times[0]).to.equal(1_700_000_000_000_000_000n);
  });

  it('are decoded from copied bytes, aligned or not', () => {
    const batch = mixedBatch();
    const bytes = encodeRowBatch(batch);
    expect(bytes.length % 8).to.equal(0);
    same(decodeRowBatch(bytes.slice()), batch);
    for (const shift of [1, 4, 8]) {
      const shifted = new Uint8Array(bytes.length + shift);
      shifted.set(bytes, shift);
      same(decodeRowBatch(shifted.subarray(shift)), batch);
    }
  });

  it('have the bytes of the golden file, which never change', () => {
    const golden = new Uint8Array(readFileSync(GOLDEN));
    expect(Buffer.compare(encodeRowBatch(mixedBatch()), golden)).to.equal(0);
    same(decodeRowBatch(golden), mixedBatch());
  });

  it('can be read by any reader of Arrow', () => {
    const batch = mixedBatch();
    const table = tableFromIPC(encodeRowBatch(batch).slice());
    const column = (name: string): Vector => table.getChild(name) ?? expect.fail(`no column ${name}`);
    const tsids = Array.from(batch.seriesIndex, (place) => batch.tsids[place]);
    expect([...column('series')]).to.deep.equal(tsids);
    expect([...column('time')]).to.deep.equal([...batch.times]);
    for (const [i, { columnId, type }] of batch.columns.entries()) {
      const vector = column(String(columnId));
      expect(table.schema.fields[i + 2].metadata.get('type')).to.equal(type);
      expect(vector.nullCount).to.equal(batch.columns[i].nullCount);
      const values = [...vector] as unknown[];
      expect(values, type).to.deep.equal(cells(batch)[i]);
    }
  });

  it('of each shape have a template of their own', () => {
    // The same columns with narrow, wide and narrow values again: the width is part of the shape.
    for (const scale of [1, 1000, 1e6, 1e12, 1]) {
      for (const rowCount of [1, 2, 7, 64, 1000]) {
        const builder = new TableBuilder('t');
        const series = new SeriesEntry('t', 7n, []);
        for (let row = 0; row < rowCount; row++) {
          builder.startRow(series);
          if (row % 5 !== 3) builder.field('v', 'Int64').setNumber(row, row * scale);
          builder.endRowAt(BigInt(row));
        }
        const batch = builder.finish(() => 3);
        same(decodeRowBatch(encodeRowBatch(batch).slice()), batch);
      }
    }
  });

  it('may have no fields at all', () => {
    const builder = new TableBuilder('t');
    builder.startRow(new SeriesEntry('t', 7n, []));
    builder.endRowAt(1n);
    const batch = builder.finish(() => 1);
    same(decodeRowBatch(encodeRowBatch(batch).slice()), batch);
  });

  it('have known types', () => {
    for (const { type } of mixedBatch().columns) expect(dataType(type).name).to.equal(type);
  });

  it('are refused when damaged', () => {
    const bytes = encodeRowBatch(mixedBatch());
    for (const broken of [new Uint8Array(0), Buffer.from('no arrow stream at all'), bytes.slice(0, 100)]) {
      expect(() => decodeRowBatch(broken)).to.throw(AlmanacError);
    }
  });
});
