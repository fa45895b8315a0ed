import { expect } from 'chai';

import { Almanac, pollUntil } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const QUERY = "SELECT host, max(v) AS most FROM t WHERE host IN ('a', 'b') GROUP BY host ORDER BY host";

describe('result cache', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(folder);
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  beforeEach(async () => {
    await almanac.rows('DROP TABLE IF EXISTS t');
    await almanac.rows('CREATE TABLE t (host STRING PRIMARY KEY, v DOUBLE, ts TIMESTAMP(3) TIME INDEX)');
    await almanac.rows("INSERT INTO t VALUES ('a', 1, 1000), ('b', 2, 2000), ('c', 9, 3000)");
  });

  /** Number of results that came from the cache so far. */
  async function hits(): Promise<number> {
    const { text } = await almanac.get('/metrics');
    return Number(/almanac_querier_query_paths_total\{path="cache"\} (\d+)/.exec(text)?.[1] ?? 0);
  }

  /** Runs a query until its result comes from the cache. */
  async function warm(sql = QUERY): Promise<void> {
    const before = await hits();
    for (let i = 0; i < 3; i++) await almanac.rows(sql);
    expect(await hits(), sql).to.be.above(before);
  }

  it('returns the result of an earlier query, from its second run on', async () => {
    const before = await hits();
    const results = [await almanac.rows(QUERY)];
    expect(await hits()).to.equal(before);
    results.push(await almanac.rows(QUERY), await almanac.rows(QUERY));
    expect(await hits()).to.equal(before + 2);
    for (const rows of results) {
      expect(rows).to.deep.equal([
        ['a', 1],
        ['b', 2],
      ]);
    }
  });

  it('returns a larger result from the third run of its query on', async () => {
    const names = Array.from({ length: 900 }, (_, i) => `host-${String(i).padStart(4, '0')}`);
    await almanac.rows(`INSERT INTO t VALUES ${names.map((name, i) => `('${name}', ${i}, 5000)`).join(', ')}`);
    const sql = 'SELECT host, max(v) FROM t WHERE v >= 0 GROUP BY host ORDER BY host DESC LIMIT 900';
    const before = await hits();
    const results = [await almanac.rows(sql), await almanac.rows(sql)];
    expect(await hits()).to.equal(before);
    results.push(await almanac.rows(sql));
    expect(await hits()).to.equal(before + 1);
    for (const rows of results) expect(rows).to.deep.equal(names.map((name, i) => [name, i]).toReversed());
  });

  it('does not return results of an earlier time', async () => {
    await almanac.rows(
      "CREATE TABLE short (host STRING PRIMARY KEY, v DOUBLE, ts TIMESTAMP(3) TIME INDEX) WITH (ttl='8s')",
    );
    const nowMs = Date.now();
    await almanac.rows(`INSERT INTO t VALUES ('now', 1, ${nowMs + 5000})`);
    await almanac.rows(`INSERT INTO short VALUES ('now', 1, ${nowMs + 60_000}), ('past', 1, ${nowMs - 3000})`);
    const queries: [string, number, number][] = [
      ["SELECT count(v) FROM t WHERE host = 'now' AND ts < now()", 0, 1],
      ['SELECT count(v) FROM short', 2, 1],
    ];
    for (const [sql, first] of queries) {
      for (let i = 0; i < 3; i++) expect(await almanac.rows(sql), sql).to.deep.equal([[first]]);
    }
    for (const [sql, , later] of queries) {
      const isLater = async (): Promise<boolean> => (await almanac.rows(sql))[0][0] === later;
      expect(await pollUntil(performance.now() + 20_000, isLater), sql).to.equal(true);
    }
    await almanac.rows('DROP TABLE short');
  });

  const changes: readonly [string, string, unknown[][]][] = [
    [
      'an insertion',
      "INSERT INTO t VALUES ('b', 5, 4000)",
      [
        ['a', 1],
        ['b', 5],
      ],
    ],
    [
      'a new version of a row',
      "INSERT INTO t VALUES ('b', 0, 2000)",
      [
        ['a', 1],
        ['b', 0],
      ],
    ],
    [
      'a new series',
      "INSERT INTO t VALUES ('d', 5, 4000)",
      [
        ['a', 1],
        ['b', 2],
      ],
    ],
    ['a deletion', "DELETE FROM t WHERE host = 'b'", [['a', 1]]],
    ['a truncation', 'TRUNCATE TABLE t', []],
    [
      'a flush',
      "ADMIN flush_table('t')",
      [
        ['a', 1],
        ['b', 2],
      ],
    ],
    [
      'a new column',
      'ALTER TABLE t ADD COLUMN w DOUBLE',
      [
        ['a', 1],
        ['b', 2],
      ],
    ],
  ];
  for (const [name, sql, expected] of changes) {
    it(`reads the table again after ${name}, of rows in memory or in a segment`, async () => {
      for (const isFlushed of [false, true]) {
        if (isFlushed) {
          if (name === 'a new column') await almanac.rows('ALTER TABLE t DROP COLUMN w');
          await almanac.rows('TRUNCATE TABLE t');
          await almanac.rows("INSERT INTO t VALUES ('a', 1, 1000), ('b', 2, 2000), ('c', 9, 3000)");
          await almanac.rows("ADMIN flush_table('t')");
        }
        await warm();
        await almanac.rows(sql);
        expect(await almanac.rows(QUERY)).to.deep.equal(expected);
      }
    });
  }

  it('tells queries with other literals, names, formats and limits apart', async () => {
    await warm();
    expect(await almanac.rows(QUERY.replace("'b'", "'c'"))).to.deep.equal([
      ['a', 1],
      ['c', 9],
    ]);
    const run = async (parameters: Readonly<Record<string, string>>): Promise<string> => {
      const body = new URLSearchParams(parameters).toString();
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      return (await almanac.post('/v1/sql', body, headers)).text;
    };
    const named = QUERY.replace('most', '"MOST"');
    for (let i = 0; i < 3; i++) {
      expect(await run({ sql: named, format: 'csvWithNames' })).to.equal('host,MOST\r\na,1.0\r\nb,2.0\r\n');
      expect(await run({ sql: QUERY, format: 'csvWithNames' })).to.equal('host,most\r\na,1.0\r\nb,2.0\r\n');
      expect(await run({ sql: QUERY, format: 'csv' })).to.equal('a,1.0\r\nb,2.0\r\n');
      expect(await run({ sql: QUERY, format: 'csv', limit: '1' })).to.equal('a,1.0\r\n');
    }
  });

  it('returns the same reply in every format', async () => {
    const formats = ['greptimedb_v1', 'influxdb_v1', 'json', 'csv', 'csvWithNamesAndTypes', 'table', 'arrow', 'null'];
    const bodyOf = async (format: string): Promise<string> => {
      const target = `/v1/sql?${new URLSearchParams({ sql: QUERY, format }).toString()}`;
      const { status, text, headers } = await almanac.get(target);
      expect(status, text).to.equal(200);
      return `${headers.get('content-type')} ${text.replace(/"execution_time_ms":\d+|Elapsed: .*/, '')}`;
    };
    for (const format of formats) {
      const first = await bodyOf(format);
      const before = await hits();
      expect([await bodyOf(format), await bodyOf(format)], format).to.deep.equal([first, first]);
      expect(await hits(), format).to.equal(before + 2);
    }
  });

  it('keeps the result of each of several statements', async () => {
    const sql = `${QUERY}; SELECT min(v) FROM t`;
    const bodyOf = async (): Promise<string> => {
      const { text } = await almanac.get(`/v1/sql?${new URLSearchParams({ sql }).toString()}`);
      return text.replace(/"execution_time_ms":\d+/, '');
    };
    const first = await bodyOf();
    const before = await hits();
    expect([await bodyOf(), await bodyOf()]).to.deep.equal([first, first]);
    expect(await hits()).to.equal(before + 4);
    const changed = `INSERT INTO t VALUES ('b', 0.5, 2000); ${sql}`;
    for (let i = 0; i < 3; i++) await almanac.get(`/v1/sql?${new URLSearchParams({ sql: changed }).toString()}`);
    expect(await almanac.rows(QUERY)).to.deep.equal([
      ['a', 1],
      ['b', 0.5],
    ]);
  });

  const rangesOfNow = [
    "SELECT ts, max(v) RANGE '2s' FROM t ALIGN '1s' TO NOW BY () ORDER BY ts",
    "SELECT ts, max(v) RANGE (now() - 'START'::TIMESTAMP) FROM t ALIGN '1s' BY () ORDER BY ts",
    'SELECT * FROM latest ORDER BY ts',
  ];
  it('computes range queries again whose slots depend on the clock, also in views', async () => {
    await almanac.rows(`CREATE OR REPLACE VIEW latest AS ${rangesOfNow[0]}`);
    const start = new Date(Date.now() - 1_500).toISOString().replace('Z', '');
    for (const text of rangesOfNow) {
      const sql = text.replace('START', start);
      const first = JSON.stringify(await almanac.rows(sql));
      const isLater = async (): Promise<boolean> => JSON.stringify(await almanac.rows(sql)) !== first;
      expect(await pollUntil(performance.now() + 10_000, isLater), sql).to.equal(true);
    }
    await almanac.rows('DROP VIEW latest');
  });

  it('compresses large known results as others', async () => {
    const wide = Array.from({ length: 60 }, (_, i) => `max(v) AS some_long_name_${i}`).join(', ');
    const values = Array.from({ length: 900 }, (_, i) => `('h${i}', ${1_000_000 + i / 7}, 1000)`).join(', ');
    await almanac.rows(`INSERT INTO t VALUES ${values}`);
    const sql = `SELECT host, ${wide} FROM t GROUP BY host`;
    const before = await hits();
    for (let i = 0; i < 4; i++) {
      const { headers, text } = await almanac.get(`/v1/sql?${new URLSearchParams({ sql }).toString()}`);
      expect(text.length).to.be.above(512 * 1024);
      expect(headers.get('content-encoding')).to.be.oneOf(['gzip', 'br']);
    }
    expect(await hits()).to.be.above(before);
  });

  it('reads a view again after it is replaced', async () => {
    const sql = 'SELECT * FROM least ORDER BY host';
    for (const [least, expected] of [
      [2, [['b', 2]]],
      [1, [['a', 1]]],
    ] as const) {
      await almanac.rows(
        `CREATE OR REPLACE VIEW least AS SELECT host, max(v) AS most FROM t WHERE v = ${least} GROUP BY host`,
      );
      for (let i = 0; i < 3; i++) expect(await almanac.rows(sql)).to.deep.equal(expected);
    }
    await almanac.rows('DROP VIEW least');
  });

  it('refuses a known result that is too large, as its query was', async () => {
    let cleanUpSmall: () => void = () => undefined;
    const folder = tempFolder((after) => (cleanUpSmall = after));
    const environment = { ALMANAC_STANDALONE__HTTP__MAX_RESULT_BYTES: '1KiB' };
    const small = await Almanac.start(folder, { environment });
    await small.write(Array.from({ length: 100 }, (_, i) => `t,host=h${i} v=1 1`).join('\n'));
    for (let i = 0; i < 3; i++) {
      const sql = 'SELECT host, max(v) FROM t GROUP BY host';
      const { status, text } = await small.get(`/v1/sql?${new URLSearchParams({ sql }).toString()}`);
      expect(status).to.equal(400);
      expect(text).to.include('http.max_result_bytes');
    }
    await small.kill();
    cleanUpSmall();
  });

  it('reads the times of a query in its own time zone', async () => {
    const sql = "SELECT host, max(v) AS most FROM t WHERE ts < '1970-01-01 00:00:02' GROUP BY host ORDER BY host";
    await warm(sql);
    const body = new URLSearchParams({ sql, timezone: '-01:00', format: 'csv' }).toString();
    const { text } = await almanac.post('/v1/sql', body, { 'content-type': 'application/x-www-form-urlencoded' });
    expect(text).to.equal('a,1.0\r\nb,2.0\r\nc,9.0\r\n');
  });

  it('does not return rows that have expired since a change of the table', async () => {
    await warm();
    await almanac.rows("ALTER TABLE t SET 'ttl'='1d'");
    for (let i = 0; i < 3; i++) expect(await almanac.rows(QUERY)).to.deep.equal([]);
    await almanac.rows("ALTER TABLE t SET 'ttl'='forever'");
    expect(await almanac.rows(QUERY)).to.have.length(2);
  });

  it('keeps nothing of queries whose times depend on the clock', async () => {
    const before = await hits();
    const sql = "SELECT host, max(v) FROM t WHERE ts > now() - INTERVAL '100 years' GROUP BY host ORDER BY host";
    for (let i = 0; i < 4; i++) expect(await almanac.rows(sql)).to.have.length(3);
    expect(await hits()).to.equal(before);
  });

  it('does not return the rows of an earlier table of the same name', async () => {
    await warm();
    await almanac.rows('DROP TABLE t');
    await almanac.rows('CREATE TABLE t (host STRING PRIMARY KEY, v DOUBLE, ts TIMESTAMP(3) TIME INDEX)');
    await almanac.rows("INSERT INTO t VALUES ('a', 7, 1000)");
    expect(await almanac.rows(QUERY)).to.deep.equal([['a', 7]]);
  });

  it('does not return the rows of a dropped table', async () => {
    await warm();
    await almanac.rows('DROP TABLE t');
    const body = new URLSearchParams({ sql: QUERY }).toString();
    const { text } = await almanac.post('/v1/sql', body, { 'content-type': 'application/x-www-form-urlencoded' });
    expect(text).to.include('Table not found');
  });
});
