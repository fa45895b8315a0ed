import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { eventually } from '#test/support/conditions';
import { Cluster } from '#test/support/cluster';
import { tempFolder } from '#test/support/temp-folder';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

describe('tracing', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let collector: Almanac;
  let almanac: Almanac;

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    collector = await Almanac.start(`${folder}/collector`);
    const environment = {
      ALMANAC_STANDALONE__LOGGING__OTLP_ENDPOINT: `${collector.url}/v1/otlp/v1/traces`,
      ALMANAC_STANDALONE__LOGGING__OTLP_HEADERS: 'x-almanac-db-name=public,authorization=Basic c2VjcmV0',
    };
    almanac = await Almanac.start(`${folder}/traced`, { environment });
  });

  after(async () => {
    await almanac.kill();
    await collector.kill();
    cleanUp();
  });

  const turn = (text: string): Promise<Response> => {
    return fetch(`${almanac.url}/debug/enable_trace`, { method: 'POST', body: text });
  };
  const spans = async (traceId: string): Promise<unknown[][]> => {
    const columns = 'span_name, service_name, parent_span_id, span_status_code';
    const { status, rows } = await collector.sql(
      `SELECT ${columns} FROM opentelemetry_traces WHERE trace_id = '${traceId}' ORDER BY span_name`,
    );
    return status === 200 ? rows : [];
  };
  const query = (sql: string, traceId: string, flags = '01'): Promise<Response> => {
    const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-${flags}` };
    return fetch(`${almanac.url}/v1/sql?sql=${encodeURIComponent(sql)}`, { headers });
  };

  it('replies to anything but true and false with an error', async () => {
    for (const text of ['', 'yes', 'TRUE']) {
      const response = await turn(text);
      expect(response.status, text).to.equal(400);
      expect(await response.text(), text).to.contain('Invalid request parameter: Invalid parameter \\"enable\\"');
    }
    expect(await (await fetch(`${almanac.url}/debug/enable_trace`)).text()).to.equal('trace disabled');
  });

  it('exports the spans of a request as parts of its trace', async () => {
    expect(await (await turn('true\n')).text()).to.equal('trace enabled');
    expect(await (await fetch(`${almanac.url}/debug/enable_trace`)).text()).to.equal('trace enabled');
    await almanac.write('cpu,host=a usage=1 1');
    await query('SELECT count(*) FROM cpu', TRACE_ID);
    await eventually(async () => (await spans(TRACE_ID)).length >= 3);
    const rows = await spans(TRACE_ID);
    const names = rows.map(([name]) => name);
    expect(names).to.include.members(['GET /v1/sql', 'run statement', 'take snapshot']);
    expect(rows.find(([name]) => name === 'GET /v1/sql')).to.deep.include.members([
      'almanac-standalone',
      'b7ad6b7169203331',
    ]);
  });

  it('records why a request failed', async () => {
    const traceId = TRACE_ID.replace('0af', '1af');
    await query('SELECT nothing FROM cpu', traceId);
    await eventually(async () => (await spans(traceId)).some(([name]) => name === 'run statement'));
    const failed = (await spans(traceId)).find(([name]) => name === 'run statement');
    expect(failed?.[3]).to.match(/ERROR/);
  });

  it('records no request whose caller does not want it, and none once it is off', async () => {
    const [unwanted, late, marker] = ['2af', '3af', '4af'].map((start) => TRACE_ID.replace('0af', start));
    await query('SELECT 1', unwanted, '00');
    await query('SELECT 1', marker);
    await eventually(async () => (await spans(marker)).length > 0);
    expect(await spans(unwanted)).to.deep.equal([]);
    expect(await (await turn('false')).text()).to.equal('trace disabled');
    await query('SELECT 1', late);
    await turn('true');
    await query('SELECT 1', marker.replace('4af', '5af'));
    await eventually(async () => (await spans(marker.replace('4af', '5af'))).length > 0);
    expect(await spans(late)).to.deep.equal([]);
  });

  it('masks the headers that it sends', async () => {
    const text = await (await fetch(`${almanac.url}/config`)).text();
    expect(text).to.contain('authorization=***').and.to.not.contain('c2VjcmV0');
  });

  it('continues when the spans cannot be sent', async () => {
    await collector.kill();
    await query('SELECT 1', TRACE_ID);
    await eventually(() => almanac.stderr.includes('spans not sent'), 30_000);
    expect((await query('SELECT 1', TRACE_ID)).status).to.equal(200);
  });

  it('logs what to set when the spans are refused', async () => {
    let removeFolder: () => void = () => undefined;
    const folder = tempFolder((after) => (removeFolder = after));
    const users = { ALMANAC_STANDALONE__USER_PROVIDER: 'static_user_provider:cmd:root=secretpass' };
    const guarded = await Almanac.start(`${folder}/guarded`, { environment: users });
    const environment = {
      ALMANAC_STANDALONE__LOGGING__ENABLE_OTLP_TRACING: 'true',
      ALMANAC_STANDALONE__LOGGING__OTLP_ENDPOINT: `${guarded.url}/v1/otlp/v1/traces`,
    };
    const sender = await Almanac.start(`${folder}/sender`, { environment });
    await fetch(`${sender.url}/v1/sql?sql=SELECT%201`);
    await eventually(() => sender.stderr.includes('in logging.otlp_headers'), 30_000);
    await Promise.all([guarded.kill(), sender.kill()]);
    removeFolder();
  });
});

describe('diagnosis of a cluster', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let collector: Almanac;
  let cluster: Cluster;

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    collector = await Almanac.start(`${folder}/collector`);
    const environment = {
      ALMANAC_LOGGING__OTLP_ENDPOINT: `${collector.url}/v1/otlp/v1/traces`,
      ALMANAC_CLUSTER__LEASE: '2s',
    };
    cluster = await Cluster.start(`${folder}/cluster`, { environment });
  });

  after(async () => {
    await cluster.killAll();
    await collector.kill();
    cleanUp();
  });

  it('traces a write and a query through all services', async () => {
    await fetch(`${cluster.url}/debug/enable_trace`, { method: 'POST', body: 'true' });
    const headers = { traceparent: `00-${TRACE_ID}-b7ad6b7169203331-01` };
    const written = await fetch(`${cluster.url}/v1/lineproto/write`, { method: 'POST', body: 'cpu v=1 1', headers });
    expect(written.status).to.equal(204);
    await fetch(`${cluster.url}/v1/sql?sql=SELECT+count(*)+FROM+cpu`, { headers });
    const services = async (): Promise<unknown[]> => {
      const text = `SELECT DISTINCT service_name FROM opentelemetry_traces WHERE trace_id = '${TRACE_ID}'`;
      return (await collector.sql(text)).rows.map(([name]) => name);
    };
    const expected = ['almanac-gateway', 'almanac-ingester', 'almanac-metadata', 'almanac-querier'];
    await eventually(async () => (await services()).length === expected.length, 30_000);
    expect((await services()).sort()).to.deep.equal(expected);
  });

  it('profiles any process, and changes the log filter of all', async () => {
    const { cluster: nodes } = JSON.parse((await cluster.get('/status')).text) as {
      cluster: { role: string; node_id: number }[];
    };
    for (const { role, node_id: nodeId } of nodes) {
      const node = role === 'metadata' ? 'metadata' : nodeId;
      const { status, text } = await cluster.get(`/debug/prof/cpu?seconds=1&output=text&node=${node}`);
      expect(status, `${role}: ${text}`).to.equal(200);
      expect(text, role).to.match(/^cpu: /);
    }
    await fetch(`${cluster.url}/debug/log_level?node=all`, { method: 'POST', body: 'warn' });
    for (const { role, node_id: nodeId } of nodes) {
      const node = role === 'metadata' ? 'metadata' : nodeId;
      expect((await cluster.get(`/debug/log_level?node=${node}`)).text, role).to.equal('warn\n');
    }
  });

  it('turns tracing on and off while a process is gone', async () => {
    await cluster.of('querier')[0].kill();
    await eventually(
      async () => /"role":"querier"[^{}]*"state":"gone"/.test((await cluster.get('/status')).text),
      30_000,
    );
    for (const [body, reply] of [
      ['false', 'trace disabled'],
      ['true', 'trace enabled'],
    ]) {
      const response = await fetch(`${cluster.url}/debug/enable_trace`, { method: 'POST', body });
      expect([response.status, await response.text()]).to.deep.equal([200, reply]);
    }
  });
});
