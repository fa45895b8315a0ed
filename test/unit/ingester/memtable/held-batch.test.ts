import { expect } from 'chai';

import { HeldBatch } from '#services/ingester/memtable/held-batch';
import { SeriesRegistry } from '#services/ingester/memtable/series-registry';
import type { Column } from '#shared/rowbatch/column';
import { checkBatch, type RowBatch } from '#shared/rowbatch/row-batch';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

const SERIES = 70_000;

const registry = new SeriesRegistry();
for (let i = 0; i < SERIES; i++) registry.define(i, ~i >>> 0, new Uint8Array(0));

interface Shape {
  readonly rowCount: number;
  /** Number of each series of the batch. */
  readonly sids: readonly number[];
  readonly seriesOf: (row: number) => number;
  readonly timeOf: (row: number) => bigint;
}

function batchOf({ rowCount, sids, seriesOf, timeOf }: Shape): RowBatch {
  const rows = Array.from({ length: rowCount }, (_, row) => row);
  const texts = rows.map((row) => 'x'.repeat(row % 5));
  const offsets = new Int32Array(rowCount + 1);
  for (const row of rows) offsets[row + 1] = offsets[row] + texts[row].length;
  const validity = new Uint8Array((rowCount + 7) >> 3).fill(0x55);
  const base = { nullCount: 0, validity: undefined };
  const columns: Column[] = [
    { ...base, kind: 'fixed', columnId: 1, type: 'Float64', values: Float64Array.from(rows, (row) => row / 3) },
    { ...base, kind: 'fixed', columnId: 2, type: 'Int64', validity, values: Int8Array.from(rows) },
    {
      ...base,
      kind: 'bytes',
      columnId: 3,
      type: 'String',
      offsets,
      bytes: Uint8Array.from(Buffer.from(texts.join(''))),
    },
  ];
  return {
    rowCount,
    tsids: BigUint64Array.from(sids, (sid) => registry.tsidOf(sid)),
    seriesIndex: Uint32Array.from(rows, seriesOf),
    times: BigInt64Array.from(rows, timeOf),
    columns,
  };
}

function hold(batch: RowBatch, sids: readonly number[]): HeldBatch {
  const facts = { sequenceFrom: 10n, times: { first: 0n, last: 0n }, late: undefined };
  return new HeldBatch(batch, Uint32Array.from(sids), facts);
}

const range = (length: number, from = 0): number[] => Array.from({ length }, (_, i) => from + i);

const SHAPES: Record<string, Shape> = {
  'a scrape': { rowCount: 1_000, sids: range(1_000, 5), seriesOf: (row) => row, timeOf: () => 1_700_000_000_000n },
  'series in another order': {
    rowCount: 300,
    sids: range(300).map((i) => (i * 7919) % 300),
    seriesOf: (row) => row,
    timeOf: (row) => BigInt(row),
  },
  'few series, several times each': {
    rowCount: 500,
    sids: range(100, 7),
    seriesOf: (row) => row % 100,
    timeOf: (row) => BigInt(Math.floor(row / 100)) * 10_000_000_000n - 5n,
  },
  'as many series as 16 bits count': {
    rowCount: 1_000,
    sids: range(60_000),
    seriesOf: (row) => (row * 61) % 60_000,
    timeOf: (row) => -BigInt(row),
  },
  'more series than 16 bits count': {
    rowCount: 1_000,
    sids: range(SERIES),
    seriesOf: (row) => SERIES - 1 - row,
    timeOf: (row) => (row % 2 === 0 ? -(1n << 63n) : (1n << 63n) - 1n),
  },
  'one row': { rowCount: 1, sids: [3], seriesOf: () => 0, timeOf: () => 4n },
};

describe('HeldBatch', () => {
  for (const [name, shape] of Object.entries(SHAPES)) {
    it(`holds a copy of the rows: ${name}`, () => {
      const batch = batchOf(shape);
      const expected = structuredClone(batch);
      const held = hold(batch, shape.sids);
      batch.times.fill(99n);
      batch.seriesIndex.fill(0);
      for (const column of batch.columns) if (column.kind === 'fixed') column.values.fill(0 as never);
      const rows = held.rows(registry);
      checkBatch(rows);
      expect(rows).to.deep.equal(expected);
      expect([...held.sids()]).to.deep.equal([...shape.sids]);
      expect(held.sequenceTo).to.equal(10n + BigInt(shape.rowCount));
    });

    it(`reads and moves any rows: ${name}`, () => {
      const batch = batchOf(shape);
      const held = hold(batch, shape.sids);
      const random = new SeededRandom(1);
      for (let round = 0; round < 50; round++) {
        const from = random.below(shape.rowCount);
        const to = from + 1 + random.below(shape.rowCount - from);
        const sids = new Uint32Array(to - from);
        held.readSids(from, to, sids);
        expect([...sids]).to.deep.equal(range(to - from, from).map((row) => shape.sids[shape.seriesOf(row)]));
        const rows = Uint32Array.from(range(to - from, from).filter((row) => row % 3 !== round % 3));
        const places = rows.map((row) => to - 1 - row);
        const target = new BigInt64Array(to - from);
        held.rowTimes.move(target, { rows, places, count: rows.length });
        for (const [i, row] of rows.entries()) expect(target[places[i]]).to.equal(shape.timeOf(row));
      }
    });
  }

  it('needs few bytes besides the values of a scrape', () => {
    const shape = SHAPES['a scrape'];
    const batch = batchOf(shape);
    const [values] = batch.columns;
    expect(hold({ ...batch, columns: [values] }, shape.sids).bytes).to.be.within(8_000, 8_100);
  });

  it('knows the times that its rows have', () => {
    for (const shape of Object.values(SHAPES)) {
      const { rowTimes } = hold(batchOf(shape), shape.sids);
      expect(new Set(rowTimes.some())).to.deep.equal(new Set(range(shape.rowCount).map(shape.timeOf)));
    }
  });
});
