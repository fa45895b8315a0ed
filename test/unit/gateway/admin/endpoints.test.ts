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

  it('is not ready without a ready ingester or querier', async () => {
    rig.lack('ingester', 'querier');
    try {
      const body = '{"status":"waiting","waiting":["ingester","querier"],"progress":1}';
      expect(await get('/ready')).to.deep.equal([503, 'application/json', body]);
      expect((await get('/v1/influxdb/health'))[0]).to.equal(503);
      rig.lack('querier');
      expect((await get('/ready'))[0]).to.equal(503);
      expect((await get('/v1/influxdb/health'))[0]).to.equal(200);
    } finally {
      rig.lack();
    }
    expect((await get('/ready'))[0]).to.equal(200);
  });

  it('reports what is running', async () => {
    const [status, , text] = await get('/status');
    expect(status).to.equal(200);
    const {
      uptime_seconds: uptimeSeconds,
      cluster,
      ...rest
    } = JSON.parse(text) as Record<string, unknown> & {
      cluster: Record<string, unknown>[];
    };
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
    });
    expect(cluster).to.have.length(1);
    expect(cluster[0]).to.include({ role: 'standalone', node_id: 7, addr: 'host', version: '1.2.3', state: 'ready' });
    expect(cluster[0]).to.include({ hostname: 'host', reachable: true, start_time: '2023-11-14T22:13:20.000Z' });
  });

  it('prints metrics and configuration', async () => {
    const [status, type, text] = await get('/metrics');
    expect([status, type]).to.deep.equal([200, 'text/plain; version=0.0.4; charset=utf-8']);
    expect(text.split('\n').filter((line) => line !== '' && !/^(# (HELP|TYPE) )?almanac_/.test(line))).to.deep.equal(
      [],
    );
    expect(await get('/config')).to.deep.equal([200, 'text/plain; charset=utf-8', 'naming = "almanac"\n']);
  });

  it('replies for its own node ID only', async () => {
    const [status, , text] = await get('/status?node=7');
    expect(status).to.equal(200);
    expect(JSON.parse(text)).to.include({ node_id: 7, role: 'standalone' }).and.not.have.property('cluster');
    for (const path of ['/metrics?node=7', '/config?node=7', '/config?node=metadata', '/config?node=0']) {
      expect((await get(path))[0], path).to.equal(200);
    }
    for (const path of ['/status?node=8', '/metrics?node=x', '/config?node=', '/config?node=-1', '/config?node=7.0']) {
      const [refused, , reason] = await get(path);
      expect(refused, path).to.equal(400);
      expect(reason, path).to.match(/there is no node 8, see \/status|is neither a number nor \\"metadata\\"/);
    }
  });

  it('serves a page that loads nothing from elsewhere', async () => {
    const response = await fetch(`${rig.url}/`);
    expect(response.headers.get('content-security-policy')).to.match(/^default-src 'none'; style-src 'sha256-/);
    expect(await response.text()).to.include('href="dashboard/"');
  });
});
