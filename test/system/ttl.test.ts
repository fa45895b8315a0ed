import Database from 'better-sqlite3';
import { expect } from 'chai';

import { Almanac, pollUntil } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe('rows with a time to live', () => {
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(folder);
  });

  beforeEach(() => almanac.dropTables());

  after(async () => {
    await almanac.stop();
    cleanUp();
  });

  /** Rows of three ages: 3 h, 30 min, and of the next hour. */
  async function fill(table: string, tables = [table]): Promise<void> {
    const now = Date.now();
    for (const name of tables) {
      const lines = [-3 * HOUR_MS, -HOUR_MS / 2, HOUR_MS].map((age, i) => `${name},h=h${i} v=${i} ${now + age}`);
      const { status, text } = await almanac.write(lines.join('\n'), 'precision=ms');
      expect(status, text).to.equal(204);
    }
  }

  async function hosts(table: string): Promise<unknown[]> {
    return (await almanac.rows(`SELECT h FROM ${table} ORDER BY h`)).map(([host]) => host);
  }

  function make(table: string, ttl: string): Promise<unknown[][]> {
    const options = ttl === '' ? '' : ` WITH (ttl = '${ttl}')`;
    return almanac.rows(
      `CREATE TABLE ${table} (h STRING PRIMARY KEY, v DOUBLE, almanac_timestamp TIMESTAMP(9) TIME INDEX)${options}`,
    );
  }

  /** Segments that the manifest names. */
  function segments(): number {
    const catalog = new Database(`${folder}/metadata/almanac.db`, { readonly: true });
    const { count } = catalog.prepare<[], { count: number }>('SELECT count(*) AS count FROM segments').get()!;
    catalog.close();
    return count;
  }

  it('are hidden once they have expired, in memory and in segments', async () => {
    await make('hourly', '1h');
    await make('daily', '1d');
    await make('endless', '');
    await fill('', ['hourly', 'daily', 'endless']);
    for (let round = 0; round < 2; round++) {
      expect(await hosts('hourly')).to.deep.equal(['h1', 'h2']);
      expect(await hosts('daily')).to.deep.equal(['h0', 'h1', 'h2']);
      expect(await hosts('endless')).to.deep.equal(['h0', 'h1', 'h2']);
      expect(await almanac.rows('SELECT count(*), sum(v), min(h) FROM hourly')).to.deep.equal([[2, 3, 'h1']]);
      for (const table of ['hourly', 'daily', 'endless']) await almanac.flush(table);
    }
  });

  it('are hidden from PromQL, and so are series without other rows', async () => {
    await make('hourly', '1h');
    await fill('hourly');
    const ask = async (path: string): Promise<unknown> => {
      const { text } = await almanac.get(`/v1/prometheus/api/v1/${path}`);
      return (JSON.parse(text) as { data: unknown }).data;
    };
    const now = Date.now() / 1000;
    const range = `start=${now - 4 * 3600}&end=${now}`;
    for (let round = 0; round < 2; round++) {
      const { result } = (await ask(`query?query=count_over_time(hourly[4h])&time=${now}`)) as { result: unknown[] };
      expect(result).to.have.length(1);
      const matrix = (await ask(`query_range?query=hourly&step=60&${range}`)) as {
        result: { metric: { h: string } }[];
      };
      expect(matrix.result.map(({ metric }) => metric.h)).to.deep.equal(['h1']);
      // A segment's series have rows somewhere in its times: which of them have expired only its rows tell.
      if (round === 0) expect(await ask(`label/h/values?match[]=hourly&${range}`)).to.deep.equal(['h1']);
      await almanac.flush('hourly');
    }
  });

  it('do not stay in cached results of PromQL', async () => {
    await make('weekly', '7d');
    const now = Date.now();
    const expiresMs = now + 3_000;
    const times = [expiresMs - 7 * 24 * HOUR_MS, now - HOUR_MS];
    await almanac.write(times.map((time) => `weekly,h=a v=1 ${time}`).join('\n'), 'precision=ms');
    // A query with statistics is computed from scratch.
    const ask = async (query: string, stats: string): Promise<unknown> => {
      const parameters = { query, start: String(now / 1000 - 60), end: String(now / 1000), step: '5', stats };
      const path = `/v1/prometheus/api/v1/query_range?${new URLSearchParams(parameters).toString()}`;
      return (JSON.parse((await almanac.get(path)).text) as { data: { result: unknown } }).data.result;
    };
    const before = new Map<string, unknown>();
    for (const query of [
      'sum(sum_over_time(weekly[8d]))',
      '1 + count_over_time(sum_over_time(weekly[4d])[4d:6h])',
      'sum_over_time(weekly[2h]) + sum_over_time(weekly[1h] offset 167h)',
    ]) {
      before.set(query, await ask(query, ''));
    }
    await pollUntil(performance.now() + 10_000, () => Promise.resolve(Date.now() > expiresMs));
    for (const [query, earlier] of before) {
      const anew = await ask(query, 'true');
      expect(anew, query).not.to.deep.equal(earlier);
      expect(await ask(query, ''), query).to.deep.equal(anew);
    }
  });

  it('have the time to live of the database unless the table has its own', async () => {
    await almanac.rows("CREATE DATABASE d WITH (ttl = '1h')");
    await almanac.rows(
      "CREATE TABLE d.own (h STRING PRIMARY KEY, v DOUBLE, ts TIMESTAMP(3) TIME INDEX) WITH (ttl = 'forever')",
    );
    await almanac.rows('CREATE TABLE d.its (h STRING PRIMARY KEY, v DOUBLE, ts TIMESTAMP(3) TIME INDEX)');
    for (const table of ['own', 'its']) {
      await almanac.rows(`INSERT INTO d.${table} VALUES ('a', 1, ${Date.now() - 2 * HOUR_MS})`);
    }
    expect(await hosts('d.own')).to.deep.equal(['a']);
    expect(await hosts('d.its')).to.deep.equal([]);
  });

  it('become visible again with a longer time to live, as long as they are on disk', async () => {
    const day = Math.floor(Date.now() / DAY_MS) * DAY_MS - 10 * DAY_MS;
    const between = `${Math.floor((Date.now() - day - 12 * HOUR_MS) / 1000)}s`;
    await make('again', between);
    await almanac.write(`again,h=old v=1 ${day + HOUR_MS}\nagain,h=young v=1 ${day + 23 * HOUR_MS}`, 'precision=ms');
    for (let round = 0; round < 2; round++) {
      expect(await hosts('again')).to.deep.equal(['young']);
      await almanac.rows("ALTER TABLE again SET 'ttl' = 'FOREVER'");
      expect(await hosts('again')).to.deep.equal(['old', 'young']);
      await almanac.rows(`ALTER TABLE again SET 'ttl' = '${between}'`);
      await almanac.flush('again');
    }
  });

  it('may expire at once', async () => {
    await make('gone', 'instant');
    await fill('gone');
    expect(await hosts('gone')).to.deep.equal([]);
    await almanac.flush('gone');
    expect(await hosts('gone')).to.deep.equal([]);
  });

  it('are removed from disk with their segments', async () => {
    await make('hourly', '1h');
    await make('endless', '');
    const old = Date.now() - 3 * HOUR_MS;
    for (const table of ['hourly', 'endless']) {
      await almanac.write(`${table},h=a v=1 ${old}`, 'precision=ms');
      await almanac.flush(table);
      await almanac.write(`${table},h=a v=1 ${Date.now()}`, 'precision=ms');
      await almanac.flush(table);
    }
    expect(segments()).to.be.within(3, 4);
    expect(await pollUntil(performance.now() + 60_000, () => Promise.resolve(segments() === 3))).to.equal(true);
    expect(await almanac.rows('SELECT count(*) FROM endless')).to.deep.equal([[2]]);
    expect(await almanac.rows('SELECT count(*) FROM hourly')).to.deep.equal([[1]]);
    const counted = async (): Promise<boolean> => {
      return (await almanac.get('/metrics')).text.includes('almanac_ingester_expired_segments_total 1');
    };
    expect(await pollUntil(performance.now() + 10_000, counted)).to.equal(true);
  });

  it('stay deleted when the time to live becomes longer', async () => {
    // Both of one window, and in the middle of it is when rows expire.
    const middle = (Math.floor(Date.now() / DAY_MS) - 0.5) * DAY_MS;
    const ttl = `${Math.round((Date.now() - middle) / 1000)}s`;
    for (const table of ['shortened', 'gone']) await make(table, '');
    const rows = [`shortened,h=old v=1 ${middle - HOUR_MS}`, `shortened,h=new v=1 ${middle + HOUR_MS}`];
    expect((await almanac.write(rows.join('\n'), 'precision=ms')).status).to.equal(204);
    await almanac.flush('shortened');
    await almanac.rows("DELETE FROM shortened WHERE h = 'old'");
    await almanac.flush('shortened');
    await almanac.write(`gone,h=old v=1 ${middle - HOUR_MS}`, 'precision=ms');
    await almanac.flush('gone');
    expect(segments()).to.equal(3);
    // In the same turn, so that it tells when the other table had its own.
    for (const table of ['shortened', 'gone']) await almanac.rows(`ALTER TABLE ${table} SET 'ttl' = '${ttl}'`);
    const isOver = async (): Promise<boolean> => {
      return /almanac_ingester_expired_segments_total [1-9]/.test((await almanac.get('/metrics')).text);
    };
    expect(await pollUntil(performance.now() + 60_000, isOver)).to.equal(true);
    await almanac.rows("ALTER TABLE shortened SET 'ttl' = 'forever'");
    expect(await hosts('shortened')).to.deep.equal(['new']);
  });

  it('are removed from disk after a restart too, even if their table is no longer read or written', async () => {
    await make('hourly', '1h');
    await make('endless', '');
    const old = Date.now() - 3 * HOUR_MS;
    for (const table of ['hourly', 'endless']) {
      await almanac.write(`${table},h=a v=1 ${old}`, 'precision=ms');
      await almanac.flush(table);
    }
    await almanac.stop();
    almanac = await Almanac.start(folder);
    await almanac.rows("ALTER TABLE endless SET 'ttl' = '1h'");
    expect(await pollUntil(performance.now() + 60_000, () => Promise.resolve(segments() === 0))).to.equal(true);
  });

  it('accept a time to live in several notations', async () => {
    await make('worded', '1h');
    const shown = async (): Promise<string> => String((await almanac.rows('SHOW CREATE TABLE worded'))[0][1]);
    for (const [given, canonical] of [
      ["'FOREVER'", 'forever'],
      ['Forever', 'forever'],
      ["''", 'forever'],
      ["'0s'", 'forever'],
      ['NULL', 'forever'],
      ["'1M'", '1month'],
      ["'1m'", '1m'],
      ["'2 Days 3H'", '2days 3h'],
      ["'INSTANT'", 'instant'],
    ]) {
      await almanac.rows(`ALTER TABLE worded SET 'ttl' = ${given}`);
      expect(await shown(), given).to.contain(`ttl = '${canonical}'`);
    }
    const refused = await almanac.sql("CREATE DATABASE d WITH (ttl = 'Instant')");
    expect(JSON.parse(refused.text)).to.include({ code: 1004, error: 'instant TTL is not allowed for a database' });
  });

  it('refuse a time to live that is not a duration, in a hint or an option', async () => {
    const made = await almanac.sql("CREATE TABLE t (ts TIMESTAMP TIME INDEX) WITH (ttl = '7 parsecs')");
    expect(made.status).to.equal(400);
    const hinted = await almanac.post('/v1/lineproto/write', 'm v=1', { 'x-almanac-hints': 'ttl=7 parsecs' });
    expect(hinted.status, hinted.text).to.equal(400);
    expect((await almanac.sql('SELECT * FROM m')).status).to.equal(400);
  });
});
