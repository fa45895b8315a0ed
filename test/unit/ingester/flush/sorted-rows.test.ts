import { expect } from 'chai';

import { Slices } from '#shared/clock/slices';
import { ColumnArrays, planColumns } from '#services/ingester/flush/column-arrays';
import { orderByMetric, type SeriesOrder } from '#services/ingester/flush/series-order';
import { pieceEnds, slicesOf, WindowRows } from '#services/ingester/flush/sorted-rows';
import { Generation } from '#services/ingester/memtable/generation';
import { SeriesRegistry } from '#services/ingester/memtable/series-registry';
import type { Table } from '#shared/contracts/gen/common';
import { NO_METRIC } from '#shared/schema/metric-table';
import type { Column } from '#shared/rowbatch/column';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { HurriedClock } from '#test/support/hurried-clock';

const SERIES = 40;

const table = {
  tableId: 1,
  name: 't',
  columns: [
    { id: 1, name: 'ts', type: 'TimestampMillisecond', kind: 'time' },
    { id: 2, name: 'n', type: 'Int64', kind: 'field' },
    { id: 3, name: 's', type: 'String', kind: 'field' },
    { id: 4, name: 'x', type: 'Float64', kind: 'field' },
    { id: 5, name: 'absent', type: 'Binary', kind: 'field' },
  ],
  options: {},
} as unknown as Table;

/** A row of each series at a time; some without fields. */
function batchAt(time: number): RowBatch {
  const rows = Array.from({ length: SERIES }, (_, i) => (i * 7 + time) % SERIES);
  const isWide = time % 2 === 0;
  const texts = rows.map((sid) => `s${sid}t${time}`);
  const offsets = new Int32Array(rows.length + 1);
  for (const [i, text] of texts.entries()) offsets[i + 1] = offsets[i] + text.length;
  const validity = new Uint8Array(SERIES / 8);
  for (const [i, sid] of rows.entries()) if (sid % 3 !== 0) validity[i >> 3] |= 1 << (i & 7);
  const numbers = rows.map((sid) => -sid * time);
  const columns: Column[] = [
    {
      kind: 'fixed',
      columnId: 2,
      type: 'Int64',
      nullCount: 0,
      validity,
      values: isWide ? BigInt64Array.from(numbers, (n) => BigInt(n) - 2n ** 40n) : Int16Array.from(numbers),
    },
    {
      kind: 'bytes',
      columnId: 3,
      type: 'String',
      nullCount: 0,
      validity: undefined,
      offsets,
      bytes: Uint8Array.from(Buffer.from(texts.join(''))),
    },
  ];
  if (isWide) {
    const values = Float64Array.from(rows, (sid) => sid / time);
    columns.push({ kind: 'fixed', columnId: 4, type: 'Float64', nullCount: 0, validity: undefined, values });
  }
  return {
    rowCount: SERIES,
    tsids: BigUint64Array.from({ length: SERIES }, (_, i) => BigInt(i)),
    seriesIndex: Uint32Array.from(rows),
    times: BigInt64Array.from({ length: SERIES }, () => BigInt(time)),
    columns,
  };
}

function generationOf(times: readonly number[]): Generation {
  const registry = new SeriesRegistry();
  for (let i = 0; i < SERIES; i++) registry.define(i, 0, new Uint8Array(0));
  const generation = new Generation(1, 0n, 0);
  const sids = Uint32Array.from({ length: SERIES }, (_, i) => i);
  for (const time of times) generation.put(batchAt(time), sids, generation.sequenceTo, registry);
  return generation;
}

/** All rows as `sid time n s x`, in the order of the arrays. */
async function sorted(
  generation: Generation,
  window: { from: bigint; to: bigint } | undefined,
  { order, sliceRows = 64 }: { order?: SeriesOrder; sliceRows?: number } = {},
): Promise<string[]> {
  const clock = new HurriedClock();
  const slices = new Slices(clock, { workPerLook: 1 });
  const rows = new WindowRows(generation, order, window, slices);
  const counts = await rows.counts();
  const plan = await planColumns(generation, slices);
  const options = { table, plan, rowCount: generation.rowCount, hasMetrics: order !== undefined };
  const found: string[] = [];
  for (const slice of slicesOf(pieceEnds(counts, 25), sliceRows)) {
    const arrays = new ColumnArrays(options, slice.length);
    await rows.place(slice, counts, arrays);
    const all = arrays.columns();
    const metrics = order === undefined ? undefined : all.shift();
    const [sids, times, ...fields] = all;
    for (const { at, from, to } of slice.parts) {
      for (let row = at; row < at + to - from; row++) {
        const keys = metrics === undefined ? [sids, times] : [metrics, sids, times];
        const key = keys.map((it) => ('values' in it ? String(it.values[row]) : ''));
        const cells = fields.map((field) => {
          if (field.kind === 'texts') return String(Buffer.from(field.textOf(row) ?? []));
          if (field.kind !== 'column' || field.column.kind !== 'fixed') return 'null';
          const { validity, values } = field.column;
          return validity === undefined || (validity[row >> 3] & (1 << (row & 7))) !== 0 ? String(values[row]) : 'null';
        });
        found.push([...key, ...cells].join(' '));
      }
    }
  }
  return found;
}

function expected(times: readonly number[], metrics?: Uint32Array): string[] {
  const rows: string[] = [];
  const inOrder = Array.from({ length: SERIES }, (_, sid) => sid);
  if (metrics !== undefined) inOrder.sort((a, b) => metrics[a] - metrics[b] || a - b);
  for (const sid of inOrder) {
    for (const time of times) {
      const isWide = time % 2 === 0;
      const n = BigInt(-sid * time) - (isWide ? 2n ** 40n : 0n);
      const cells = [sid % 3 === 0 ? 'null' : n, `s${sid}t${time}`, isWide ? sid / time : 'null', 'null'];
      rows.push([...(metrics === undefined ? [] : [metrics[sid]]), sid, time, ...cells].join(' '));
    }
  }
  return rows;
}

describe('WindowRows', () => {
  it('brings rows of many batches into the order of series and arrival, with their values and nulls', async () => {
    const times = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    expect(await sorted(generationOf(times), undefined)).to.deep.equal(expected(times));
    // Not even one series at a time fits.
    expect(await sorted(generationOf(times), undefined, { sliceRows: 8 })).to.deep.equal(expected(times));
  });

  it('brings them into the order of metrics first where it is told so, whatever slices they come in', async () => {
    const times = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    const metrics = Uint32Array.from({ length: SERIES }, (_, sid) => (sid === 17 ? NO_METRIC : sid % 3));
    expect(await sorted(generationOf(times), undefined, { order: orderByMetric(metrics) })).to.deep.equal(
      expected(times, metrics),
    );
    const window = { from: 3n, to: 6n };
    expect(await sorted(generationOf(times), window, { order: orderByMetric(metrics) })).to.deep.equal(
      expected([3, 4, 5], metrics),
    );
  });

  it('takes the rows of a window only', async () => {
    const times = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    expect(await sorted(generationOf(times), { from: 3n, to: 6n })).to.deep.equal(expected([3, 4, 5]));
  });
});

describe('pieceEnds', () => {
  it('cuts between series and has all rows', () => {
    expect(pieceEnds(Uint32Array.from([0, 3, 0, 4, 9, 0, 2]), 7)).to.deep.equal([7, 16, 18]);
    expect(pieceEnds(new Uint32Array(3), 7)).to.deep.equal([]);
  });
});

describe('slicesOf', () => {
  it('places segments at multiples of eight, and cuts long ones', () => {
    const slices = slicesOf([3, 12, 52, 53], 24);
    expect(slices.map(({ parts }) => parts.map(({ piece, from, to, at }) => [piece, from, to, at]))).to.deep.equal([
      [
        [0, 0, 3, 0],
        [1, 3, 12, 8],
      ],
      [[2, 12, 36, 0]],
      [
        [2, 36, 52, 0],
        [3, 52, 53, 16],
      ],
    ]);
    expect(slices.map(({ length }) => length)).to.deep.equal([24, 24, 24]);
  });
});
