import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';
import fc from 'fast-check';

import type { ColumnValues } from '#services/querier/columns/decode-chunk';
import { OpenSegment } from '#services/querier/columns/segment-reader';
import { openEngine, type DuckDBConnection } from '#shared/duckdb/engine';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { LocalStore } from '#shared/segments/local-store';
import { tempFolder } from '#test/support/temp-folder';

/** As segments are written, with smaller row groups. */
const PARQUET = 'FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION V2, DICTIONARY_SIZE_LIMIT 0, ROW_GROUP_SIZE 2048';
/** Types of columns, and the widest values that are compared exactly. */
const INTEGERS = {
  TINYINT: 7,
  UTINYINT: 8,
  SMALLINT: 15,
  USMALLINT: 16,
  INTEGER: 31,
  UINTEGER: 32,
  BIGINT: 50,
  UBIGINT: 51,
} as const;
const DOUBLES = ['0.0', '-0.0', '1e308', '5e-324', "'nan'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE", '0.1'];

type Value = bigint | number | boolean | null;

function valueAt({ values, base, valid }: ColumnValues, row: number, isInteger: boolean): Value {
  if (valid !== undefined && ((valid[row >> 3] >> (row & 7)) & 1) === 0) return null;
  return isInteger ? base + BigInt(values[row]) : values[row];
}

describe('OpenSegment', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let folder = '';
  let store: LocalStore;
  let connection: DuckDBConnection;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    store = new LocalStore(folder, nodeFileSystem);
    const engine = await openEngine({ threads: 1, memoryBytes: 512 * 1024 * 1024, spillFolder: folder });
    connection = await engine.connect();
  });

  after(() => {
    connection.closeSync();
    cleanUp();
  });

  /**
   * Writes a table whose columns are expressions of the row number `i`.
   *
   * @param columnIds default: positions from 1.
   */
  async function write(
    columns: readonly string[],
    rows: number,
    options = PARQUET,
    columnIds: readonly number[] = columns.map((_, i) => i + 1),
  ): Promise<void> {
    const select = columns.map((sql, i) => `${sql} AS c${i + 1}`).join(', ');
    const ids = columns.map((_, i) => `c${i + 1}: ${columnIds[i]}`).join(', ');
    await connection.run(`CREATE OR REPLACE TABLE source AS SELECT ${select} FROM range(${rows}) AS t(i)`);
    const target = join(folder, 'a.parquet');
    await connection.run(`COPY source TO '${target}' (${options}, FIELD_IDS {${ids}})`);
  }

  const open = (): Promise<OpenSegment> => {
    return OpenSegment.open(store, { path: 'a.parquet', bytes: statSync(join(folder, 'a.parquet')).size });
  };

  async function allOf(column: number, isInteger: boolean): Promise<Value[]> {
    const segment = await open();
    try {
      const all: Value[] = [];
      for (const [group, rows] of segment.footer.rowCounts.entries()) {
        const read = await segment.read(column, group);
        if (read === undefined) throw new Error('no such column');
        for (let row = 0; row < rows; row++) all.push(valueAt(read, row, isInteger));
      }
      return all;
    } finally {
      await segment.close();
    }
  }

  async function expected(sql: string): Promise<Value[]> {
    const reader = await connection.runAndReadAll(`SELECT ${sql} FROM source`);
    return reader.getColumns()[0] as Value[];
  }

  it('reads integers of every width as the engine does', async () => {
    const types = Object.entries(INTEGERS);
    const shape = fc.record({
      type: fc.constantFrom(...types),
      bits: fc.integer({ min: 0, max: 51 }),
      repeat: fc.constantFrom(1, 7, 500),
      step: fc.integer({ min: 0, max: 3 }),
      nullEvery: fc.constantFrom(0, 0, 2, 5, 1000),
      rows: fc.constantFrom(1, 2, 31, 256, 257, 2048, 2049, 5000),
    });
    await fc.assert(
      fc.asyncProperty(shape, async ({ type: [type, width], bits, repeat, step, nullEvery, rows }) => {
        const modulus = 2n ** BigInt(Math.min(bits, width));
        const sign = type.startsWith('U') ? '' : '* (CASE WHEN i % 3 = 0 THEN -1 ELSE 1 END)';
        const random = `(hash(i // ${repeat}) % ${modulus})::BIGINT ${sign}`;
        const steps = `(i * ${step} + 7) % ${modulus}`;
        const value = `(${step === 0 ? random : steps})::${type}`;
        await write([nullEvery === 0 ? value : `CASE WHEN i % ${nullEvery} > 0 THEN ${value} END`], rows);
        const found = await allOf(1, true);
        expect(found.map((it) => it?.toString())).to.deep.equal(
          (await expected('c1')).map((it) => it?.toString()),
          `${value}, ${rows} rows`,
        );
      }),
      { numRuns: 60, seed: 7 },
    );
  });

  it('reads doubles bit by bit, floats, booleans and times', async () => {
    const special = `[${DOUBLES.join(', ')}][1 + i % ${DOUBLES.length}]`;
    await write(
      [
        'random()',
        `CASE WHEN i % 7 > 0 THEN ${special} END`,
        'random()::FLOAT',
        'i % 3 = 0',
        'make_timestamp_ns(1700000000000000000 + i * 10000000001)',
        "'text ' || i",
        'CASE WHEN i > 4000 THEN i END',
        'NULL::BIGINT',
      ],
      5000,
    );
    const bits = async (column: number): Promise<bigint[]> => {
      const values = (await allOf(column, false)).map((value) => (value === null ? 0.5 : (value as number)));
      return [...new BigInt64Array(Float64Array.from(values).buffer)];
    };
    const wanted = async (column: string): Promise<bigint[]> => {
      const values = (await expected(`coalesce(${column}, 0.5)`)) as number[];
      return [...new BigInt64Array(Float64Array.from(values).buffer)];
    };
    expect(await bits(1)).to.deep.equal(await wanted('c1'));
    expect(await bits(2)).to.deep.equal(await wanted('c2'));
    expect(await allOf(3, false)).to.deep.equal(await expected('c3'));
    expect((await allOf(4, false)).map((it) => it === 1)).to.deep.equal(await expected('c4'));
    expect(await allOf(5, true)).to.deep.equal(await expected('epoch_ns(c5)'));
    expect(await allOf(7, true)).to.deep.equal(await expected('c7'));
    expect(await allOf(8, true)).to.deep.equal(new Array(5000).fill(null));
    const segment = await open();
    expect([...segment.footer.otherIds]).to.deep.equal([6]);
    expect(await segment.read(9, 0)).to.equal(undefined);
    await segment.close();
  });

  it('joins scaled doubles, divisors and those that are stored as they are', async () => {
    const [scaled, divisor] = ['CASE WHEN i % 3 > 0 THEN i * 7 - 9000 END::DOUBLE', '100::DOUBLE'];
    const special = `CASE WHEN i % 6 = 0 THEN [${DOUBLES.join(', ')}][1 + i % ${DOUBLES.length}] END`;
    const shapes: Readonly<Record<string, readonly [plain: string, scaled: string, divisor: string]>> = {
      'some nulls': [special, scaled, divisor],
      'no nulls': ['CASE WHEN i % 3 = 0 THEN random() END', scaled, `CASE WHEN i % 3 > 0 THEN 1000::DOUBLE END`],
      'all scaled': ['NULL::DOUBLE', '-0.0::DOUBLE * i', divisor],
      'none scaled': ['random()', 'NULL::DOUBLE', 'NULL::DOUBLE'],
      'none in some groups': ['CASE WHEN i < 2048 THEN random() END', 'CASE WHEN i > 4096 THEN i::DOUBLE END', '10e0'],
    };
    const none = 0.123;
    const wordsOf = (values: readonly number[]): bigint[] => [...new BigInt64Array(Float64Array.from(values).buffer)];
    for (const [name, columns] of Object.entries(shapes)) {
      await write(columns, 5000, PARQUET, [5, 1_100_000_005, 1_200_000_005]);
      const found = (await allOf(5, false)).map((value) => (value === null ? none : (value as number)));
      const sql = `coalesce(c1, c2 / c3, ${none})`;
      expect(wordsOf(found), name).to.deep.equal(wordsOf((await expected(sql)) as number[]));
      const segment = await open();
      const nulls = segment.footer.columns.get(5)!.nullCounts.reduce((sum, count) => sum + count, 0);
      await segment.close();
      expect(nulls, name).to.equal(found.filter((value) => value === none).length);
    }
    await write(['NULL::DOUBLE', 'i::DOUBLE', 'NULL::DOUBLE'], 10, PARQUET, [5, 1_100_000_005, 1_200_000_005]);
    const refused = await allOf(5, false).catch((error: unknown) => (error as Error).constructor.name);
    expect(refused).to.equal('UnknownLayout');
  });

  it('leaves to the engine what segments do not have, and integers that are far apart', async () => {
    const errorOf = async (read: () => Promise<unknown>): Promise<string> => {
      return read().then(
        () => 'read',
        (error: unknown) => (error as Error).constructor.name,
      );
    };
    await write(['[1, 2]'], 10);
    expect(await errorOf(open)).to.equal('UnknownLayout');
    await write(["'a'", 'CASE WHEN i = 0 THEN -9000000000000000000 ELSE 9000000000000000000 END'], 10);
    expect(await errorOf(() => allOf(1, false))).to.equal('UnknownLayout');
    expect(await errorOf(() => allOf(2, true))).to.equal('UnknownLayout');
    for (const other of ['FORMAT parquet, COMPRESSION snappy', 'FORMAT parquet, COMPRESSION zstd']) {
      await write(['i % 5'], 10_000, other); // the second has a dictionary
      expect(await errorOf(() => allOf(1, true)), other).to.equal('UnknownLayout');
    }
  });

  it('ends for any damaged file, and reads an intact one afterwards', async () => {
    await write(['i % 100', 'random()', 'CASE WHEN i % 2 = 0 THEN i END', 'i % 2 = 0'], 3000);
    const path = join(folder, 'a.parquet');
    const whole = readFileSync(path);
    let failures = 0;
    const readAll = async (): Promise<void> => {
      for (const column of [1, 2, 3, 4]) await allOf(column, false);
    };
    for (let seed = 0; seed < 300; seed++) {
      const damaged = Buffer.from(whole);
      const at = (seed * 7919) % damaged.length;
      damaged[at] ^= 1 << (seed % 8);
      if (seed % 10 === 0) damaged[(at * 31) % damaged.length] = seed;
      writeFileSync(path, seed % 25 === 24 ? damaged.subarray(0, at) : damaged);
      await readAll().catch(() => failures++);
    }
    expect(failures).to.be.greaterThan(10);
    writeFileSync(path, whole);
    await readAll();
  });
});
