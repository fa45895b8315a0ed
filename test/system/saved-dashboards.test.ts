import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { basic } from '#test/support/as-user';
import { tempFolder } from '#test/support/temp-folder';

interface Reply {
  readonly status: number;
  readonly body: {
    readonly dashboards?: readonly { readonly name: string; readonly definition?: string; readonly etag?: string }[];
    readonly error?: string;
  };
}

describe('saved dashboards over HTTP', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;
  const environment = (): Record<string, string> => ({
    ALMANAC_STANDALONE__USER_PROVIDER: `static_user_provider:file:${join(folder, 'users')}`,
  });

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    writeFileSync(join(folder, 'users'), 'root:admin=pass\nann:ro=pass\n');
    almanac = await Almanac.start(join(folder, 'data'), { environment: environment() });
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function call(method: string, path: string, body?: string, user = 'root', headers = {}): Promise<Reply> {
    const response = await fetch(`${almanac.url}/v1/dashboards${path}`, {
      method,
      headers: { authorization: basic(user, 'pass'), ...headers },
      ...(body === undefined ? {} : { body }),
    });
    return { status: response.status, body: (await response.json()) as Reply['body'] };
  }

  const texts = (reply: Reply): unknown => reply.body.dashboards?.map(({ name, definition }) => [name, definition]);
  const names = (reply: Reply): unknown => reply.body.dashboards?.map(({ name }) => name);

  it('are stored by name in a database, replaced, listed, and deleted', async () => {
    expect(names(await call('GET', ''))).to.deep.equal([]);
    const odd = 'a/b <i> ü 1';
    const text = '{"title": "Ünïcode", "n": 9007199254740993}\n';
    expect(names(await call('POST', `/${encodeURIComponent(odd)}`, text))).to.deep.equal([odd]);
    await call('POST', '/cpu', 'first');
    await call('POST', '/cpu', 'second');
    expect(texts(await call('GET', ''))).to.deep.equal([
      [odd, text],
      ['cpu', 'second'],
    ]);
    expect(texts(await call('GET', `/${encodeURIComponent(odd)}`))).to.deep.equal([[odd, text]]);
    expect(names(await call('DELETE', `/${encodeURIComponent(odd)}`))).to.deep.equal([odd]);
    expect(names(await call('GET', ''))).to.deep.equal(['cpu']);
    for (const method of ['GET', 'DELETE']) {
      const missing = await call(method, '/nothing');
      expect([missing.status, missing.body.error]).to.deep.equal([
        404,
        'the database public has no dashboard "nothing"',
      ]);
    }
  });

  it('are replaced only as their conditions allow', async () => {
    const post = (body: string, condition: Record<string, string>): Promise<Reply> =>
      call('POST', '/tagged', body, 'root', condition);
    const missing = await post('x', { 'if-match': '"abc"' });
    expect([missing.status, missing.body.error]).to.deep.equal([
      412,
      'the dashboard "tagged" was deleted: read it again, and send its etag',
    ]);
    const first = await post('first', { 'if-none-match': '*' });
    const etag = first.body.dashboards?.[0].etag ?? '';
    expect((await call('GET', '/tagged')).body.dashboards).to.deep.equal([
      { name: 'tagged', definition: 'first', etag },
    ]);
    expect((await post('second', { 'if-none-match': '*' })).body.error).to.contain('exists already');

    // Of clients that read the same text, one replaces it.
    const writers = Array.from(
      { length: 8 },
      async (_, i) => (await post(`by ${i}`, { 'if-match': `"${etag}"` })).status,
    );
    expect((await Promise.all(writers)).filter((status) => status === 200)).to.have.lengthOf(1);
    const last = await post('third', { 'if-match': `"${etag}"` });
    expect([last.status, last.body.error]).to.deep.equal([
      412,
      'the dashboard "tagged" was changed meanwhile: read it again, and send its etag',
    ]);
    for (const condition of [{ 'if-match': '*' }, { 'if-match': etag }, { 'if-none-match': `"${etag}"` }]) {
      expect((await post('fourth', condition)).status, JSON.stringify(condition)).to.equal(400);
    }
    expect((await call('GET', '/tagged')).body.dashboards?.[0].definition).to.match(/^by /);
  });

  it('belong to their database, and are dropped with it', async () => {
    const sql = async (statement: string): Promise<void> => {
      const response = await fetch(`${almanac.url}/v1/sql`, {
        method: 'POST',
        headers: { authorization: basic('root', 'pass') },
        body: new URLSearchParams({ sql: statement }),
      });
      expect(response.status, await response.text()).to.equal(200);
    };
    expect((await call('GET', '?db=other')).status).to.equal(400);
    await sql('CREATE DATABASE other');
    await call('POST', '/cpu?db=other', 'of other');
    expect((await call('GET', '/cpu?db=other')).body.dashboards?.[0].definition).to.equal('of other');
    await sql('DROP DATABASE other');
    await sql('CREATE DATABASE other');
    expect(names(await call('GET', '?db=other'))).to.deep.equal([]);
  });

  it('may be read by those who may read, and stored by those who may write', async () => {
    await call('POST', '/shared', 'x');
    expect((await call('GET', '/shared', undefined, 'ann')).status).to.equal(200);
    for (const [method, body] of [
      ['POST', 'changed'],
      ['DELETE', undefined],
    ] as const) {
      expect((await call(method, '/shared', body, 'ann')).status, method).to.equal(403);
    }
    expect((await call('GET', '/shared')).body.dashboards?.[0].definition).to.equal('x');
  });

  it('have limits, and nothing is stored beyond them', async () => {
    const refused = async (path: string, body: string): Promise<string | undefined> => {
      const { status, body: reply } = await call('POST', path, body);
      expect(status).to.equal(400);
      return reply.error;
    };
    expect(await refused('/large', 'x'.repeat(1024 * 1024 + 1))).to.contain('at most 1048576 bytes');
    expect(await refused(`/${'n'.repeat(256)}`, 'x')).to.contain('1 to 255 bytes');
    expect(await refused('/empty', '')).to.equal('the body has no dashboard');
    const whole = 'x'.repeat(1024 * 1024);
    for (let i = 0; i < 15; i++) expect((await call('POST', `/many-${i}`, whole)).status).to.equal(200);
    expect(await refused('/many-15', whole)).to.contain('delete some');
    // One that takes its own place is not counted twice.
    expect((await call('POST', '/many-3', whole)).status).to.equal(200);
    expect(names(await call('GET', ''))).not.to.include.members(['many-15', 'large', 'empty']);
  });

  it('survive a kill', async () => {
    await call('POST', '/kept', 'here');
    await almanac.kill();
    almanac = await Almanac.start(join(folder, 'data'), { environment: environment() });
    expect(texts(await call('GET', '/kept'))).to.deep.equal([['kept', 'here']]);
  });
});
