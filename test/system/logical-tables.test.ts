import { expect } from 'chai';
import { compressSync } from 'snappy';

import { Almanac } from '#test/support/almanac';
import { bodyV1, bodyV2, type Series } from '#test/support/remote-write-messages';
import { tempFolder } from '#test/support/temp-folder';

const PATH = '/v1/prometheus/write';
const V2_TYPE = { 'content-type': 'application/x-protobuf;proto=io.prometheus.write.v2.Request' };
const PHYSICAL = 'almanac_physical_table';
const T0 = 1_700_000_000_000;
const TIME = 'almanac_timestamp';
const VALUE = 'almanac_value';

function one(labels: Readonly<Record<string, string>>, value = 1, timestamp = T0): Series {
  return { labels: Object.entries(labels), samples: [{ value, timestamp }] };
}

describe('metrics as SQL tables', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
    await rows('CREATE DATABASE other');
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function write(series: readonly Series[], query = ''): Promise<void> {
    const { status, text } = await almanac.post(PATH + query, Uint8Array.from(compressSync(bodyV1(series, []))));
    expect(status, text).to.equal(204);
  }

  async function rows(sql: string, database = 'public'): Promise<unknown[][]> {
    const { status, text, rows: found } = await almanac.sql(sql, { db: database });
    expect(status, `${sql}: ${text}`).to.equal(200);
    return found;
  }

  async function fails(sql: string, database = 'public'): Promise<[number, string]> {
    const { text } = await almanac.sql(sql, { db: database });
    const { code, error } = JSON.parse(text) as { readonly code: number; readonly error: string };
    return [code, error];
  }

  async function columns(table: string, database = 'public'): Promise<unknown[]> {
    return (await rows(`DESC ${table}`, database)).map(([name]) => name);
  }

  it('shows numbers that JSON lacks as null, and distinguishes them', async () => {
    await write([NaN, Infinity, -Infinity, 1].map((value, i) => one({ __name__: 'odd_numbers' }, value, T0 + i)));
    const sql = `SELECT ${VALUE}, ${VALUE}::VARCHAR, isnan(${VALUE}), isinf(${VALUE}) FROM odd_numbers ORDER BY ${TIME}`;
    expect(await rows(sql)).to.deep.equal([
      [null, 'nan', true, false],
      [null, 'inf', false, true],
      [null, '-inf', false, true],
      [1, '1.0', false, false],
    ]);
  });

  it('suggests the name of a metric in another letter case', async () => {
    await write([one({ __name__: 'ALERTS', a: 'b' })]);
    const missing = 'Table not found: almanac.public.alerts, did you mean "ALERTS"?';
    expect(await fails('SELECT count(*) FROM ALERTS')).to.deep.equal([4001, `Failed to plan SQL: ${missing}`]);
    expect(await fails('SELECT * FROM (SELECT * FROM public.alerts)')).to.deep.equal([
      ...[4001, `Failed to plan SQL: ${missing}`],
    ]);
    for (const sql of ['DESC ALERTS', 'SHOW CREATE TABLE Alerts']) {
      expect(await fails(sql), sql).to.deep.equal([4001, missing]);
    }
    expect(await rows('SELECT count(*) FROM "ALERTS"')).to.deep.equal([[1]]);
    expect((await fails('SELECT * FROM nothing'))[1]).to.equal(
      'Failed to plan SQL: Table not found: almanac.public.nothing',
    );
  });

  /** Before and after the rows became segments. */
  async function twice(check: () => Promise<void>): Promise<void> {
    await check();
    await rows(`ADMIN flush_table('${PHYSICAL}')`);
    await check();
  }

  it('have a column for each label of their series, and no others', async () => {
    await write([
      one({ __name__: 'up', job: 'a', Zone: 'x' }),
      one({ __name__: 'up', job: 'b' }, 2, T0 + 1),
      one({ __name__: 'elsewhere', host: 'c', job: 'd' }, 3),
    ]);
    await twice(async () => {
      expect(await rows('DESC up')).to.deep.equal([
        [TIME, 'TimestampMillisecond', 'PRI', 'NO', '', 'TIMESTAMP'],
        [VALUE, 'Float64', '', 'YES', '', 'FIELD'],
        ['Zone', 'String', 'PRI', 'YES', '', 'TAG'],
        ['job', 'String', 'PRI', 'YES', '', 'TAG'],
      ]);
      expect(await rows(`SELECT * FROM up ORDER BY ${TIME}`)).to.deep.equal([
        [T0, 1, 'x', 'a'],
        [T0 + 1, 2, null, 'b'],
      ]);
      expect(await columns('elsewhere')).to.deep.equal([TIME, VALUE, 'host', 'job']);
    });
  });

  it('get new columns with new labels, also in a query that ran before', async () => {
    await write([one({ __name__: 'grows', a: '1' })]);
    const ask = (): Promise<unknown[][]> => rows('SELECT * FROM grows ORDER BY 2');
    expect(await ask()).to.deep.equal([[T0, 1, '1']]);
    await write([one({ __name__: 'grows', a: '1', B: '2' }, 5)]);
    expect(await ask()).to.deep.equal([
      [T0, 1, null, '1'],
      [T0, 5, '2', '1'],
    ]);
  });

  it('read only their own series', async () => {
    const series = Array.from({ length: 200 }, (_, i) => one({ __name__: `pruned_${i % 2}`, n: String(i) }, i));
    await write(series);
    await twice(async () => {
      expect(await rows(`SELECT count(*), min(${VALUE}) FROM pruned_1`)).to.deep.equal([[100, 1]]);
      expect(await rows(`SELECT ${VALUE} FROM pruned_1 WHERE n = '7'`)).to.deep.equal([[7]]);
      expect(await rows(`SELECT ${VALUE} FROM pruned_1 WHERE n = '8'`)).to.deep.equal([]);
    });
    const later = T0 + 400 * 86_400_000;
    await write([one({ __name__: 'much_later' }, 1, later)]);
    await rows(`ADMIN flush_table('${PHYSICAL}')`);
    const [[, scanned]] = await rows('EXPLAIN SELECT * FROM much_later');
    expect(scanned).to.match(/^scan public\.much_later: 1 of [2-9] segments\n/);
  });

  it('are found by any name, in joins and in other databases', async () => {
    await write([
      one({ __name__: 'Node:CPU:rate5m', mode: 'idle' }, 7),
      one({ __name__: 'we"ird', 'la"bel': "o'clock" }, 8),
      one({ __name__: 'right', mode: 'idle' }, 9),
    ]);
    await write([one({ __name__: 'up', where: 'there' }, 11)], '?db=other');
    expect(await rows(`SELECT ${VALUE}, mode FROM "Node:CPU:rate5m"`)).to.deep.equal([[7, 'idle']]);
    expect(await rows(`SELECT "la""bel", ${VALUE} FROM "we""ird"`)).to.deep.equal([["o'clock", 8]]);
    expect(await rows(`SELECT x.${VALUE} FROM public."Node:CPU:rate5m" AS x`)).to.deep.equal([[7]]);
    const join = `SELECT l.${VALUE}, r.${VALUE} FROM "Node:CPU:rate5m" l JOIN "right" r USING (mode)`;
    expect(await rows(join)).to.deep.equal([[7, 9]]);
    expect(await rows(`SELECT * FROM other.up`)).to.deep.equal([[T0, 11, 'there']]);
    expect(
      await rows(`SELECT sum(${VALUE}) FROM other.up, public."right" r`.replace(VALUE, `up.${VALUE}`)),
    ).to.deep.equal([[11]]);
    expect((await fails('SELECT * FROM other.elsewhere'))[0]).to.equal(4001);
    expect((await fails('SELECT * FROM node_cpu'))[0]).to.equal(4001);
  });

  it('name labels that differ only by case as they are stored', async () => {
    await write([one({ __name__: 'cased', host: 'a', Host: 'b', HOST: 'c', Rack: 'd', Almanac_Value: 'e' })]);
    expect(await columns('cased')).to.deep.equal([
      ...[TIME, VALUE, '^almanac_^value', '^h^o^s^t', '^host', 'Rack', 'host'],
    ]);
    expect(await rows(`SELECT host, "^host", "^h^o^s^t", "^almanac_^value", rack FROM cased`)).to.deep.equal([
      ['a', 'b', 'c', 'e', 'd'],
    ]);
  });

  it('show histograms and start times where there are some', async () => {
    const histograms = [
      {
        ...{ count_int: 3, sum: 4, schema: 1, timestamp: T0 },
        ...{ positive_spans: [{ offset: 0, length: 1 }], positive_deltas: [3] },
      },
    ];
    await write([
      { labels: [['__name__', 'latency']], histograms },
      one({ __name__: 'plain' }),
      one({ __name__: 'late' }),
    ]);
    await write([one({ __name__: 'both' }), { labels: [['__name__', 'both']], histograms }]);
    const samples = [{ value: 1, timestamp: T0, start_timestamp: T0 - 9 }];
    const body = bodyV2([{ labels: [['__name__', 'started']], samples }]);
    expect((await almanac.post(PATH, Uint8Array.from(compressSync(body)), V2_TYPE)).status).to.equal(204);
    await write([one({ __name__: 'both', n: '1' })]);
    expect(await columns('late')).to.deep.equal([TIME, VALUE]);
    await write([{ labels: [['__name__', 'late']], histograms: [{ ...histograms[0], timestamp: T0 + 1 }] }]);
    await twice(async () => {
      expect(await columns('late')).to.deep.equal([TIME, VALUE, 'almanac_native_histogram']);
      expect(await columns('latency')).to.deep.equal([TIME, 'almanac_native_histogram']);
      expect(await columns('plain')).to.deep.equal([TIME, VALUE]);
      expect(await columns('both')).to.deep.equal([TIME, VALUE, 'almanac_native_histogram', 'n']);
      expect(await rows('SELECT * FROM started')).to.deep.equal([[T0, 1, T0 - 9]]);
    });
  });

  it('are listed with the tables, and described', async () => {
    await write([one({ __name__: 'listed', job: 'a' })]);
    const names = (await rows("SHOW TABLES LIKE 'l_sted%'")).flat();
    expect(names).to.deep.equal(['listed']);
    const all = (await rows('SHOW TABLES')).flat();
    expect(all).to.include.members([PHYSICAL, 'listed', 'up']);
    expect(all).to.deep.equal([...all].sort());
    const [[, text]] = await rows('SHOW CREATE TABLE listed');
    expect(text).to.equal(
      'CREATE TABLE IF NOT EXISTS "listed" (\n' +
        `  "${TIME}" TIMESTAMP(3) NOT NULL,\n  "${VALUE}" DOUBLE NULL,\n  "job" STRING NULL,\n` +
        `  TIME INDEX ("${TIME}"),\n  PRIMARY KEY ("job")\n)\n\nENGINE=metric\n` +
        `WITH(\n  on_physical_table = '${PHYSICAL}'\n)`,
    );
    expect((await almanac.sql(String(text))).status).to.equal(200);
    expect(await columns('listed')).to.deep.equal([TIME, VALUE, 'job']);
    expect((await rows('SHOW COLUMNS FROM listed')).map(([name]) => name)).to.include.members(['job', TIME]);
    expect((await rows('SHOW INDEX FROM listed')).length).to.equal(2);
  });

  it('store rows of INSERT like those of remote write', async () => {
    await write([one({ __name__: 'filled', job: 'a', Zone: 'x' }), one({ __name__: 'filled', job: 'b' }, 2)]);
    await rows(`INSERT INTO filled VALUES (${T0}, 3, 'x', 'a'), (${T0 + 1}, 4, '', 'b')`);
    await rows(`INSERT INTO filled (job, ${VALUE}, ${TIME}) VALUES ('c', 5, ${T0})`);
    await rows(`INSERT INTO filled SELECT ${TIME}, ${VALUE}, job, "Zone" FROM filled WHERE job = 'a'`);
    await twice(async () => {
      expect(await rows(`SELECT * FROM filled ORDER BY job, ${TIME}`)).to.deep.equal([
        [T0, 3, 'x', 'a'],
        [T0, 2, null, 'b'],
        [T0 + 1, 4, null, 'b'],
        [T0, 5, null, 'c'],
        [T0, 3, 'a', 'x'],
      ]);
    });
    const seconds = T0 / 1000 + 1;
    expect((await rows(`TQL EVAL (${seconds}, ${seconds}, 1) count(filled) AS n`))[0][0]).to.equal(4);
    expect((await fails(`INSERT INTO filled (job, ${VALUE}) VALUES ('a', 1)`))[0]).to.equal(1004);
    expect((await fails(`INSERT INTO filled (nothing) VALUES ('a')`))[0]).to.equal(4002);
  });

  it('cannot be altered by themselves', async () => {
    await write([one({ __name__: 'kept' })]);
    const physical = `almanac.public.${PHYSICAL}`;
    const refused = (what: string): [number, string] => {
      return [1001, `Not supported: ${what} on metric "kept", which is a part of the physical table ${physical}`];
    };
    expect(await fails('DROP TABLE kept')).to.deep.equal(refused('DROP TABLE'));
    expect(await fails('DROP TABLE IF EXISTS kept')).to.deep.equal(refused('DROP TABLE'));
    expect(await fails('TRUNCATE kept')).to.deep.equal(refused('TRUNCATE'));
    expect(await fails(`INSERT INTO ${PHYSICAL} (${TIME}, __name__) VALUES (1, 'kept')`)).to.deep.equal([
      ...[1001, 'Write request to physical region is forbidden'],
    ]);
    expect(await fails(`CREATE TABLE other_kept LIKE kept`)).to.deep.equal(refused('CREATE TABLE LIKE'));
    expect(await fails('CREATE TABLE kept (ts TIMESTAMP TIME INDEX)')).to.deep.equal([
      ...[4000, 'Table already exists: `almanac.public.kept`'],
    ]);
    expect(await rows(`SELECT count(*) FROM kept`)).to.deep.equal([[1]]);
  });

  it('are written only as metrics, and the columns that hold them cannot change', async () => {
    await write([one({ __name__: 'guarded', job: 'a' })]);
    const before = await rows(`DESCRIBE TABLE ${PHYSICAL}`);
    for (const lines of [`${PHYSICAL} v=1 1`, `${PHYSICAL},job=a,w=x ${VALUE}=5 1`]) {
      const { status, text } = await almanac.write(`fine x=1 1\n${lines}`);
      expect([status, text.trim()]).to.deep.equal([
        400,
        `{"error":"partial write: table \\"${PHYSICAL}\\" holds the metrics of Prometheus remote write dropped=1"}`,
      ]);
    }
    expect(await rows('SELECT x FROM fine')).to.deep.equal([[1]]);
    for (const column of [VALUE, 'almanac_native_histogram', 'almanac_start_timestamp'].filter((name) => {
      return before.some(([column]) => column === name);
    })) {
      const reason = `column '${column}': metrics are stored in it`;
      expect(await fails(`ALTER TABLE ${PHYSICAL} DROP COLUMN ${column}`)).to.deep.equal([
        ...[1004, `Not allowed to remove ${reason}`],
      ]);
      expect(await fails(`ALTER TABLE ${PHYSICAL} RENAME COLUMN ${column} TO x`)).to.deep.equal([
        ...[1004, `Not allowed to rename ${reason}`],
      ]);
    }
    expect((await fails(`ALTER TABLE ${PHYSICAL} RENAME COLUMN ${TIME} TO x`))[0]).to.equal(1004);
    expect(await rows(`DESCRIBE TABLE ${PHYSICAL}`)).to.deep.equal(before);
    await rows(`ALTER TABLE ${PHYSICAL} ADD COLUMN noted STRING`);
    await rows(`ALTER TABLE ${PHYSICAL} DROP COLUMN noted`);
    await write([one({ __name__: 'guarded', v: 'b' }, 2)]);
    expect(await rows(`SELECT v, ${VALUE} FROM guarded ORDER BY 2`)).to.deep.equal([
      [null, 1],
      ['b', 2],
    ]);
  });

  it('are hidden by a table of the same name', async () => {
    await rows('CREATE TABLE taken (x INT, ts TIMESTAMP TIME INDEX)');
    await rows('INSERT INTO taken VALUES (5, 1)');
    await write([one({ __name__: 'taken' })]);
    expect(await rows('SELECT x FROM taken')).to.deep.equal([[5]]);
    expect((await rows("SHOW TABLES LIKE 'taken'")).flat()).to.deep.equal(['taken']);
    await rows('DROP TABLE taken');
    expect(await rows(`SELECT ${VALUE} FROM taken`)).to.deep.equal([[1]]);
  });

  it('may be numerous', async () => {
    const count = 12_000;
    for (let at = 0; at < count; at += 2000) {
      const some = Array.from({ length: 2000 }, (_, i) =>
        one({ __name__: `many_${at + i}`, [`label_${(at + i) % 50}`]: 'x' }),
      );
      await write(some, '?db=other');
    }
    expect(await rows('SHOW TABLES', 'other')).to.have.length(count + 2);
    expect((await rows("SHOW TABLES LIKE 'many_1199%'", 'other')).flat()).to.have.length(11);
    expect((await rows("SHOW TABLES WHERE Tables = 'many_7'", 'other')).flat()).to.deep.equal(['many_7']);
    expect(await columns('many_11999', 'other')).to.deep.equal([TIME, VALUE, 'label_49']);
  });

  it('are dropped with their physical table, only in its database', async () => {
    await rows('CREATE DATABASE dropping');
    const series = [one({ __name__: 'gone_a', a: 'b' }), one({ __name__: 'gone_b' })];
    await write(series, '?db=dropping');
    await write(series, '?db=other');
    expect(await rows('SHOW TABLES', 'dropping')).to.deep.equal([[PHYSICAL], ['gone_a'], ['gone_b']]);
    await rows(`DROP TABLE ${PHYSICAL}`, 'dropping');
    expect(await rows('SHOW TABLES', 'dropping')).to.deep.equal([]);
    expect((await fails('SELECT * FROM gone_a', 'dropping'))[0]).to.equal(4001);
    expect(await rows('SELECT count(*) FROM gone_a', 'other')).to.deep.equal([[1]]);
    await write([one({ __name__: 'gone_b' }, 2)], '?db=dropping');
    expect(await rows(`SELECT ${VALUE} FROM gone_b`, 'dropping')).to.deep.equal([[2]]);
  });
});
