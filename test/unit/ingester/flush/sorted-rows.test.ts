import { expect } from 'chai';

import { TextBlock, type ChunkColumn } from '#shared/duckdb/chunk-writer';
import { Slices } from '#shared/clock/slices';
import { ColumnArrays, planColumns } from '#services/ingester/flush/column-arrays';
import { orderByMetric, type SeriesOrder } from '#services/ingester/flush/series-order';
import { segmentEnds, slicesOf, WindowRows } from '#services/ingester/flush/sorted-rows';
import { STEP_ROWS, type Versions } from '#services/ingester/flush/time-order';
import { Generation } from '#services/ingester/memtable/generation';
import { SeriesRegistry } from '#services/ingester/memtable/series-registry';
import type { Table } from '#shared/contracts/gen/common';
import { NO_METRIC } from '#shared/schema/metric-table';
import type { Column } from '#shared/rowbatch/column';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';
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

/** Returns a batch with one row per series; some rows have no fields. */
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

interface SortedOptions {
  readonly order?: SeriesOrder;
  readonly sliceRows?: number;
  readonly versions?: Versions;
  readonly clock?: HurriedClock;
}

/** Returns all rows as `sid time n s x`, in the order of the arrays. */
async function sorted(
  generation: Generation,
  window: { from: bigint; to: bigint } | undefined,
  { order, sliceRows = 64, versions, clock = new HurriedClock() }: SortedOptions = {},
): Promise<string[]> {
  const slices = new Slices(clock, { workPerLook: 1 });
  const rows = new WindowRows(generation, order, window, slices);
  const counts = await rows.counts();
  const plan = await planColumns(generation, slices);
  const options = {
    table,
    plan,
    rowCount: generation.rowCount,
    hasMetrics: order !== undefined,
    isMerged: versions === 'merged',
  };
  const found: string[] = [];
  for (const slice of slicesOf(segmentEnds(counts, 25), sliceRows)) {
    const arrays = new ColumnArrays(options, slice.length);
    const placed = await rows.place(slice, counts, arrays, versions);
    const all = arrays.columns();
    const metrics = order === undefined ? undefined : all.shift();
    const [sids, times, ...fields] = all;
    for (const [i, { at }] of slice.parts.entries()) {
      if (versions !== undefined && !placed[i].isOrdered) throw new Error('rows are not in order');
      for (let row = at; row < placed[i].end; row++) {
        const keys = metrics === undefined ? [sids, times] : [metrics, sids, times];
        const key = keys.map((it) => keyAt(it, row));
        const cells = fields.map((field) => {
          if (field.kind === 'texts') {
            const block = new TextBlock();
            field.addTo(block, row, row + 1);
            return Buffer.from(block.bytes).toString();
          }
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

function keyAt(column: ChunkColumn, row: number): string {
  if (column.kind !== 'numbers') return 'values' in column ? String(column.values[row]) : '';
  const target = new Uint32Array(1);
  column.read(row, target);
  return String(target[0]);
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
  it('sorts rows of many batches by series and arrival, with their values and nulls', async () => {
    const times = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    expect(await sorted(generationOf(times), undefined)).to.deep.equal(expected(times));
    // Too small even for one series.
    expect(await sorted(generationOf(times), undefined, { sliceRows: 8 })).to.deep.equal(expected(times));
  });

  it('sorts them by metric first if required, for any slices', async () => {
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

  it('selects only the rows of a window', async () => {
    const times = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    expect(await sorted(generationOf(times), { from: 3n, to: 6n })).to.deep.equal(expected([3, 4, 5]));
  });
});

/** A row as it arrived: series, time and the cells of `batchOf`. */
interface Row {
  readonly sid: number;
  readonly time: bigint;
  readonly cells: readonly [n: number | null, s: string | null, x: number | null];
}

/** Returns a generation of these rows, in batches of up to `batchRows`, some without column `x`. */
function lateGeneration(rows: readonly Row[], random: SeededRandom, batchRows = 50): Generation {
  const registry = new SeriesRegistry();
  for (let i = 0; i < SERIES; i++) registry.define(i, 0, new Uint8Array(0));
  const generation = new Generation(1, 0n, 0);
  const sids = Uint32Array.from({ length: SERIES }, (_, i) => i);
  for (let from = 0; from < rows.length;) {
    const to = Math.min(rows.length, from + 1 + random.below(batchRows));
    generation.put(batchOf(rows.slice(from, to)), sids, generation.sequenceTo, registry);
    from = to;
  }
  return generation;
}

function batchOf(rows: readonly Row[]): RowBatch {
  const validityOf = (field: number): Uint8Array | undefined => {
    if (rows.every(({ cells }) => cells[field] !== null)) return undefined;
    const validity = new Uint8Array((rows.length + 7) >> 3);
    for (const [i, { cells }] of rows.entries()) if (cells[field] !== null) validity[i >> 3] |= 1 << (i & 7);
    return validity;
  };
  const texts = rows.map(({ cells }) => cells[1] ?? '');
  const offsets = new Int32Array(rows.length + 1);
  for (const [i, text] of texts.entries()) offsets[i + 1] = offsets[i] + text.length;
  const numbers = Int32Array.from(rows, ({ cells }) => cells[0] ?? 99);
  const floats = Float64Array.from(rows, ({ cells }) => cells[2] ?? 99);
  const bytes = Uint8Array.from(Buffer.from(texts.join('')));
  const columns = [
    { kind: 'fixed', columnId: 2, type: 'Int64', nullCount: 0, validity: validityOf(0), values: numbers },
    { kind: 'bytes', columnId: 3, type: 'String', nullCount: 0, validity: validityOf(1), offsets, bytes },
    { kind: 'fixed', columnId: 4, type: 'Float64', nullCount: 0, validity: validityOf(2), values: floats },
  ] as Column[];
  return {
    rowCount: rows.length,
    tsids: BigUint64Array.from({ length: SERIES }, (_, i) => BigInt(i)),
    seriesIndex: Uint32Array.from(rows, ({ sid }) => sid),
    times: BigInt64Array.from(rows, ({ time }) => time),
    columns: rows.every(({ cells }) => cells[2] === null) ? columns.slice(0, 2) : columns,
  };
}

/** Computes the effect of `versions` row by row. */
function inTime(rows: readonly Row[], versions: Versions): string[] {
  const sorted = [...rows].sort((a, b) => a.sid - b.sid || (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
  const kept: Row[] = [];
  for (const row of sorted) {
    const last = kept.at(-1);
    const isVersion = last?.sid === row.sid && last.time === row.time;
    if (versions === 'all' || !isVersion) kept.push(row);
    else if (versions === 'newest') kept.splice(-1, 1, row);
    else {
      const [n, s, x] = row.cells;
      kept.splice(-1, 1, { ...row, cells: [n ?? last.cells[0], s ?? last.cells[1], x ?? last.cells[2]] });
    }
  }
  return kept.map(({ sid, time, cells: [n, s, x] }) =>
    [sid, time, n ?? 'null', s ?? '', x ?? 'null', 'null'].join(' '),
  );
}

describe('WindowRows with late rows', () => {
  it('sorts them by time, and resolves versions', async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const random = new SeededRandom(seed);
      const nullShare = seed % 3 === 0 ? 0 : 0.4;
      const cell = <T>(value: T): T | null => (random.fraction() < nullShare ? null : value);
      const base = [0n, -(2n ** 62n), 1_700_000_000_123_456_789n, 2n ** 32n - 20n][seed % 4];
      const step = [1n, 2n ** 31n, 1_000_000_007n][seed % 3];
      const rows = Array.from({ length: 40 * seed }, (_, i): Row => {
        const isLate = random.fraction() < 0.4;
        const time = base + BigInt(isLate ? random.below(1 + i / 8) : i >> 3) * step;
        const hasX = seed % 2 === 0 || i % 100 < 50;
        const cells = [cell(random.below(1e9)), cell(`t${i}`), hasX ? cell(random.fraction()) : null] as const;
        return { sid: random.below(1 + (seed % SERIES)), time, cells };
      });
      const generation = lateGeneration(rows, random);
      for (const versions of ['newest', 'merged', 'all'] as const) {
        const found = await sorted(generation, undefined, { versions, sliceRows: 4_000 });
        expect(found, `seed ${seed} ${versions}`).to.deep.equal(inTime(rows, versions));
      }
      const window = { from: base + 2n * step, to: base + 20n * step };
      const inside = rows.filter(({ time }) => time >= window.from && time < window.to);
      const found = await sorted(generation, window, { versions: 'newest', sliceRows: 4_000 });
      expect(found, `seed ${seed} window`).to.deep.equal(inTime(inside, 'newest'));
    }
  });

  it('sorts a long series in reverse order in steps, and yields in between', async () => {
    const rows = Array.from({ length: 50_000 }, (_, i): Row => ({
      sid: 0,
      time: BigInt((50_000 - i) >> 1),
      cells: [i, 't', 1],
    }));
    for (const versions of ['newest', 'merged', 'all'] as const) {
      const clock = new HurriedClock();
      const generation = lateGeneration(rows, new SeededRandom(1), rows.length);
      const found = await sorted(generation, undefined, { versions, sliceRows: rows.length, clock });
      expect(found, versions).to.deep.equal(inTime(rows, versions));
      const passes = Math.log2(rows.length);
      expect(clock.yields).to.be.greaterThan((passes * rows.length) / STEP_ROWS);
    }
  });

  it('leaves them in order of arrival, and reports it, if a segment is cut into slices', async () => {
    const rows = Array.from({ length: 100 }, (_, i): Row => ({
      sid: i % 2,
      time: BigInt(100 - i),
      cells: [i, 't', 1],
    }));
    const generation = lateGeneration(rows, new SeededRandom(1));
    const slices = new Slices(new HurriedClock());
    const window = new WindowRows(generation, undefined, undefined, slices);
    const counts = await window.counts();
    const plan = await planColumns(generation, slices);
    const options = { table, plan, rowCount: 100, hasMetrics: false, isMerged: false };
    const found: string[] = [];
    for (const slice of slicesOf(segmentEnds(counts, 100), 16)) {
      const arrays = new ColumnArrays(options, slice.length);
      const [{ end, isOrdered }] = await window.place(slice, counts, arrays, 'newest');
      expect(isOrdered).to.equal(false);
      const [, times] = arrays.columns();
      for (let row = 0; row < end; row++) found.push('values' in times ? String(times.values[row]) : '');
    }
    const arrived = rows.filter(({ sid }) => sid === 0).concat(rows.filter(({ sid }) => sid === 1));
    expect(found).to.deep.equal(arrived.map(({ time }) => String(time)));
  });
});

describe('segmentEnds', () => {
  it('cuts between series and includes all rows', () => {
    expect(segmentEnds(Uint32Array.from([0, 3, 0, 4, 9, 0, 2]), 7)).to.deep.equal([7, 16, 18]);
    expect(segmentEnds(new Uint32Array(3), 7)).to.deep.equal([]);
  });
});

describe('slicesOf', () => {
  it('places segments at multiples of eight, and cuts long ones', () => {
    const slices = slicesOf([3, 12, 52, 53], 24);
    expect(
      slices.map(({ parts }) => parts.map(({ segment: piece, from, to, at }) => [piece, from, to, at])),
    ).to.deep.equal([
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
