import { readFileSync } from 'node:fs';

import { tableFromIPC, type Vector } from 'apache-arrow';
import { expect } from 'chai';

import { AlmanacError } from '#shared/errors/almanac-error';
import { decodedBytes, decodeRowBatch, encodeBorrowedBatch, encodeRowBatch } from '#shared/rowbatch/arrow';
import { SeriesEntry, TableBuilder } from '#shared/rowbatch/builder';
import { hasValue } from '#shared/rowbatch/column';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { dataType } from '#shared/schema/data-type';
import { mixedBatch } from '../../../support/batches.js';
import { cellOf } from '../../../support/memory-ingester.js';

const GOLDEN_SHORT = new URL('../../../../../test/golden/row-batch-short.arrow', import.meta.url);
const GOLDEN = new URL('../../../../../test/golden/row-batch.arrow', import.meta.url);

function cells(batch: RowBatch): unknown[][] {
  return batch.columns.map((column) =>
    Array.from({ length: batch.rowCount }, (_, row) => (hasValue(column, row) ? cellOf(column, row) : null)),
  );
}

/** Returns rows of a column of doubles; times and series repeat in the same order. */
function keyedBatch(rowCount: number, seriesCount: number, timeCount: number): RowBatch {
  const values = Float64Array.from({ length: rowCount }, (_, row) => row + 0.1);
  return {
    rowCount,
    tsids: BigUint64Array.from({ length: seriesCount }, (_, i) => 0xfedc_ba98_0000_0000n + BigInt(i)),
    seriesIndex: Uint32Array.from({ length: rowCount }, (_, row) => row % seriesCount),
    times: BigInt64Array.from({ length: rowCount }, (_, row) => BigInt(1_700_000_000_000 + 15 * (row % timeCount))),
    columns: [{ kind: 'fixed', columnId: 4, type: 'Float64', nullCount: 0, validity: undefined, values }],
  };
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

  it('have short keys where each row has a series of its own, or few times are repeated', () => {
    const shapes = [
      { rowCount: 64, seriesCount: 64, timeCount: 1, bytesPerRow: 17 },
      { rowCount: 3_000, seriesCount: 3_000, timeCount: 16, bytesPerRow: 17 },
      { rowCount: 3_000, seriesCount: 300, timeCount: 10, bytesPerRow: 13 },
      { rowCount: 3_000, seriesCount: 3_000, timeCount: 17, bytesPerRow: 24 },
      { rowCount: 3_000, seriesCount: 300, timeCount: 3_000, bytesPerRow: 20 },
      { rowCount: 70_000, seriesCount: 70_000, timeCount: 2, bytesPerRow: 17 },
    ];
    for (const { rowCount, seriesCount, timeCount, bytesPerRow } of shapes) {
      const batch = keyedBatch(rowCount, seriesCount, timeCount);
      const bytes = encodeBorrowedBatch(batch);
      const listed = 8 * (seriesCount === rowCount ? 0 : seriesCount) + 8 * (timeCount > 16 ? 0 : timeCount);
      const headers = bytes.length - bytesPerRow * rowCount - listed;
      expect(headers, `${rowCount} rows, ${timeCount} times`).to.be.within(500, 1_500);
      const copy = bytes.slice();
      same(decodeRowBatch(copy), batch);
      expect([...(tableFromIPC(copy).getChild('time') ?? [])]).to.deep.equal([...batch.times]);
      const tsids = Array.from(batch.seriesIndex, (place) => batch.tsids[place]);
      expect([...(tableFromIPC(copy).getChild('series') ?? [])]).to.deep.equal(tsids);
      const expected = { ...batch, times: batch.times.slice() };
      const found = decodeRowBatch(bytes);
      batch.times.fill(0n);
      same(found, expected);
    }
  });

  it('with short keys have the bytes of another golden file', () => {
    const batch = keyedBatch(100, 100, 3);
    const golden = new Uint8Array(readFileSync(GOLDEN_SHORT));
    expect(Buffer.compare(encodeRowBatch(batch), golden)).to.equal(0);
    same(decodeRowBatch(golden), batch);
  });

  it('count keys that are longer in memory than in their bytes', () => {
    const sizeOf = (rowCount: number, seriesCount: number, timeCount: number): number => {
      const bytes = encodeRowBatch(keyedBatch(rowCount, seriesCount, timeCount)).slice();
      return decodedBytes(bytes, decodeRowBatch(bytes)) - bytes.length;
    };
    expect(sizeOf(10, 10, 1)).to.equal(0);
    expect(sizeOf(1_000, 100, 1_000)).to.equal(0);
    expect(sizeOf(1_000, 1_000, 2)).to.equal(8_000);
    // Positions of more than 65,536 rows are not shared.
    expect(sizeOf(70_000, 70_000, 2)).to.equal(12 * 70_000);
  });

  it('are refused if a key has not one value for each row', () => {
    const bytes = Buffer.from(encodeRowBatch(keyedBatch(1_000, 1_000, 2)).slice());
    const refusals: string[] = [];
    // The number of rows is in the header of the record batch, and in those of its columns.
    for (let at = 0; at + 8 <= bytes.length; at += 8) {
      if (bytes.readBigInt64LE(at) !== 1_000n) continue;
      const broken = new Uint8Array(bytes);
      broken[at] = 0xe7;
      try {
        const { rowCount, seriesIndex, times } = decodeRowBatch(broken);
        expect([seriesIndex.length, times.length]).to.deep.equal([rowCount, rowCount]);
      } catch (error) {
        refusals.push(String(error));
      }
    }
    expect(refusals.join()).to.contain('key columns differ in length');
  });

  it('are refused with a time that is not in their list', () => {
    const bytes = encodeRowBatch(keyedBatch(100, 100, 1)).slice();
    // Positions of times are the only 100 zeros in a row after the IDs of the series.
    const at = Buffer.from(bytes).lastIndexOf(Buffer.alloc(100));
    bytes[at + 50] = 1;
    expect(() => decodeRowBatch(bytes)).to.throw(AlmanacError, 'time out of range');
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
