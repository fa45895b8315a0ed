import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { expect } from 'chai';

import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';
import { sendRaw, type RawAnswer } from '#test/support/raw-http';

describe('/dashboard', () => {
  let rig: GatewayRig;

  before(async () => {
    rig = await startGatewayRig();
  });

  after(() => rig.gateway.stop());

  it('redirects to the folder, keeping the query', async () => {
    for (const url of [rig.url, rig.publicUrl]) {
      const { status, headers } = await sendRaw(url, 'GET /dashboard?x=1');
      expect([status, headers['location']]).to.deep.equal([308, 'dashboard/?x=1']);
      expect((await sendRaw(url, 'POST /dashboard')).headers['location']).to.equal('dashboard/');
    }
  });

  it('serves one page for every screen, under a policy that allows nothing from elsewhere', async () => {
    const page = await fetch(`${rig.publicUrl}/dashboard/`);
    expect(page.status).to.equal(200);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy)
      .to.match(/^default-src 'none'; /)
      .and.to.not.match(/unsafe|https?:|\*/);
    expect(page.headers.get('cache-control')).to.equal('no-cache');
    const text = await page.text();
    expect(await (await fetch(`${rig.url}/dashboard/query?q=x`)).text()).to.equal(text);
    for (const path of ['missing.js', 'assets/missing.js', 'a/b', 'index.html.br', 'assets/', '%2e%2e/package.json']) {
      expect((await fetch(`${rig.url}/dashboard/${path}`)).status, path).to.equal(404);
    }
    expect((await fetch(`${rig.url}/dashboard/query`, { method: 'POST' })).status).to.equal(405);
  });

  it('serves scripts and styles compressed, as files that never change', async () => {
    const page = await (await fetch(`${rig.url}/dashboard/`)).text();
    const names = [...page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.(?:js|css))"/g)].map((match) => match[1]);
    expect(names).to.have.length.greaterThan(1);
    for (const name of names) {
      const get = (encoding: string): Promise<RawAnswer> =>
        sendRaw(rig.url, `GET /dashboard/${name}`, [`Accept-Encoding: ${encoding}`]);
      const [plain, gzip, brotli] = [await get('identity'), await get('gzip'), await get('gzip, br')];
      expect([plain, gzip, brotli].map(({ headers }) => headers['content-encoding'])).to.deep.equal([
        undefined,
        'gzip',
        'br',
      ]);
      const [whole, ...shorter] = [plain, gzip, brotli].map(({ headers }) => Number(headers['content-length']));
      for (const bytes of shorter) expect(bytes).to.be.lessThan(whole);
      expect(plain.headers['cache-control']).to.equal('public, max-age=31536000, immutable');
      expect(plain.headers['content-type']).to.match(/^text\/(javascript|css); charset=utf-8$/);
      const etag = plain.headers['etag'];
      expect((await fetch(`${rig.url}/dashboard/${name}`, { headers: { 'if-none-match': etag } })).status).to.equal(
        304,
      );
    }
  });
});

describe('/dashboard when it is disabled', () => {
  it('does not exist', async () => {
    const rig = await startGatewayRig({ ALMANAC_DASHBOARD__ENABLE: 'false' });
    expect((await fetch(`${rig.url}/dashboard/`)).status).to.equal(404);
    expect((await fetch(`${rig.url}/dashboard`)).status).to.equal(404);
    await rig.gateway.stop();
  });
});

describe('/dashboard with an upstream', () => {
  let upstream: Server;
  let rig: GatewayRig;
  const seen: IncomingMessage[] = [];

  before(async () => {
    upstream = createServer((request, response) => {
      seen.push(request);
      response.end(`upstream ${request.method} ${request.url}`);
    });
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    const { port } = upstream.address() as AddressInfo;
    rig = await startGatewayRig({ ALMANAC_DASHBOARD__UPSTREAM: `http://127.0.0.1:${port}/ui` });
  });

  after(async () => {
    await rig.gateway.stop();
    upstream.closeAllConnections();
    upstream.close();
  });

  it('forwards path, query and method, but no credentials', async () => {
    const headers = { authorization: 'Basic eDp5', 'x-greptime-auth': 'Basic eDp5', 'x-other': '1' };
    const response = await fetch(`${rig.url}/dashboard/a/b.js?c=1`, { headers });
    expect(await response.text()).to.equal('upstream GET /ui/a/b.js?c=1');
    expect(seen[0].headers).to.include({ 'x-other': '1' });
    expect(seen[0].headers).not.to.have.any.keys('authorization', 'x-greptime-auth');
    const posted = await fetch(`${rig.url}/dashboard/x`, { method: 'POST', body: 'data' });
    expect(await posted.text()).to.equal('upstream POST /ui/x');
    expect((await sendRaw(rig.url, 'GET /dashboard/')).body).to.include('upstream GET /ui/');
  });

  it('does not let a path leave the folder of the upstream', async () => {
    const count = seen.length;
    for (const path of ['/dashboard/../x', '/dashboard/%2e%2e/x', '/dashboard/..%5cx', '/dashboard/a/../../x']) {
      for (const url of [rig.url, rig.publicUrl]) {
        expect((await sendRaw(url, `GET ${path}`)).status, path).to.equal(404);
      }
    }
    expect(seen).to.have.length(count);
  });

  it('replies 502 when the upstream is gone', async () => {
    upstream.closeAllConnections();
    await new Promise((resolve) => upstream.close(resolve));
    const response = await fetch(`${rig.url}/dashboard/`);
    expect(response.status).to.equal(502);
  });
});
