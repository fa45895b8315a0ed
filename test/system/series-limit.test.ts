import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

/** Memory of indexes of series: a fifth of the memory for queries, which is a tenth of 350 MiB, and a part of that for samples. */
const ENVIRONMENT = {
  ALMANAC_MEMORY__LIMIT: '700MiB',
  ALMANAC_MEMORY__QUERY_PERCENT: '10',
  ALMANAC_MEMORY__CACHE_PERCENT: '10',
};
const INDEX_BYTES = 8 * 1024 * 1024;
/** Series with two values of their own, of which each takes some 150 bytes: of these, one table fits, and not two. */
const SOME = 16_000;
const MANY = 45_000;
const BATCH = 5000;
const TIME_S = 1_700_000_000;
const NO_INDEX = 'path: engine: the series are too many for the memory of their index';

describe('memory of indexes of series', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(
      tempFolder((after) => (cleanUp = after)),
      { environment: ENVIRONMENT },
    );
    await write('one', 0, SOME);
    await write('other', 0, SOME);
    await write('large', 0, MANY - BATCH);
    await almanac.flush('large');
    await write('large', MANY - BATCH, MANY);
  });

  after(async () => {
    await almanac.stop();
    cleanUp();
  });

  async function write(table: string, from: number, to: number): Promise<void> {
    await writeSeries(almanac, table, from, to);
  }

  async function path(sql: string): Promise<string> {
    const rows = await almanac.rows(`EXPLAIN ${sql}`);
    return /^path: .*$/m.exec(String(rows[0][1]))?.[0] ?? '';
  }

  async function promql(query: string): Promise<{ readonly status: number; readonly text: string }> {
    return almanac.get(
      `/v1/prometheus/api/v1/query?${new URLSearchParams({ query, time: String(TIME_S) }).toString()}`,
    );
  }

  async function indexBytes(): Promise<number> {
    const { text } = await almanac.get('/metrics');
    return Number(/^almanac_querier_series_index_bytes (\d+)$/m.exec(text)?.[1]);
  }

  async function compare(table: string, count: number): Promise<void> {
    expect(await almanac.rows(bySql(table))).to.deep.equal(sums(count));
    const last = count - 1;
    expect(await almanac.rows(`SELECT v, zone FROM ${table} WHERE id = '${idOf(last)}'`)).to.deep.equal([
      [last, `z${last % 7}`],
    ]);
    expect(await almanac.rows(`SELECT count(v) FROM ${table} WHERE zone IN ('z1', 'z2')`)).to.deep.equal([
      [Math.floor((count + 5) / 7) + Math.floor((count + 4) / 7)],
    ]);
  }

  it('is that of the tables in use: the indexes of others are discarded', async () => {
    for (const table of ['one', 'other', 'one']) {
      await compare(table, SOME);
      expect(await path(bySql(table))).to.equal('path: kernels');
      const { status, text } = await promql(`sum by (zone) (${table})`);
      expect(status, text).to.equal(200);
      const { data } = JSON.parse(text) as {
        data: { result: { metric: { zone: string }; value: [number, string] }[] };
      };
      const found = data.result.map(({ metric, value }) => [metric.zone, Number(value[1])]);
      expect(found).to.have.deep.members(sums(SOME));
      expect(await indexBytes()).to.be.within(INDEX_BYTES / 2, INDEX_BYTES);
    }
  });

  it('is left to the engine for tables that need more, with equal results', async () => {
    await compare('large', MANY);
    expect(await path(bySql('large'))).to.equal(NO_INDEX);
    expect(await path(`SELECT v FROM large WHERE id = '${idOf(3)}'`)).to.equal(NO_INDEX);
    expect(await path('SELECT count(v) FROM large')).to.equal('path: kernels');
    await write('large', MANY, MANY + 10);
    await compare('large', MANY + 10);
    expect(await indexBytes()).to.be.below(INDEX_BYTES);
  });

  it('ends queries of PromQL over tables that need more, and only these', async () => {
    for (let i = 0; i < 2; i++) {
      const { status, text } = await promql('sum(large)');
      expect(status).to.equal(422);
      expect(text).to.contain('the series of table \\"large\\" need more memory than indexes of series may use');
    }
    const { status, text } = await promql('sum(one)');
    expect(status, text).to.equal(200);
    await compare('large', MANY + 10);
    await compare('other', SOME);
  });

  it('is freed when a table that was read before outgrows it, flushed or not', async () => {
    for (const isFlushed of [true, false]) {
      await write('grow', 0, SOME);
      expect((await promql('sum(grow)')).status).to.equal(200);
      await write('grow', SOME, MANY + BATCH);
      if (isFlushed) await almanac.flush('grow');
      for (let i = 0; i < 2; i++) expect((await promql('sum(grow)')).status).to.equal(422);
      expect((await promql('sum(one)')).status).to.equal(200);
      await compare('one', SOME);
      expect(await path(bySql('one'))).to.equal('path: kernels');
      await almanac.rows('DROP TABLE grow');
    }
  });

  it('is there for a table again after most of its series were dropped with it', async () => {
    await almanac.rows('DROP TABLE large');
    await write('large', 0, SOME);
    await compare('large', SOME);
    expect(await path(bySql('large'))).to.equal('path: kernels');
    expect((await promql('sum(large)')).status).to.equal(200);
  });
});

describe('memory of the engine', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(
      tempFolder((after) => (cleanUp = after)),
      { environment: { ...ENVIRONMENT, ALMANAC_MEMORY__QUERY_PERCENT: '5' } },
    );
    await writeSeries(almanac, 'large', 0, MANY - BATCH);
    await almanac.flush('large');
    await writeSeries(almanac, 'large', MANY - BATCH, MANY);
  });

  after(async () => {
    await almanac.stop();
    cleanUp();
  });

  it('ends queries that need more to find their series, with an error that says so', async () => {
    for (let i = 0; i < 5; i++) {
      for (const sql of [bySql('large'), `SELECT v, zone FROM large WHERE id = '${idOf(7)}'`]) {
        const { status, text, rows } = await almanac.sql(sql);
        if (status === 200) expect(rows).to.deep.equal(sql === bySql('large') ? sums(MANY) : [[7, 'z0']]);
        else expect(text).to.contain('query needs more memory than it may use');
      }
    }
    expect(await almanac.rows('SELECT 1')).to.deep.equal([[1]]);
  });
});

async function writeSeries(almanac: Almanac, table: string, from: number, to: number): Promise<void> {
  for (let first = from; first < to; first += BATCH) {
    const lines: string[] = [];
    for (let i = first; i < Math.min(first + BATCH, to); i++) {
      const tags = `id=${idOf(i)},pod=pod-${'x'.repeat(60)}-${i},zone=z${i % 7}`;
      lines.push(`${table},${tags} v=${i} ${TIME_S}000000000`);
    }
    await almanac.written(lines.join('\n'));
  }
}

function idOf(i: number): string {
  return `id-${'y'.repeat(60)}-${i}`;
}

function bySql(table: string): string {
  return `SELECT zone, sum(v) FROM ${table} GROUP BY zone ORDER BY zone`;
}

/** Returns the sum of the values of the series below `count` with each zone. */
function sums(count: number): [string, number][] {
  const zones = Array.from({ length: 7 }, (_, zone): [string, number] => [`z${zone}`, 0]);
  for (let i = 0; i < count; i++) zones[i % 7][1] += i;
  return zones;
}
