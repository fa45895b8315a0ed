import { expect } from 'chai';

import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';

describe('administration', () => {
  let rig: GatewayRig;

  before(async () => {
    rig = await startGatewayRig();
  });

  after(() => rig.gateway.stop());

  async function get(path: string): Promise<[number, string | null, string]> {
    const response = await fetch(rig.url + path);
    return [response.status, response.headers.get('content-type'), await response.text()];
  }

  it('answers health and readiness', async () => {
    for (const path of ['/health', '/v1/health', '/ready', '/health?x=1']) {
      expect(await get(path), path).to.deep.equal([200, 'application/json', '{}']);
      const { status } = await fetch(rig.url + path, { method: 'POST', body: 'x' });
      expect(status, path).to.equal(200);
    }
    expect((await get('/-/healthy'))[2]).to.equal('Almanac is Healthy.\n');
    expect((await get('/-/ready'))[2]).to.equal('Almanac is Ready.\n');
  });

  it('says what runs', async () => {
    const [status, , text] = await get('/status');
    expect(status).to.equal(200);
    const { uptime_seconds: uptimeSeconds, ...rest } = JSON.parse(text) as Record<string, unknown>;
    expect(uptimeSeconds).to.be.a('number');
    expect(rest).to.deep.equal({
      commit: 'c'.repeat(40),
      branch: 'main',
      node_version: 'v20.0.0',
      hostname: 'host',
      version: '1.2.3',
      role: 'standalone',
      node_id: 7,
      state: 'ready',
      start_time: '2023-11-14T22:13:20.000Z',
      cluster: [{ role: 'standalone', node_id: 7, addr: 'host', version: '1.2.3', state: 'ready' }],
    });
  });

  it('prints metrics and configuration', async () => {
    const [status, type, text] = await get('/metrics');
    expect([status, type]).to.deep.equal([200, 'text/plain; version=0.0.4; charset=utf-8']);
    expect(text.split('\n').filter((line) => line !== '' && !/^(# (HELP|TYPE) )?almanac_/.test(line))).to.deep.equal(
      [],
    );
    expect(await get('/config')).to.deep.equal([200, 'text/plain; charset=utf-8', 'naming = "almanac"\n']);
  });

  it('has a page for browsers that loads nothing', async () => {
    const response = await fetch(`${rig.url}/`);
    expect(response.headers.get('content-security-policy')).to.match(/^default-src 'none'; style-src 'sha256-/);
    expect(await response.text()).to.include('href="dashboard/"');
  });
});
