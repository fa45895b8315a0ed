import { gzipSync } from 'node:zlib';

import { expect } from 'chai';

import { PROTOCOLS } from '#services/gateway/protocols/registry';
import { systemClock } from '#shared/clock/clock';
import { printDefaults } from '#shared/config/print';
import { composeSchema } from '#shared/config/schema';
import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';

import { jsonPoints } from '../../../support/json-points/index.js';

// The registry with the one line that a new protocol needs.
const WITH_EXAMPLE = [...PROTOCOLS, jsonPoints];

describe('a protocol in a folder of its own and one line of the registry', () => {
  let rig: GatewayRig;

  async function start(environment: Readonly<Record<string, string>>): Promise<void> {
    rig = await startGatewayRig(environment, undefined, systemClock, WITH_EXAMPLE);
  }

  async function post(body: string | Uint8Array, headers: Record<string, string> = {}): Promise<[number, unknown]> {
    const response = await fetch(`${rig.url}/v1/points`, { method: 'POST', body, headers });
    const text = await response.text();
    return [response.status, text === '' ? undefined : (JSON.parse(text) as unknown)];
  }

  afterEach(() => rig.gateway.stop());

  it('writes rows, with exact 64-bit integers, and reports those that it rejects', async () => {
    await start({ ALMANAC_JSON_POINTS__ENABLE: 'true' });
    const point = '{"table":"cpu","tags":{"host":1},"value":9007199254740993,"time":1700000000000000001}';
    expect(
      await post(gzipSync(`[${point},{"table":7},{"table":"cpu","value":1.5,"time":2}]`), {
        'content-encoding': 'gzip',
      }),
    ).to.deep.equal([
      400,
      {
        written: 1,
        errors: ['table or tags missing: {"table":7}', 'column "value" has type Int64, not Float64'],
      },
    ]);
    expect(rig.tables.rows).to.deep.equal([
      {
        table: 'cpu',
        tags: { host: '1' },
        fields: { value: ['Int64', 9007199254740993n] },
        timeNs: 1700000000000000001n,
      },
    ]);
    const [status, answer] = await post('[{"table":"cpu",}]');
    expect(status).to.equal(400);
    expect(answer)
      .to.have.property('error')
      .that.matches(/^JSON is not valid: .*at position 16/);
  });

  it('has a section of the configuration, in files, the environment and the printed defaults', async () => {
    await start({ ALMANAC_JSON_POINTS__ENABLE: 'true', ALMANAC_JSON_POINTS__MAX_POINTS: '1' });
    expect(await post('[1,2]')).to.deep.equal([400, { error: 'body must be a list of at most 1 points' }]);
    const defaults = printDefaults(composeSchema(WITH_EXAMPLE.map(({ config }) => config)), 'gateway');
    expect(defaults).to.contain('[json_points]\n# Accept points as JSON.').and.to.contain('# max_points = 1000\n');
  });

  it('counts its writes and errors', async () => {
    await start({ ALMANAC_JSON_POINTS__ENABLE: 'true' });
    await post('[{"table":"cpu","value":1,"time":2}]');
    await post('x');
    const metrics = await rig.metrics.print();
    expect(metrics).to.match(/servers_http_json_points_elapsed_count\{db="public"\} 1\n/);
    expect(metrics).to.match(/servers_error_total\{protocol="json-points"\} 1\n/);
  });

  it('has no routes while it is disabled', async () => {
    await start({});
    expect((await post('[]'))[0]).to.equal(404);
  });
});
