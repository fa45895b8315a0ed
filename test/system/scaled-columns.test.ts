import { join } from 'node:path';

import { tableFromIPC } from 'apache-arrow';
import Database from 'better-sqlite3';
import { expect } from 'chai';
import fc from 'fast-check';
import { compressSync } from 'snappy';

import { openEngine } from '#shared/duckdb/engine';
import { Almanac, MERGES_BY_HAND } from '#test/support/almanac';
import { bitsOf, doubleOf, oddDoubles, type Bits } from '#test/support/odd-doubles';
import { isSeriesFile, isSortedSegment, joinTable, parquetPaths, readParquet } from '#test/support/parquet-table';
import { runAlmanac } from '#test/support/program';
import { readBody, remoteRead, wholeSeries } from '#test/support/remote-read-messages';
import { bodyV1, type Series } from '#test/support/remote-write-messages';
import { tempFolder } from '#test/support/temp-folder';

const T0 = 1_700_000_000_000;
const METRICS = 'almanac_physical_table';
const COUNT = 240;
const STALE = 0x7ff0000000000002n;

/** Bits by series and milliseconds after `T0`. */
type Samples = Map<string, Map<number, Bits>>;

function isNan(bits: Bits): boolean {
  return Number.isNaN(doubleOf(bits));
}

/** Returns bits without those of NaN values, which JavaScript may change in results of SQL. */
function quiet(bits: Bits): Bits {
  return isNan(bits) ? bitsOf(NaN) : bits;
}

/** Removes what line protocol cannot say. */
function finite(bits: Bits): Bits {
  return Number.isFinite(doubleOf(bits)) ? bits : bitsOf(-0);
}

function lineOf(name: string, at: number, bits: Bits): string {
  const text = Object.is(doubleOf(bits), -0) ? '-0.0' : String(doubleOf(bits));
  // Half of the rows lack the second field.
  return `m,s=${name} a=${text}${at % 2 === 0 ? `,b=${text}` : ''} ${T0 + at}`;
}

/** A body of remote write. JavaScript may change the bits of NaN, so they are put into the encoded body. */
function bodyOf(samples: ReadonlyMap<string, readonly (readonly [at: number, bits: Bits])[]>): Buffer {
  const nans: Bits[] = [];
  const mark = (index: number): number => -1e-300 * (1 + index);
  const series = Array.from(samples, ([name, all]): Series => {
    const labels = [
      ['__name__', 'odd'],
      ['s', name],
    ] as const;
    const values = all.map(([at, bits]) => {
      return { value: isNan(bits) ? mark(nans.push(bits) - 1) : doubleOf(bits), timestamp: T0 + at };
    });
    return { labels, samples: values };
  });
  const body = bodyV1(series);
  for (const [i, bits] of nans.entries()) {
    const marked = Buffer.from(Float64Array.of(mark(i)).buffer);
    Buffer.from(BigUint64Array.of(bits).buffer).copy(body, body.indexOf(marked));
  }
  return body;
}

describe('scaled columns of merged segments', function () {
  this.timeout(300_000);
  let cleanUps: (() => void)[] = [];
  let folder = '';
  let almanac: Almanac;

  beforeEach(async () => {
    folder = tempFolder((after) => cleanUps.push(after));
    almanac = await start();
  });

  afterEach(async () => {
    await almanac.kill();
    for (const cleanUp of cleanUps.splice(0)) cleanUp();
    cleanUps = [];
  });

  function start(): Promise<Almanac> {
    const copies = tempFolder((after) => cleanUps.push(after));
    const environment = { ...MERGES_BY_HAND.environment, ALMANAC_STANDALONE__STORAGE__COPY_ROOT: copies };
    return Almanac.start(folder, { environment });
  }

  async function restart(): Promise<void> {
    await almanac.kill();
    almanac = await start();
  }

  function segments(table: string): { path: string; hasScaled: boolean; rowCount: number }[] {
    const catalog = new Database(join(folder, 'metadata/almanac.db'), { readonly: true });
    const rows = catalog
      .prepare<[string], { path: string; hasScaled: number; rowCount: number }>(
        `SELECT path, has_scaled AS hasScaled, row_count AS rowCount FROM segments JOIN regions USING (region_id)
         JOIN tables USING (table_id) WHERE name = ?`,
      )
      .all(table);
    catalog.close();
    return rows.map((row) => ({ ...row, hasScaled: row.hasScaled === 1 }));
  }

  function columnId(table: string, column: string): number {
    const catalog = new Database(join(folder, 'metadata/almanac.db'), { readonly: true });
    const sql = `SELECT column_id AS id FROM columns JOIN tables USING (table_id) WHERE tables.name = ? AND columns.name = ?`;
    const { id } = catalog.prepare<[string, string], { id: number }>(sql).get(table, column)!;
    catalog.close();
    return id;
  }

  async function bySql(sql: string): Promise<Samples> {
    const response = await fetch(`${almanac.url}/v1/sql`, {
      method: 'POST',
      body: new URLSearchParams({ sql, format: 'arrow' }),
    });
    expect(response.status).to.equal(200);
    const table = tableFromIPC(new Uint8Array(await response.arrayBuffer()));
    const [names, times, values] = ['s', 't', 'v'].map((name) => table.getChild(name)!);
    const found: Samples = new Map();
    let row = 0;
    for (const { values: doubles, length } of values.data) {
      const words = new BigUint64Array((doubles as Float64Array).slice(0, length).buffer);
      for (const word of words) {
        if (values.get(row) !== null) put(found, String(names.get(row)), Number(times.get(row)) - T0, word);
        row++;
      }
    }
    return found;
  }

  function put(samples: Samples, name: string, at: number, bits: Bits): void {
    const known = samples.get(name);
    if (known === undefined) samples.set(name, new Map([[at, bits]]));
    else known.set(at, bits);
  }

  async function byRemoteRead(...matchers: string[]): Promise<Samples> {
    const { status, body, text } = await remoteRead(almanac, readBody([{ from: 0, to: 1e15, matchers }]));
    expect(status, text).to.equal(200);
    return new Map(
      wholeSeries(body)[0].map(({ labels, samples }) => {
        return [/\bs=(\w+)/.exec(labels)?.[1] ?? '', new Map(samples.map(({ time, bits }) => [time - T0, bits!]))];
      }),
    );
  }

  async function byPromql(selector: string): Promise<Samples> {
    const query = new URLSearchParams({ query: `${selector}[1h]`, time: String(T0 / 1000 + 3000) });
    const { status, text } = await almanac.get(`/v1/prometheus/api/v1/query?${query.toString()}`);
    expect(status, text).to.equal(200);
    const { data } = JSON.parse(text) as {
      data: { result: { metric: Record<string, string>; values: [number, string][] }[] };
    };
    return new Map(
      data.result.map(({ metric, values }) => {
        const samples = values.map(([time, value]): [number, Bits] => {
          return [Math.round(time * 1000) - T0, bitsOf(Number(value.replace('Inf', 'Infinity')))];
        });
        return [metric['s'], new Map(samples)];
      }),
    );
  }

  /** The SQL of docs/formats/segment.md, by an engine that knows nothing of Almanac. */
  async function byDocumentedSql(table: string, field: string): Promise<Samples> {
    const spill = tempFolder((after) => cleanUps.push(after));
    const engine = await openEngine({ threads: 1, memoryBytes: 256 << 20, spillFolder: spill });
    const connection = await engine.connect();
    try {
      const live = segments(table).map(({ path }) => `'${folder}/store/${path}'`);
      const region = segments(table)[0].path.replace(/[^/]*$/, '');
      const own = `__scaled_${field}, __divisor_${field}`;
      const value = `coalesce(${field}, __scaled_${field} / __divisor_${field})`;
      const result = await connection.run(
        `SELECT s.s, epoch_ms(r.almanac_timestamp) - ${T0}, r.${field}::BIT::VARCHAR
         FROM (SELECT * EXCLUDE (${own}) REPLACE (${value} AS ${field})
           FROM read_parquet([${live.join(', ')}], union_by_name = true)) AS r
         JOIN read_parquet('${folder}/store/${region}series-*.parquet', union_by_name = true) AS s ON r.__sid = s.__sid
         WHERE r.${field} IS NOT NULL`,
      );
      const found: Samples = new Map();
      for (const [name, at, bits] of await result.getRows()) {
        put(found, String(name), Number(at), BigInt(`0b${String(bits)}`));
      }
      return found;
    } finally {
      connection.closeSync();
      engine.closeSync();
    }
  }

  function expectSame(found: Samples, expected: Samples, what: string): void {
    expect([...found.keys()].sort(), what).to.deep.equal([...expected.keys()].sort());
    for (const [name, samples] of expected) {
      const own = found.get(name) ?? new Map<number, Bits>();
      const text = (bits: Bits | undefined): string => (bits === undefined ? 'none' : bits.toString(16));
      const wrong = [...samples].filter(([at, bits]) => own.get(at) !== bits);
      const differences = wrong.slice(0, 5).map(([at, bits]) => `${at}: ${text(own.get(at))} for ${text(bits)}`);
      expect(differences.join(), `${what}: ${name}`).to.equal('');
      expect(own.size, `${what}: ${name}`).to.equal(samples.size);
    }
  }

  function filtered(samples: Samples, change: (bits: Bits, at: number) => Bits | undefined): Samples {
    const kept: Samples = new Map();
    for (const [name, all] of samples) {
      for (const [at, bits] of all) {
        const changed = change(bits, at);
        if (changed !== undefined) put(kept, name, at, changed);
      }
    }
    return kept;
  }

  async function writeSamples(samples: ReadonlyMap<string, readonly (readonly [number, Bits])[]>): Promise<void> {
    const body = Uint8Array.from(compressSync(bodyOf(samples)));
    const { status, text } = await almanac.post('/v1/prometheus/write', body);
    expect(status, text).to.equal(204);
  }

  it('keep every bit of random doubles through merges, late rows and restarts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1 }), async (seed) => {
        await almanac.kill();
        folder = tempFolder((after) => cleanUps.push(after));
        almanac = await start();
        await keepsEveryBit(seed);
      }),
      { numRuns: 2, endOnFailure: true, seed: 11 },
    );
  });

  async function keepsEveryBit(seed: number): Promise<void> {
    const lines: Samples = new Map();
    const metrics: Samples = new Map();
    const write = async (from: number, doubles: ReadonlyMap<string, readonly Bits[]>): Promise<void> => {
      const texts: string[] = [];
      const sent = new Map<string, [number, Bits][]>();
      for (const [name, all] of doubles) {
        for (const [i, bits] of all.entries()) {
          texts.push(lineOf(name, from + i, finite(bits)));
          put(lines, name, from + i, finite(bits));
          put(metrics, name, from + i, bits);
        }
        sent.set(
          name,
          all.map((bits, i) => [from + i, bits]),
        );
      }
      await almanac.written(texts.join('\n'), 'precision=ms');
      await writeSamples(sent);
      for (const table of ['m', METRICS]) await almanac.flush(table);
    };
    const verify = async (what: string): Promise<void> => {
      const sql = 'SELECT s, epoch_ms(almanac_timestamp) AS t';
      expectSame(await bySql(`${sql}, a AS v FROM m`), lines, `${what}, SQL`);
      expectSame(
        await bySql(`${sql}, b AS v FROM m`),
        filtered(lines, (bits, at) => (at % 2 === 0 ? bits : undefined)),
        `${what}, SQL, second field`,
      );
      expectSame(
        filtered(await bySql(`${sql}, almanac_value AS v FROM odd`), quiet),
        filtered(metrics, quiet),
        `${what}, SQL of metrics`,
      );
      expectSame(await byRemoteRead('__name__=odd'), metrics, `${what}, remote read`);
      expectSame(await byRemoteRead('__name__=m', '__field__=a'), lines, `${what}, remote read of lines`);
      const shown = filtered(metrics, (bits) => (bits === STALE ? undefined : isNan(bits) ? bitsOf(NaN) : bits));
      expectSame(await byPromql('odd'), shown, `${what}, PromQL`);
    };
    const merge = async (): Promise<void> => {
      for (const table of ['m', METRICS]) {
        await almanac.rows(`ADMIN compact_table('${table}')`);
        expect(
          segments(table).map(({ hasScaled }) => hasScaled),
          table,
        ).to.deep.equal([true]);
        const field = table === 'm' ? 'a' : 'almanac_value';
        const expected = table === 'm' ? lines : metrics;
        expectSame(await byDocumentedSql(table, field), expected, `documented SQL of ${table}`);
      }
    };
    await write(0, oddDoubles(seed, COUNT));
    await write(COUNT, oddDoubles(seed + 1, COUNT));
    await verify('flushed');
    await merge();
    await verify('merged');
    // Half of these rows replace earlier ones.
    await write(COUNT + COUNT / 2, oddDoubles(seed + 2, COUNT));
    await verify('merged and late');
    await merge();
    await verify('merged again');
    await restart();
    await verify('restarted');
    expect(await almanac.stop()).to.equal(0);
    const { code, stdout } = await runAlmanac(['check', folder], {});
    expect(code, stdout).to.equal(0);
  }

  it('hold decimals as whole numbers that another reader divides', async () => {
    const cents = Array.from({ length: 50 }, (_, i) => i * 1.25 + 0.01);
    for (const half of [0, 1]) {
      const rows = cents.map((value, i) => `m,s=a a=${i % 10 === 9 ? 0.1 + 0.2 : value},whole=${i} ${2 * i + half}`);
      await almanac.written(rows.join('\n'));
      await almanac.flush('m');
    }
    await almanac.rows("ADMIN compact_table('m')");
    const [a, whole] = [columnId('m', 'a'), columnId('m', 'whole')];
    const time = columnId('m', 'almanac_timestamp');
    expect(await almanac.stop()).to.equal(0);
    const [{ path }] = segments('m');
    const files = await Promise.all(
      parquetPaths(folder)
        .filter((file) => file.endsWith(path) || isSeriesFile(file))
        .map(readParquet),
    );
    const merged = files.find((file) => file.path.endsWith(path))!;
    expect(isSortedSegment(merged, time)).to.equal(true);
    const { names } = merged;
    expect(names.get(1_100_000_000 + a)).to.equal('__scaled_a');
    expect(names.get(1_200_000_000 + a)).to.equal('__divisor_a');
    expect(names.has(1_100_000_000 + whole), 'whole numbers are not scaled').to.equal(false);
    const rows = joinTable(files, time).sort((x, y) => Number(x.get(time)) - Number(y.get(time)));
    const expected = cents.flatMap((value, i) => (i % 10 === 9 ? [0.1 + 0.2, 0.1 + 0.2] : [value, value]));
    expect(rows.map((row) => row.get(a))).to.deep.equal(expected);
    const found = rows.map((row) => row.get(whole));
    expect(found).to.deep.equal(cents.flatMap((_, i) => [i, i]));
  });

  it('are read through deletions, renamed and retyped columns, and COPY', async () => {
    const write = async (from: number): Promise<void> => {
      for (const half of [0, 1]) {
        const rows = Array.from({ length: 40 }, (_, i) => {
          return `m,s=${i % 3} a=${(from + i) / 8 + half},b=${i / 100},"__scaled_b"=${i} ${from + i}`;
        });
        await almanac.written(rows.join('\n'));
        await almanac.flush('m');
      }
    };
    const all = 'SELECT * FROM m ORDER BY almanac_timestamp, s';
    const merged = async (): Promise<void> => {
      const before = await almanac.rows(all);
      await almanac.rows("ADMIN compact_table('m')");
      expect(await almanac.rows(all)).to.deep.equal(before);
    };
    await write(0);
    await merged();
    expect(segments('m').map(({ hasScaled }) => hasScaled)).to.deep.equal([true]);
    const counted = 'SELECT count(*), count(a), min(a), max(a), sum(a * 8) FROM m WHERE a > 2.5';
    expect(await almanac.rows(counted)).to.deep.equal([[27, 27, 2.625, 5.875, 918]]);
    await almanac.rows('DELETE FROM m WHERE a > 4 AND a < 4.5');
    await almanac.flush('m');
    expect(await almanac.rows('SELECT count(*) FROM m')).to.deep.equal([[37]]);
    await write(100);
    await merged();
    await almanac.rows('ALTER TABLE m RENAME COLUMN b TO c');
    await write(200);
    await merged();
    expect(segments('m').map(({ hasScaled }) => hasScaled)).to.deep.equal([true]);
    await almanac.rows('ALTER TABLE m MODIFY COLUMN a STRING');
    const texts = await almanac.rows('SELECT a FROM m ORDER BY almanac_timestamp, s');
    expect(texts[1]).to.deep.equal(['1.125']);
    await merged();
    await almanac.rows("COPY m TO 'm.parquet' WITH (FORMAT = 'parquet')");
    await almanac.rows(
      'CREATE TABLE copied (s STRING PRIMARY KEY, a STRING, c DOUBLE, almanac_timestamp TIMESTAMP(9) TIME INDEX)',
    );
    await almanac.rows("COPY copied FROM 'm.parquet' WITH (FORMAT = 'parquet')");
    const columns = 'SELECT s, a, c, almanac_timestamp FROM';
    const order = 'ORDER BY almanac_timestamp, s';
    expect(await almanac.rows(`${columns} copied ${order}`)).to.deep.equal(await almanac.rows(`${columns} m ${order}`));
  });
});
