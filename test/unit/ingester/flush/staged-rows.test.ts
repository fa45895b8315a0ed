import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { generationColumns } from '#services/ingester/flush/segment-sql';
import { EngineTable, isFixed, RowsInFile, RowsInTable, type StagedRows } from '#services/ingester/flush/staged-rows';
import { systemClock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import type { Table } from '#shared/contracts/gen/common';
import type { ChunkColumn } from '#shared/duckdb/chunk-writer';
import { openEngine, type DuckDBConnection } from '#shared/duckdb/engine';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import type { FixedValues } from '#shared/rowbatch/column';
import { UNIT_NS } from '#shared/schema/data-type';
import { fieldsOf } from '#shared/schema/table-schema';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

/** Types of fields, with arrays that hold their values. */
const FIELDS: readonly (readonly [type: string, make: (random: SeededRandom, count: number) => FixedValues])[] = [
  ['Float64', (random, count) => Float64Array.from({ length: count }, () => random.fraction() * 1e6 - 5e5)],
  ['Float64', (_, count) => Float64Array.from({ length: count }, (_, i) => [NaN, -0, Infinity, -Infinity][i % 4])],
  ['Float32', (random, count) => Float32Array.from({ length: count }, () => random.fraction())],
  ['Boolean', (random, count) => Uint8Array.from({ length: count }, () => random.below(2))],
  ['Int64', (random, count) => Int8Array.from({ length: count }, () => random.below(256) - 128)],
  ['UInt8', (random, count) => Int16Array.from({ length: count }, () => random.below(256))],
  ['UInt32', (random, count) => BigInt64Array.from({ length: count }, () => BigInt(random.below(2 ** 32)))],
  ['Int32', (random, count) => Int16Array.from({ length: count }, () => random.below(60_000) - 30_000)],
  ['Int64', (random, count) => Int32Array.from({ length: count }, () => random.below(2 ** 31) - 2 ** 30)],
  ['Int64', (random, count) => BigInt64Array.from({ length: count }, () => BigInt(random.below(2 ** 31)) << 31n)],
  ['UInt64', (random, count) => BigInt64Array.from({ length: count }, () => -1n - BigInt(random.below(9)))],
  ['Date', (_, count) => Int32Array.from({ length: count }, (_, i) => [2_147_483_646, -2_147_483_646, 0, -1][i % 4])],
  ['TimestampSecond', (random, count) => timesOf(random, count, 's')],
  ['TimestampMillisecond', (random, count) => timesOf(random, count, 'ms')],
  ['TimestampMicrosecond', (random, count) => timesOf(random, count, 'us')],
  ['TimestampNanosecond', (random, count) => timesOf(random, count, 'ns')],
];

const UNITS = {
  s: 'TimestampSecond',
  ms: 'TimestampMillisecond',
  us: 'TimestampMicrosecond',
  ns: 'TimestampNanosecond',
};
const LIMITS = {
  s: 8_640_000_000_000n,
  ms: 8_640_000_000_000_000n,
  us: 8_640_000_000_000_000_000n,
  ns: 2n ** 63n - 2n,
};

/** Returns times of a unit, the first of them the least and the greatest. */
function timesOf(random: SeededRandom, count: number, unit: keyof typeof LIMITS): BigInt64Array<ArrayBuffer> {
  const perSecond = 1_000_000_000n / UNIT_NS[unit];
  const times = BigInt64Array.from({ length: count }, () => BigInt(random.below(2 ** 31) - 2 ** 30) * perSecond);
  // Those of 64 bits have no text in the engine.
  if (unit !== 'ns') [times[0], times[1]] = [LIMITS[unit], -LIMITS[unit]];
  return times;
}

describe('staged rows', () => {
  let folder = '';
  let connection: DuckDBConnection;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'almanac-staged-'));
    const engine = await openEngine({ threads: 2, memoryBytes: 256 << 20, spillFolder: `${folder}/spill` });
    connection = await engine.connect();
    mkdirSync(`${folder}/time=7/sid=8/f2=9`, { recursive: true });
  });

  after(() => {
    connection.closeSync();
    rmSync(folder, { recursive: true });
  });

  async function contents({ relation, version }: StagedRows, columns: readonly string[]): Promise<unknown[][]> {
    const texts = columns.map((name) => `${name}::VARCHAR`).join(', ');
    const result = await connection.runAndReadAll(`SELECT ${texts} FROM ${relation} ORDER BY ${version}`);
    return result.getRowsJS();
  }

  for (const unit of ['s', 'ms', 'us', 'ns'] as const) {
    it(`are the same in a file as in a table of the engine, with times in ${unit}`, async () => {
      const random = new SeededRandom(7);
      // Once more than a group of the file.
      const count = unit === 'ms' ? 130_003 : 6_003;
      const table = {
        columns: [
          { id: 1, name: 'ts', type: UNITS[unit], kind: 'time' },
          ...FIELDS.map(([type], i) => ({ id: i + 2, name: `f${i}`, type, kind: 'field' })),
          { id: 90, name: 'absent', type: 'Float64', kind: 'field' },
          { id: 91, name: 'none', type: 'TimestampSecond', kind: 'field' },
        ],
      } as unknown as Table;
      const times = timesOf(random, count, unit);
      [times[0], times[1]] = [LIMITS[unit], -LIMITS[unit]];
      const numbers = {
        kind: 'numbers',
        read: (from: number, target: Uint32Array) => target.forEach((_, i) => (target[i] = Math.floor((from + i) / 7))),
      } as const satisfies ChunkColumn;
      const widths = new Map<number, number>();
      const columns: ChunkColumn[] = [
        numbers,
        numbers,
        { kind: 'time', unit, values: times },
        ...FIELDS.map(([type, make], i): ChunkColumn => {
          const values = make(random, count);
          const validity = i % 3 === 0 ? undefined : new Uint8Array((count + 7) >> 3).map(() => random.below(256));
          if (type.includes('Int')) widths.set(i + 2, values.BYTES_PER_ELEMENT);
          return { kind: 'column', column: { kind: 'fixed', columnId: i + 2, type, nullCount: 0, validity, values } };
        }),
        { kind: 'null' },
        { kind: 'null' },
      ];
      const engineTable = new EngineTable(connection, `rows_${unit}`);
      const inTable = new RowsInTable(engineTable, generationColumns(table, widths, true), table, systemClock);
      // Folders of such names are not columns.
      const path = `${folder}/time=7/sid=8/f2=9/${unit}.staged`;
      const slices = new Slices(systemClock);
      const inFile = new RowsInFile({ fs: nodeFileSystem, path, slices }, table, true);
      for (const staged of [inTable, inFile]) {
        await staged.append(columns, 0, 5_000);
        await staged.append(columns, 5_000, count);
        await staged.end();
      }
      // The first times of 64 bits have no text.
      const time = unit === 'ns' ? 'epoch_ns(time)' : 'time';
      const names = ['metric', 'sid', time, ...fieldsOf(table).map(({ id }) => `f${id}`)];
      const [expected, found] = [await contents(inTable, names), await contents(inFile, names)];
      expect(found.length).to.equal(count);
      for (let row = 0; row < count; row++) {
        if (found[row].join() !== expected[row].join()) expect(found[row]).to.deep.equal(expected[row]);
      }
      await inTable.drop();
      await inFile.drop();
      expect(existsSync(path)).to.equal(false);
    });
  }

  it('leave no file, at whatever point they are dropped', async () => {
    const table = { columns: [{ id: 1, name: 'ts', type: 'TimestampSecond', kind: 'time' }] } as unknown as Table;
    const path = `${folder}/dropped.staged`;
    const columns: ChunkColumn[] = [
      { kind: 'numbers', read: (_, target) => target.fill(1) },
      { kind: 'time', unit: 's', values: new BigInt64Array(10) },
    ];
    const make = (): RowsInFile =>
      new RowsInFile({ fs: nodeFileSystem, path, slices: new Slices(systemClock) }, table, false);
    await make().drop();
    const unfinished = make();
    await unfinished.append(columns, 0, 10);
    expect(existsSync(path)).to.equal(true);
    await unfinished.drop();
    await unfinished.drop();
    expect(existsSync(path)).to.equal(false);
  });

  it('are in tables if the rows have texts', () => {
    const tableOf = (type: string): Table =>
      ({
        columns: [
          { id: 1, name: 'ts', type: 'TimestampSecond', kind: 'time' },
          { id: 2, name: 'x', type, kind: 'field' },
          { id: 3, name: 'host', type: 'String', kind: 'tag' },
        ],
      }) as unknown as Table;
    expect(['Float64', 'Boolean', 'Date'].map((type) => isFixed(tableOf(type)))).to.deep.equal([true, true, true]);
    expect(['String', 'Binary', 'Json', 'Decimal(10, 2)'].map((type) => isFixed(tableOf(type)))).to.deep.equal([
      ...[false, false, false, false],
    ]);
  });
});
