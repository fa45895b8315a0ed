import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { basic, rowsIn, sendAs, sqlAs } from '#test/support/as-user';
import { tempFolder } from '#test/support/temp-folder';

const ROOT = basic('root', 'right');
const READER = basic('reader', 'read');
const COUNT = '/v1/sql?sql=SELECT+count(*)+FROM+numbers&format=csv';

describe('tickets', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    writeFileSync(join(folder, 'users'), 'root:admin=right\nreader:ro=read\n');
    almanac = await Almanac.start(join(folder, 'data'), {
      environment: { ALMANAC_STANDALONE__USER_PROVIDER: `watch_file_user_provider:${join(folder, 'users')}` },
    });
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function ask(authorization: string, body: string): Promise<{ readonly status: number; readonly text: string }> {
    return sendAs(`${almanac.url}/v1/tickets`, authorization, body);
  }

  async function urlOf(authorization: string, path: string): Promise<string> {
    const { status, text } = await ask(authorization, JSON.stringify({ path }));
    expect(status, text).to.equal(200);
    const { url, expires_in_ms: expiresInMs } = JSON.parse(text) as { url: string; expires_in_ms: number };
    expect(url.startsWith(path)).to.equal(true);
    expect(expiresInMs).to.equal(60_000);
    return almanac.url + url;
  }

  async function get(url: string, method = 'GET'): Promise<{ readonly status: number; readonly text: string }> {
    const response = await fetch(url, { method });
    return { status: response.status, text: await response.text() };
  }

  it('let one request without credentials act for the user who requested them', async () => {
    const url = await urlOf(READER, COUNT);
    expect(await get(url)).to.deep.equal({ status: 200, text: '100\r\n' });
    const again = await fetch(url).then(async (reply) => ({
      status: reply.status,
      challenge: reply.headers.get('www-authenticate'),
      text: await reply.text(),
    }));
    expect(again.challenge).to.equal(null);
    expect(again.status).to.equal(401);
    expect(again.text).to.contain('the ticket was used, is older than a minute, or is for another URL');
    const whoami = await get(await urlOf(READER, '/v1/whoami'));
    expect(JSON.parse(whoami.text)).to.include({ user: 'reader', mode: 'read' });
  });

  it('are for one URL, and give no more rights than their user has', async () => {
    const other = (await urlOf(READER, COUNT)).replace('count', 'sum');
    expect((await get(other)).status).to.equal(401);
    expect((await get(other.replace('sum', 'count'))).status, 'ended by the attempt').to.equal(401);
    expect((await get(await urlOf(READER, COUNT), 'POST')).status).to.equal(401);
    expect((await get((await urlOf(READER, COUNT)).replace(/.$/, ''))).status).to.equal(401);
    const write = await get(await urlOf(READER, `/v1/sql?sql=${encodeURIComponent('CREATE DATABASE taken')}`));
    expect(write.status).to.equal(403);
    const spliced = await urlOf(READER, '/v1/sql?sql=SELECT+1');
    expect((await get(spliced.replace('&ticket', '?ticket'))).status).to.equal(401);
    const send = async (headers: Readonly<Record<string, string>>): Promise<number> =>
      (await fetch(await urlOf(ROOT, COUNT), { headers })).status;
    expect(await send({ authorization: 'Basic bm86bm8=' }), 'of a proxy').to.equal(200);
    expect(await send({ 'x-almanac-auth': 'Basic bm86bm8=' })).to.equal(401);
  });

  it('have the rights of the token that requested them, and end with it or the password', async () => {
    await sqlAs(almanac, "CREATE USER tokens WITH PASSWORD 'long enough'", ROOT);
    await sqlAs(almanac, 'GRANT READ ON public.* TO tokens', ROOT);
    const [[, , token]] = rowsIn(await sqlAs(almanac, 'CREATE TOKEN t FOR tokens', ROOT)) as [[string, string, string]];
    const bearer = `Bearer ${token}`;
    expect(await get(await urlOf(bearer, COUNT))).to.include({ status: 200 });
    const url = await urlOf(bearer, COUNT);
    await sqlAs(almanac, 'DROP TOKEN t FOR tokens', ROOT);
    expect((await get(url)).status).to.equal(401);
    const ofPassword = await urlOf(basic('tokens', 'long enough'), COUNT);
    await sqlAs(almanac, "ALTER USER tokens PASSWORD 'another one'", ROOT);
    expect((await get(ofPassword)).status).to.equal(401);
  });

  it('are refused for what is no path below /v1, and beyond their limit', async () => {
    const paths = [
      '/config',
      'v1/sql',
      '/v1/',
      '/v1/sql?a b',
      "/v1/sql?sql='a'",
      '/v1/../config',
      '/v1/a/./b',
      '/v1/sql?',
      '/v1/sql#x',
      '/v1/\u00e9',
      `/v1/${'a'.repeat(9000)}`,
      7,
      null,
    ];
    for (const path of paths) {
      const { status, text } = await ask(ROOT, JSON.stringify({ path }));
      expect(status, `${path}: ${text}`).to.equal(400);
    }
    for (const body of ['', '[]', '{', 'null', '"/v1/sql"']) expect((await ask(ROOT, body)).status, body).to.equal(400);
    expect((await ask('Basic bm86bm8=', JSON.stringify({ path: COUNT }))).status).to.equal(401);
    const body = JSON.stringify({ path: COUNT });
    const statuses = await Promise.all(Array.from({ length: 120 }, async () => (await ask(READER, body)).status));
    expect(statuses.filter((status) => status === 200).length).to.be.within(90, 100);
    expect(new Set(statuses)).to.deep.equal(new Set([200, 429]));
    expect((await ask(ROOT, body)).status, 'of another user').to.equal(200);
  });
});
