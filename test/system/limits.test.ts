import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

describe('limits', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  afterEach(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function start(environment: Record<string, string>): Promise<void> {
    almanac = await Almanac.start(
      tempFolder((after) => (cleanUp = after)),
      { environment },
    );
  }

  it('of the tables of a database holds for writes and statements, and leaves nothing', async () => {
    await start({ ALMANAC_STANDALONE__LIMITS__MAX_TABLES_PER_DATABASE: '3' });
    expect((await almanac.write('a v=1 1\nb v=1 1')).status).to.equal(204);
    const refused = await almanac.write('a v=2 2\nc v=1 1\nd v=1 1');
    expect(refused.status).to.equal(400);
    expect(refused.text).to.contain('has the 3 tables that limits.max_tables_per_database allows');
    expect((await almanac.sql('SHOW TABLES')).rows).to.deep.equal([['a'], ['b']]);
    expect((await almanac.sql('SELECT count(*) FROM a')).rows).to.deep.equal([[1]]);
    expect((await almanac.sql('CREATE TABLE c (ts TIMESTAMP TIME INDEX)')).status).to.equal(200);
    const create = await almanac.sql('CREATE TABLE d (ts TIMESTAMP TIME INDEX)');
    expect([create.status, create.text]).to.deep.include.members([400]);
    expect((await almanac.sql('CREATE TABLE IF NOT EXISTS c (ts TIMESTAMP TIME INDEX)')).status).to.equal(200);
    expect((await almanac.write('a w=1,v=3 3')).status, 'columns are no tables').to.equal(204);
    // Another database has room of its own, and a dropped table makes room.
    await almanac.rows('CREATE DATABASE other');
    expect((await almanac.write('a v=1 1', 'db=other')).status).to.equal(204);
    await almanac.rows('DROP TABLE c');
    expect((await almanac.write('d v=1 1')).status).to.equal(204);
  });

  it('of the requests of a user is its own, and has a time to wait', async () => {
    await start({
      ALMANAC_STANDALONE__USER_PROVIDER: 'static_user_provider:cmd:one=pw,two=pw',
      ALMANAC_STANDALONE__LIMITS__USER_REQUESTS_PER_SECOND: '1',
    });
    const send = (user: string): Promise<Response> => {
      const authorization = `Basic ${Buffer.from(`${user}:pw`).toString('base64')}`;
      return fetch(`${almanac.url}/v1/sql?sql=SELECT+1`, { headers: { authorization } });
    };
    const statuses: number[] = [];
    let limited: Response | undefined;
    for (let i = 0; i < 15; i++) {
      const response = await send('one');
      statuses.push(response.status);
      if (response.status === 429) limited = response;
      else await response.text();
    }
    expect(statuses.filter((status) => status === 200)).to.have.length.within(10, 12);
    expect(Number(limited?.headers.get('retry-after'))).to.be.within(1, 2);
    expect(await limited?.json()).to.include({ code: 6001, error: 'user "one" sends more than 1 requests a second' });
    expect((await send('two')).status).to.equal(200);
  });
});
