import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { expect } from 'chai';

import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';
import { sendRaw } from '#test/support/raw-http';

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

  it('serves a page with the version that loads nothing from elsewhere', async () => {
    const response = await fetch(`${rig.publicUrl}/dashboard/`);
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-security-policy')).to.match(/^default-src 'none'; /);
    expect(await response.text()).to.match(/Version \d+\.\d+\.\d+/);
    expect((await fetch(`${rig.url}/dashboard/missing.js`)).status).to.equal(404);
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
