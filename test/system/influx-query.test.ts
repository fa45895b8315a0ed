import { compress, isLoaded } from '@foxglove/wasm-zstd';
import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

describe('/query of InfluxDB', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  async function post(
    q: string,
    more: Readonly<Record<string, string>> = {},
  ): Promise<{ status: number; body: unknown }> {
    const body = new URLSearchParams({ q, ...more }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const { status, text } = await almanac.post('/v1/influxdb/query', body, headers);
    return { status, body: JSON.parse(text) };
  }

  async function results(q: string, more?: Readonly<Record<string, string>>): Promise<unknown[]> {
    const { status, body } = await post(q, more);
    expect(status, JSON.stringify(body)).to.equal(200);
    return (body as { results: unknown[] }).results;
  }

  async function errorOf(q: string): Promise<unknown> {
    return ((await results(q)) as { error?: string }[])[0].error;
  }

  const policies = (values: readonly unknown[][]): unknown => ({
    statement_id: 0,
    series: [{ columns: ['name', 'duration', 'shardGroupDuration', 'replicaN', 'default'], values }],
  });

  it('creates databases with their retention, lists and drops them', async () => {
    const create = 'CREATE DATABASE "a-b" WITH DURATION 3d REPLICATION 1 SHARD DURATION 1h NAME "three"';
    expect(await results(`${create}; create database c;`)).to.deep.equal([{ statement_id: 0 }, { statement_id: 1 }]);
    expect(await results(create)).to.deep.equal([{ statement_id: 0 }]);
    expect(await errorOf('CREATE DATABASE "a-b" WITH DURATION 4d')).to.equal(
      'retention policy conflicts with an existing policy',
    );
    expect(await results('SHOW DATABASES')).to.deep.equal([
      { statement_id: 0, series: [{ name: 'databases', columns: ['name'], values: [['a-b'], ['c'], ['public']] }] },
    ]);
    expect(await results('SHOW RETENTION POLICIES ON "a-b"')).to.deep.equal([
      policies([['three', '72h0m0s', '24h0m0s', 1, true]]),
    ]);
    expect(await results('DROP DATABASE "a-b"; DROP DATABASE c; DROP DATABASE c')).to.have.length(3);
    expect(await errorOf('SHOW RETENTION POLICIES ON c')).to.equal('database not found: c');
  });

  it('replaces, alters and keeps the retention policy of a database', async () => {
    await results('CREATE DATABASE rp');
    expect(await results('SHOW RETENTION POLICIES', { db: 'rp' })).to.deep.equal([
      policies([['autogen', '0s', '168h0m0s', 1, true]]),
    ]);
    const create = 'CREATE RETENTION POLICY "week" ON "rp" DURATION 1w REPLICATION 1';
    expect(await errorOf(create)).to.include('add DEFAULT');
    await results(`${create} DEFAULT`);
    expect(await errorOf('CREATE RETENTION POLICY week ON rp DURATION 2w REPLICATION 1 DEFAULT')).to.equal(
      'retention policy already exists',
    );
    await almanac.written('m f=1', 'db=rp');
    expect(await errorOf('CREATE RETENTION POLICY day ON rp DURATION 1d REPLICATION 1 DEFAULT')).to.include(
      'ALTER RETENTION POLICY "week" ON "rp"',
    );
    await results('CREATE RETENTION POLICY year ON rp DURATION 52w REPLICATION 1 DEFAULT');
    expect(await errorOf('ALTER RETENTION POLICY week ON rp DURATION INF')).to.equal(
      'retention policy not found: week',
    );
    await results('ALTER RETENTION POLICY year ON rp DURATION 1h30m SHARD DURATION 1h');
    expect(await results('SHOW RETENTION POLICIES ON rp')).to.deep.equal([
      policies([['year', '1h30m0s', '1h0m0s', 1, true]]),
    ]);
    await results('ALTER RETENTION POLICY year ON rp DURATION INF');
    expect(await errorOf('DROP RETENTION POLICY year ON rp')).to.include('cannot be dropped');
    expect(await errorOf('DROP RETENTION POLICY other ON rp')).to.equal(undefined);
    expect((await post('ALTER RETENTION POLICY year ON rp DURATION 59m')).body).to.deep.equal({
      error: 'error parsing query: retention policy duration must be at least 1h0m0s',
    });
  });

  it('lists measurements, tag keys and field keys', async () => {
    await results('CREATE DATABASE seen');
    expect(await results('SHOW MEASUREMENTS ON seen; SHOW TAG KEYS ON seen')).to.deep.equal([
      { statement_id: 0 },
      { statement_id: 1 },
    ]);
    await almanac.written('cpu,host=a,az=x v=1,n=2i,u=3u,s="t",b=t 1\n"mem" v=1 1\ndisk,host=a v=1 1', 'db=seen');
    const names = async (q: string): Promise<unknown> => {
      const [{ series = [] }] = (await results(q, { db: 'seen' })) as { series?: { values: unknown[] }[] }[];
      return series.flatMap(({ values }) => values.flat());
    };
    expect(await names('SHOW MEASUREMENTS')).to.deep.equal(['"mem"', 'cpu', 'disk']);
    expect(await names('SHOW MEASUREMENTS LIMIT 1 OFFSET 1')).to.deep.equal(['cpu']);
    expect(await names('SHOW MEASUREMENTS WITH MEASUREMENT =~ /^(cpu|d.*)$/')).to.deep.equal(['cpu', 'disk']);
    expect(await names('SHOW MEASUREMENTS WITH MEASUREMENT != cpu')).to.deep.equal(['"mem"', 'disk']);
    expect(await results('SHOW TAG KEYS FROM "autogen"."cpu", disk', { db: 'seen' })).to.deep.equal([
      {
        statement_id: 0,
        series: [
          { name: 'cpu', columns: ['tagKey'], values: [['az'], ['host']] },
          { name: 'disk', columns: ['tagKey'], values: [['host']] },
        ],
      },
    ]);
    const types = ['b', 'boolean', 'n', 'integer', 's', 'string', 'u', 'unsigned', 'v', 'float'];
    expect(await names('SHOW FIELD KEYS FROM /^c/')).to.deep.equal(types);
  });

  it('warns of changes by GET, and formats the reply', async () => {
    const { status, text, headers } = await almanac.get('/v1/lineproto/query?q=CREATE+DATABASE+"got"&pretty=true');
    expect(status).to.equal(200);
    expect(headers.get('x-influxdb-version')).to.equal('1.8.10');
    const warning = "deprecated use of 'CREATE DATABASE' in a read only context, please use a POST request instead";
    const expected = { results: [{ statement_id: 0, messages: [{ level: 'warning', text: warning }] }] };
    expect(text).to.equal(`${JSON.stringify(expected, undefined, 4)}\n`);
  });

  it('runs no statement after one that fails', async () => {
    expect(await results('SHOW RETENTION POLICIES ON nowhere; CREATE DATABASE never')).to.deep.equal([
      { statement_id: 0, error: 'database not found: nowhere' },
      { statement_id: 1, error: 'not executed' },
    ]);
    expect(await almanac.rows("SHOW DATABASES LIKE 'never'")).to.deep.equal([]);
  });

  const REFUSED: readonly (readonly [string, string])[] = [
    [
      'SELECT * FROM (SELECT * FROM cpu)',
      'error parsing query: a subquery is not supported: query with SQL at /v1/sql',
    ],
    ['SELECT * INTO b FROM cpu', 'error parsing query: INTO is not supported: create a flow'],
    ["SELECT * FROM cpu tz('Europe/Oslo')", 'error parsing query: tz() is not supported: query with SQL at /v1/sql'],
    ['SELECT FROM cpu', 'error parsing query: found cpu, expected FROM at line 1, char 13'],
    ['SELECT mean(v FROM cpu', 'error parsing query: found FROM, expected ) at line 1, char 15'],
    [
      'SELECT v FROM cpu WHERE v > ',
      'error parsing query: found EOF, expected string, number, bool at line 1, char 29',
    ],
    [
      'SELECT mean(v) FROM cpu GROUP BY time(1ns)',
      'error parsing query: time dimension must be whole microseconds, at least 1u',
    ],
    [
      'SELECT mean(v) FROM cpu GROUP BY time(1m) fill(x)',
      'error parsing query: found x, expected null, none, previous, linear, number at line 1, char 48',
    ],
    [`SELECT ${'('.repeat(200)}v`, 'error parsing query: expressions have more than 100 levels'],
    [`SELECT v FROM cpu WHERE ${'('.repeat(200)}v = 1`, 'error parsing query: conditions have more than 100 levels'],
    ['CREATE DATABASE', 'error parsing query: found EOF, expected identifier at line 1, char 16'],
    ['CREATE DATABASE x y', 'error parsing query: found y, expected ; or EOF at line 1, char 19'],
    ['SHOW DATABASES\n; CREATE DATABASE "x', 'error parsing query: found "x, expected a statement at char 34'],
    [
      'CREATE DATABASE x WITH',
      'error parsing query: found EOF, expected DURATION, REPLICATION, SHARD, NAME at line 1, char 23',
    ],
    [
      'CREATE RETENTION POLICY x ON y DURATION 1q REPLICATION 1',
      'error parsing query: found 1q, expected duration at line 1, char 41',
    ],
    [
      'CREATE RETENTION POLICY x ON y DURATION 1d',
      'error parsing query: found EOF, expected REPLICATION at line 1, char 43',
    ],
    ['SHOW MEASUREMENTS WITH MEASUREMENT =~ /(/', 'error parsing query: error parsing regexp: missing closing ): `(`'],
    [
      'SHOW MEASUREMENTS WITH MEASUREMENT =~ /((a{1000}){1000}){1000}/',
      'error parsing query: error parsing regexp: too long, or a repetition with a count',
    ],
    ['SHOW MEASUREMENTS '.repeat(5_000), 'error parsing query: query is longer than 65536 characters'],
    ['SHOW DATABASES;'.repeat(1_001), 'error parsing query: query has more than 1000 statements'],
    ['', 'missing required parameter "q"'],
  ];
  for (const [q, error] of REFUSED) {
    it(`refuses ${JSON.stringify(q.slice(0, 60))}`, async () => {
      expect(await post(q)).to.deep.equal({ status: 400, body: { error } });
    });
  }

  it('is absent together with line protocol', async () => {
    const environment = { ALMANAC_STANDALONE__INFLUXDB__ENABLE: 'false' };
    const other = await Almanac.start(tempFolder(after), { environment });
    expect((await other.get('/v1/influxdb/query?q=SHOW+DATABASES')).status).to.equal(404);
    expect((await other.get('/v1/influxdb/api/v2/buckets')).status).to.equal(404);
    await other.stop();
  });

  it('pages through buckets, and refuses limits that are too large', async () => {
    const { text } = await almanac.get('/v1/influxdb/api/v2/buckets?limit=1');
    const { buckets } = JSON.parse(text) as { buckets: Record<string, unknown>[] };
    expect(buckets.map(({ name, type }) => [name, type])).to.deep.equal([['public', 'user']]);
    const rest = await almanac.get(`/v1/influxdb/api/v2/buckets?after=${String(buckets[0]['id'])}&limit=100`);
    expect(rest.text).not.to.include('"public"');
    const bad = await almanac.get('/v1/influxdb/api/v2/buckets?limit=101');
    expect([bad.status, JSON.parse(bad.text)]).to.deep.equal([
      400,
      {
        code: 'invalid',
        message: 'limit must be a whole number from 1 to 100',
        error: 'limit must be a whole number from 1 to 100',
      },
    ]);
  });
});

describe('writes of line protocol', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  it('may be compressed with zstd, by both versions', async () => {
    await isLoaded;
    for (const [path, line] of [
      ['/v1/influxdb/write', 'packed v=1 1'],
      ['/v1/influxdb/api/v2/write', 'packed v=2 2'],
    ] as const) {
      const { status } = await almanac.post(path, new Uint8Array(compress(Buffer.from(line))), {
        'content-encoding': 'zstd',
      });
      expect(status).to.equal(204);
    }
    expect(await almanac.rows('SELECT v FROM packed ORDER BY 1')).to.deep.equal([[1], [2]]);
    const damaged = await almanac.post('/v1/influxdb/write', 'packed v=3 3', { 'content-encoding': 'zstd' });
    expect([damaged.status, (JSON.parse(damaged.text) as { error: string }).error]).to.deep.equal([
      400,
      'zstd: corrupt input',
    ]);
  });

  it('set the options that hints name, on tables that they create', async () => {
    const hints = 'ttl=7d, skip_wal=true, compaction.twcs.time_window=1d, append_mode=true, comment=from a gauge';
    // Hints in a header each count only where this one is absent.
    const headers = { 'x-almanac-hints': hints, 'x-greptime-hint-ttl': '1d' };
    expect((await almanac.post('/v1/influxdb/write', 'hinted v=1 1', headers)).status).to.equal(204);
    const [[, statement]] = await almanac.rows('SHOW CREATE TABLE hinted');
    for (const option of [
      "append_mode = 'true'",
      "'comment' = 'from a gauge'",
      "'compaction.twcs.time_window' = '1d'",
      "skip_wal = 'true'",
      "ttl = '7days'",
    ]) {
      expect(statement).to.include(option);
    }
    const refused = await almanac.post('/v1/influxdb/write', 'never v=1 1', { 'x-almanac-hints': 'skip_wal=perhaps' });
    expect(refused.status).to.equal(400);
    expect(await almanac.rows("SHOW TABLES LIKE 'never'")).to.deep.equal([]);
  });
});
