import { expect } from 'chai';

import { Almanac, pollUntil } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const SERIES = 500;

describe('series after a restart', () => {
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;

  beforeEach(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(folder);
  });

  afterEach(async () => {
    await almanac.stop();
    cleanUp();
  });

  async function gauge(name: string): Promise<number> {
    const { text } = await almanac.get('/metrics');
    return Number(new RegExp(`^almanac_ingester_${name} (\\d+)$`, 'm').exec(text)?.[1] ?? NaN);
  }

  /** Regions whose series are in memory; gauges are set now and then, all at once. */
  async function hasOpen(regions: number): Promise<void> {
    const untilMs = performance.now() + 10_000;
    const isSet = async (): Promise<boolean> => (await gauge('wal_files')) > 0 && (await gauge('regions')) === regions;
    expect(await pollUntil(untilMs, isSet), `${await gauge('regions')} regions are open`).to.equal(true);
  }

  const lines = Array.from({ length: SERIES }, (_, i) => `cpu,host=h${i} usage=${i} 1700000000000000000`).join('\n');

  it('are loaded on first use, and are the same', async () => {
    await almanac.written(lines);
    await hasOpen(1);
    await almanac.flush('cpu');
    await almanac.stop();
    almanac = await Almanac.start(folder);
    await hasOpen(0);
    await almanac.written('cpu,host=h7 usage=1000 1700000001000000000');
    await hasOpen(1);
    expect(await almanac.rows("SELECT count(*), max(usage) FROM cpu WHERE host = 'h7'")).to.deep.equal([[2, 1000]]);
  });

  it('are loaded without any request if regions are opened in the background', async () => {
    for (const table of ['cpu', 'mem', 'disk']) await almanac.written(`${table},host=a usage=1 1700000000000000000`);
    for (const table of ['cpu', 'mem', 'disk']) await almanac.flush(table);
    await almanac.stop();
    const environment = { ALMANAC__INIT_REGIONS_IN_BACKGROUND: 'true', ALMANAC__INIT_REGIONS_PARALLELISM: '2' };
    almanac = await Almanac.start(folder, { environment });
    await hasOpen(3);
    expect(await almanac.rows('SELECT usage FROM disk')).to.deep.equal([[1]]);
  });

  it('need not be loaded to recognise a batch that was applied before', async () => {
    await almanac.rows("CREATE TABLE events (ts TIMESTAMP TIME INDEX, n BIGINT) WITH (append_mode = 'true')");
    const send = (): ReturnType<Almanac['post']> =>
      almanac.post('/v1/lineproto/write', 'events n=1i 1700000000000000000', { 'idempotency-key': 'once' });
    expect((await send()).status).to.equal(204);
    await almanac.flush('events');
    await almanac.stop();
    almanac = await Almanac.start(folder);
    await hasOpen(0);
    expect((await send()).status).to.equal(204);
    expect(await almanac.rows('SELECT count(*) FROM events')).to.deep.equal([[1]]);
  });

  it('are loaded at the start if the log has rows that are in no segment', async () => {
    await almanac.written(lines);
    await almanac.kill();
    almanac = await Almanac.start(folder);
    await hasOpen(1);
    expect(await almanac.rows('SELECT count(*) FROM cpu')).to.deep.equal([[SERIES]]);
  });
});
