import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac, type AlmanacOptions } from '#test/support/almanac';
import { eventually } from '#test/support/conditions';
import { tempFolder } from '#test/support/temp-folder';

const AT_DEBUG: AlmanacOptions = { environment: { ALMANAC_STANDALONE__LOGGING__LEVEL: 'debug' } };
const DONE = 'ran the latest queries again';
const QUERY = 'SELECT h, max(v) FROM e WHERE v > 0 GROUP BY h';

describe('the latest queries', function () {
  this.timeout(60_000);
  let folder = '';
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  const remembered = (): string => join(folder, 'latest-queries.json');
  const restart = async (options: AlmanacOptions = AT_DEBUG): Promise<void> => {
    expect(await almanac.stop()).to.equal(0);
    almanac = await Almanac.start(folder, options);
  };
  const columnsOf = async (query: string): Promise<string> => {
    const [[, , text]] = await almanac.rows(`EXPLAIN ANALYZE ${query}`);
    return /columns: (.*)/.exec(String(text))?.[1] ?? '';
  };

  beforeEach(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(folder);
    await almanac.written('e,h=a v=1 1000000000\ne,h=b v=2 2000000000');
    await almanac.flush('e');
  });

  afterEach(async () => {
    await almanac.kill();
    cleanUp();
  });

  it('run again after a restart, so that those of clients find decoded columns, and count nowhere', async () => {
    await almanac.rows(QUERY);
    const range = await almanac.get('/v1/prometheus/api/v1/query_range?query=e_v%20%2B%201&start=0&end=60&step=15');
    expect(range.status, range.text).to.equal(200);
    await restart();
    await eventually(() => almanac.stderr.includes(DONE));
    expect(existsSync(remembered())).to.equal(false);
    const { text } = await almanac.get('/metrics');
    expect(text).to.not.match(/^almanac_querier_(query_paths_total|promql_duration_seconds_count)\{.* [1-9]/m);
    expect(text).to.not.match(/^almanac_servers_http_(requests_total|sql_elapsed_count)\{.*sql.* [1-9]/m);
    expect(await columnsOf(QUERY)).to.equal('1 row groups in memory, 0 read, 0 bytes decoded');
    expect(await almanac.rows(QUERY)).to.have.deep.members([
      ['a', 1],
      ['b', 2],
    ]);
    expect((await almanac.get('/metrics')).text).to.match(/^almanac_querier_query_paths_total\{path="cache"\} 1$/m);
  });

  it('are remembered by a process without clients, too', async () => {
    const panel = '/v1/prometheus/api/v1/query_range?query=e_v&start=0&end=60&step=15';
    await almanac.rows(QUERY);
    expect((await almanac.get(panel)).status).to.equal(200);
    await restart();
    await eventually(() => almanac.stderr.includes(DONE));
    await almanac.rows('SELECT h, min(v) FROM e GROUP BY h');
    expect(await almanac.stop()).to.equal(0);
    const { sql, promql } = JSON.parse(readFileSync(remembered(), 'utf8')) as {
      readonly sql: readonly { readonly sql: string }[];
      readonly promql: readonly { readonly query: string }[];
    };
    expect(sql.map((request) => request.sql)).to.deep.equal(['SELECT h, min(v) FROM e GROUP BY h', QUERY]);
    expect(promql.map(({ query }) => query)).to.deep.equal(['e_v']);
    almanac = await Almanac.start(folder);
  });

  it('are neither statements that write nor requests of several statements', async () => {
    await almanac.rows(`${QUERY}; INSERT INTO e (h, v, almanac_timestamp) VALUES ('c', 3, 3000)`);
    await almanac.rows(
      `INSERT INTO e (h, v, almanac_timestamp) SELECT h, max(v), 4000::TIMESTAMP(3) FROM e GROUP BY h`,
    );
    await almanac.rows(QUERY);
    await restart({});
    const [[count]] = await almanac.rows('SELECT count(*) FROM e');
    await almanac.rows(QUERY.toLowerCase());
    expect(await almanac.stop()).to.equal(0);
    const { sql } = JSON.parse(readFileSync(remembered(), 'utf8')) as { sql: { sql: string }[] };
    expect(sql.map((request) => request.sql)).to.not.deep.equal([]);
    for (const request of sql) expect(request.sql).to.match(/^SELECT [^;]*$/i);
    almanac = await Almanac.start(folder, AT_DEBUG);
    await eventually(() => almanac.stderr.includes(DONE));
    expect(await almanac.rows('SELECT count(*) FROM e')).to.deep.equal([[count]]);
  });

  it('do not hold up a start by what cannot run or be read', async () => {
    await almanac.rows(QUERY);
    await almanac.rows('SELECT count(v) FROM e');
    await almanac.rows('CREATE TABLE f (h STRING PRIMARY KEY, v DOUBLE, ts TIMESTAMP(3) TIME INDEX)');
    await almanac.rows('SELECT max(v) FROM f');
    await almanac.rows('DROP TABLE f');
    await restart();
    await eventually(() => almanac.stderr.includes(DONE));
    for (const text of ['{', 'null', '{"savedMs":1,"sql":[{}],"promql":[null]}']) {
      expect(await almanac.stop()).to.equal(0);
      writeFileSync(remembered(), text);
      almanac = await Almanac.start(folder, AT_DEBUG);
      await eventually(() => !existsSync(remembered()));
      expect(await almanac.rows('SELECT 1')).to.deep.equal([[1]]);
    }
  });

  it('take no slot from queries of clients', async () => {
    for (let from = 0; from < 1_000_000; from += 100_000) {
      const lines = Array.from({ length: 100_000 }, (_, i) => `many,h=h${i % 100} v=${i} ${from + i}`);
      await almanac.written(lines.join('\n'));
    }
    for (const name of ['max', 'min', 'avg', 'sum']) {
      await almanac.rows(`SELECT h, ${name}(v * 1.5) FROM many GROUP BY h`);
    }
    for (const name of ['max', 'min', 'avg', 'sum']) await almanac.rows(`SELECT h, ${name}(v) FROM many GROUP BY h`);
    await restart({
      environment: {
        ...AT_DEBUG.environment,
        ALMANAC_STANDALONE__QUERY__MAX_CONCURRENT: '1',
        ALMANAC_STANDALONE__QUERY__QUEUE: '0',
      },
    });
    while (!almanac.stderr.includes(DONE)) expect(await almanac.rows('SELECT 1')).to.deep.equal([[1]]);
  });

  it('stay in memory only if that is configured', async () => {
    const isOff = { environment: { ALMANAC_STANDALONE__QUERY__WARM_UP: 'false' } };
    await restart(isOff);
    await almanac.rows(QUERY);
    await restart(isOff);
    expect(existsSync(remembered())).to.equal(false);
    expect(await columnsOf(QUERY)).to.match(/^0 row groups in memory, 1 read/);
  });
});
