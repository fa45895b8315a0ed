import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { openEngine, type DuckDBConnection } from '#shared/duckdb/engine';
import { quoteText } from '#shared/duckdb/quote';
import type { FileSystem } from '#shared/fs/file-system';
import { ShortWrite } from '#shared/fs/node-file';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { syncedFile } from '#shared/fs/synced-file';
import { PlainFile, type PlainColumn, type PlainValues } from '#shared/parquet/plain-file';

const NAN_BITS = 0x7ff8_0000_dead_beefn;

describe('PlainFile', () => {
  let folder = '';
  let path = '';
  let connection: DuckDBConnection;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'almanac-plain-'));
    const engine = await openEngine({ threads: 2, memoryBytes: 256 << 20, spillFolder: `${folder}/spill` });
    connection = await engine.connect();
  });

  let fileCount = 0;
  beforeEach(() => (path = `${folder}/${fileCount++}.parquet`));

  after(() => {
    connection.closeSync();
    rmSync(folder, { recursive: true });
  });

  async function write(columns: readonly PlainColumn[], ...groups: [number, PlainValues[]][]): Promise<void> {
    const file = new PlainFile({ fs: nodeFileSystem, path, columns, slices: new Slices(systemClock) });
    for (const [rowCount, values] of groups) await file.append(rowCount, (i) => values[i]);
    await file.finish();
  }

  async function rows(select = '*'): Promise<unknown[][]> {
    const result = await connection.runAndReadAll(`SELECT ${select} FROM read_parquet(${quoteText(path)})`);
    return result.getRowsJS();
  }

  it('holds integers, doubles and times of each kind as the engine knows them', async () => {
    const all = undefined;
    await write(
      [
        { name: 'a', type: 'i32' },
        { name: 'b', type: 'u32' },
        { name: 'c', type: 'i64' },
        { name: 'd', type: 'u64' },
        { name: 'e', type: 'f32' },
        { name: 'f', type: 'f64' },
        { name: 'g', type: 'day' },
        { name: 'h', type: 'ms' },
        { name: 'i', type: 'us' },
        { name: 'j', type: 'ns' },
      ],
      [
        2,
        [
          { values: Int32Array.of(-1, 2147483647), validity: all },
          { values: Uint32Array.of(0, 4294967295), validity: all },
          { values: BigInt64Array.of(-(2n ** 63n), 1n), validity: all },
          { values: BigUint64Array.of(2n ** 64n - 1n, 1n), validity: all },
          { values: Float32Array.of(0.1, -0), validity: all },
          { values: new Float64Array(BigUint64Array.of(NAN_BITS, 0x8000_0000_0000_0000n).buffer), validity: all },
          { values: Int32Array.of(0, -1), validity: all },
          { values: BigInt64Array.of(-1n, 1_700_000_000_123n), validity: all },
          { values: BigInt64Array.of(-1n, 1_700_000_000_123_456n), validity: all },
          { values: BigInt64Array.of(-1n, 1_700_000_000_123_456_789n), validity: all },
        ],
      ],
    );
    const types = await rows('DISTINCT typeof(COLUMNS(*))');
    expect(types).to.deep.equal([
      'INTEGER UINTEGER BIGINT UBIGINT FLOAT DOUBLE DATE TIMESTAMP TIMESTAMP TIMESTAMP_NS'.split(' '),
    ]);
    expect(await rows('COLUMNS(*)::VARCHAR')).to.deep.equal([
      [
        ...['-1', '0', '-9223372036854775808', '18446744073709551615', '0.1', 'nan', '1970-01-01'],
        ...['1969-12-31 23:59:59.999', '1969-12-31 23:59:59.999999', '1969-12-31 23:59:59.999999999'],
      ],
      [
        ...['2147483647', '4294967295', '1', '1', '-0.0', '-0.0', '1969-12-31'],
        ...['2023-11-14 22:13:20.123', '2023-11-14 22:13:20.123456', '2023-11-14 22:13:20.123456789'],
      ],
    ]);
    expect((await rows('f::BIT::VARCHAR'))[0]).to.deep.equal([NAN_BITS.toString(2).padStart(64, '0')]);
  });

  it('holds any pattern of nulls, in groups of any size', async () => {
    const expected: (bigint | null)[] = [];
    const groups: [number, PlainValues[]][] = [];
    for (const [count, isPresent] of [
      [1, () => true],
      [1, () => false],
      [7, (i: number) => i % 2 === 0],
      [8, () => true],
      [9, (i: number) => i === 8],
      [5_000, (i: number) => i % 3 !== 0],
      [20_001, (i: number) => i < 10_000],
    ] as const) {
      const validity = new Uint8Array((count + 7) >> 3);
      const values = new BigInt64Array(count);
      for (let i = 0; i < count; i++) {
        values[i] = BigInt(expected.length);
        if (isPresent(i)) validity[i >> 3] |= 1 << (i & 7);
        expected.push(isPresent(i) ? values[i] : null);
      }
      const narrow = Float32Array.from(values, Number);
      groups.push([
        count,
        [
          { values, validity },
          { values: narrow, validity },
        ],
      ]);
    }
    await write(
      [
        { name: 'n', type: 'i64' },
        { name: 'x', type: 'f32' },
      ],
      ...groups,
    );
    const found = await rows('n, x');
    expect(found.map(([n]) => n)).to.deep.equal(expected);
    expect(found.map(([, x]) => x)).to.deep.equal(expected.map((n) => (n === null ? null : Number(n))));
  });

  it('holds many columns and many groups', async () => {
    const columns = Array.from({ length: 300 }, (_, i) => ({ name: `f${i}`, type: 'i32' as const }));
    const groups = Array.from({ length: 40 }, (_, g): [number, PlainValues[]] => [
      3,
      columns.map((_, i) => ({ values: Int32Array.of(g, i, -1), validity: undefined })),
    ]);
    await write(columns, ...groups);
    const found = await rows('sum(f0), sum(f299), count(*), sum(f7) FILTER (f7 = 7)');
    expect(found.map((row) => row.map(Number))).to.deep.equal([[780 - 40, 780 + 40 * 299 - 40, 120, 40 * 7 + 7]]);
  });

  it('is removed without a trace at each point at which the disk may be full', async () => {
    const columns = [{ name: 'n', type: 'i64' as const }];
    const values = (): PlainValues => ({ values: new BigInt64Array(100_000), validity: undefined });
    for (const failing of [0, 1, 2]) {
      let [writes, open] = [0, 0];
      const fs: FileSystem = {
        ...nodeFileSystem,
        open: async (name, mode) => {
          const file = await nodeFileSystem.open(name, mode);
          open++;
          return {
            ...syncedFile(file),
            append: (parts) => {
              return writes++ === failing ? Promise.reject(new ShortWrite(0, 1)) : file.append(parts);
            },
            close: () => {
              open--;
              return file.close();
            },
          };
        },
      };
      const file = new PlainFile({ fs, path, columns, slices: new Slices(systemClock) });
      const writing = (async () => {
        for (let group = 0; group < 2; group++) await file.append(100_000, values);
        await file.finish();
      })();
      expect(await writing.catch((error: unknown) => error)).to.be.instanceOf(ShortWrite);
      expect([open, existsSync(path)]).to.deep.equal([1, true]);
      await file.discard();
      await file.discard();
      expect([open, existsSync(path)]).to.deep.equal([0, false]);
    }
  });

  it('refuses values of another width', async () => {
    const writing = write([{ name: 'n', type: 'i64' }], [2, [{ values: Int32Array.of(1, 2), validity: undefined }]]);
    expect(await writing.catch((error: unknown) => String(error))).to.contain('width of values');
  });
});
