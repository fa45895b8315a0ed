import { expect } from 'chai';

import type { Table } from '#shared/contracts/gen/common';
import { SeriesEntry } from '#shared/rowbatch/builder';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { regionOf, splitRows, type PlannedRows } from '#shared/write/write-plan';
import { indexOf, type TableIndex } from '#shared/write/table-index';

function tableOf(regions: number, options: Record<string, string> = {}): TableIndex {
  const time = { id: 1, name: 'ts', type: 'TimestampMillisecond', kind: 'time', nullable: false };
  const table: Table = {
    tableId: 1,
    databaseId: 1,
    database: 'public',
    name: 't',
    schemaVersion: 1,
    columns: [{ ...time, defaultSql: '', comment: '', backfillSql: '', formerTypes: [], indexes: [] }],
    options,
    // Backwards: positions count, not order.
    regions: Array.from({ length: regions }, (_, i) => ({
      regionId: 10 + i,
      index: i,
      epoch: 1,
      nodeId: 1,
      idsSinceEpoch: 1,
    })).reverse(),
    createdMs: 0,
    primaryKey: [],
    ttl: '',
  };
  return indexOf(table);
}

/** One row for each entry: the upper half of its series' id. Its time is its position. */
function batchOf(highs: readonly number[]): Omit<PlannedRows, 'index'> {
  const distinct = [...new Set(highs)];
  const tsids = BigUint64Array.from(distinct, (high) => BigInt(high) << 32n);
  const batch: RowBatch = {
    rowCount: highs.length,
    tsids,
    seriesIndex: Uint32Array.from(highs, (high) => distinct.indexOf(high)),
    times: BigInt64Array.from(highs.keys(), BigInt),
    columns: [],
  };
  const series = Array.from(tsids, (tsid) => new SeriesEntry('t', tsid, []));
  return { batch, series, knownBy: undefined };
}

describe('regionOf', () => {
  it('divides the range of the upper half evenly', () => {
    expect(regionOf(0, 4)).to.equal(0);
    expect(regionOf(0x3fffffff, 4)).to.equal(0);
    expect(regionOf(0x40000000, 4)).to.equal(1);
    expect(regionOf(0xffffffff, 4)).to.equal(3);
    expect(regionOf(0xffffffff, 256)).to.equal(255);
    expect(regionOf(0x55555555, 3)).to.equal(0);
    expect(regionOf(0x55555556, 3)).to.equal(1);
  });
});

describe('splitRows', () => {
  it('passes the batch itself on if one region gets all rows', () => {
    const one = batchOf([1, 0xffffffff]);
    expect(splitRows({ ...one, index: tableOf(1) }, 0)[0].batch).to.equal(one.batch);
    const same = batchOf([0x80000000, 0x80000001]);
    const [part] = splitRows({ ...same, index: tableOf(4) }, 0);
    expect([part.batch, part.region.regionId]).to.deep.equal([same.batch, 12]);
  });

  it('keeps the order of rows and only the series of a part', () => {
    const { batch, series, knownBy } = batchOf([0xc0000000, 1, 0xc0000001, 0xc0000000, 2]);
    const parts = splitRows({ batch, series, knownBy, index: tableOf(4) }, 0);
    expect(parts.map((part) => [part.region.regionId, [...part.batch.times]])).to.deep.equal([
      [10, [1n, 4n]],
      [13, [0n, 2n, 3n]],
    ]);
    expect(parts[1].series).to.deep.equal([series[0], series[2]]);
    expect([...parts[1].batch.tsids]).to.deep.equal(parts[1].series.map((entry) => entry.tsid));
    expect([...parts[1].batch.seriesIndex]).to.deep.equal([0, 1, 0]);
  });

  it('distributes whole batches round-robin if every row is kept', () => {
    const { batch, series, knownBy } = batchOf([1, 0xffffffff]);
    const index = tableOf(3, { append_mode: 'true' });
    const regions = [0, 1, 2, 3].map((turn) => splitRows({ index, batch, series, knownBy }, turn)[0].region.regionId);
    expect(regions).to.deep.equal([10, 11, 12, 10]);
  });

  it('has no part without rows', () => {
    const { batch, series, knownBy } = batchOf([]);
    expect(splitRows({ batch, series, knownBy, index: tableOf(1) }, 0)).to.deep.equal([]);
  });
});
