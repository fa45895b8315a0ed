import { gzipSync } from 'node:zlib';

import { expect } from 'chai';

import type { PromQueryRequest, PromSeriesRequest } from '#shared/contracts/gen/querier';
import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

describe("paths of Prometheus's HTTP API", () => {
  let rig: GatewayRig;

  beforeEach(async () => {
    rig = await startGatewayRig({ ALMANAC_PROMQL__TIMEOUT: '5s', ALMANAC_HTTP__MAX_RESULT_BYTES: '1MiB' });
  });

  afterEach(() => rig.gateway.stop());

  function ask(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${rig.url}/v1/prometheus${path}`, init);
  }

  function post(
    path: string,
    body: string | Uint8Array | URLSearchParams | FormData,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return ask(`/api/v1${path}`, { method: 'POST', body, headers });
  }

  /** The request that reached the querier. */
  async function queryOf(response: Promise<Response>): Promise<PromQueryRequest> {
    const { status } = await response;
    expect(status).to.equal(200);
    return rig.querier.promRequests.at(-1) as PromQueryRequest;
  }

  async function failure(response: Promise<Response>): Promise<unknown[]> {
    const { status, json } = await response.then(async (it) => ({
      status: it.status,
      json: (await it.json()) as Record<string, unknown>,
    }));
    return [status, json['errorType'], json['error'], json['code']];
  }

  it('pass all parameters on', async () => {
    const range = '/api/v1/query_range?query=up&start=1.5&end=2015-07-01T20:10:51.781Z&step=1y&limit=3&stats=all';
    expect(await queryOf(ask(`${range}&lookback_delta=1m&lookback=2m&db=x`))).to.deep.equal({
      ...{ database: 'x', query: 'up', startMs: 1500, endMs: 1_435_781_451_781, stepMs: 31_536_000_000 },
      ...{ lookbackMs: 60_000, limit: 3, stats: 'all' },
    });
    const instant = await queryOf(ask('/api/v1/query?query=up&lookback=90'));
    expect(instant).to.include({ database: 'public', stepMs: 0, lookbackMs: 90_000, limit: 0, stats: '' });
    expect(instant.startMs).to.be.closeTo(Date.now(), 10_000);
    expect(instant.endMs).to.equal(instant.startMs);
    expect(
      (await queryOf(ask('/api/v1/query_range?query=up&start=0&end=1&step=0.0001'.replace('end=1', 'end=0')))).stepMs,
    ).to.equal(1);
  });

  it('accept parameters in every kind of body, which override the URL', async () => {
    const multipart = new FormData();
    multipart.append('query', 'c d');
    const urlEncoded = new URLSearchParams({ query: 'a b' });
    expect((await queryOf(post('/query?query=url', urlEncoded))).query).to.equal('a b');
    expect((await queryOf(post('/query?query=url', multipart))).query).to.equal('c d');
    const packed = { ...FORM, 'content-encoding': 'gzip' };
    expect((await queryOf(post('/query', gzipSync('query=e'), packed))).query).to.equal('e');
    const zstd = { ...FORM, 'content-encoding': 'zstd' };
    // One raw block of "query=f".
    const frame = Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, 7, (7 << 3) | 1, 0, 0, ...Buffer.from('query=f')]);
    expect((await queryOf(post('/query', frame, zstd))).query).to.equal('f');
    const ignored = { 'content-type': 'application/json' };
    expect((await queryOf(post('/query?query=url', '{"query":"x"}', ignored))).query).to.equal('url');
    await post(
      '/series?match[]=b',
      new URLSearchParams([
        ['match[]', 'a'],
        ['match[]', 'c'],
      ]),
    );
    expect((rig.querier.promRequests.at(-1) as PromSeriesRequest).matches).to.deep.equal(['a', 'c', 'b']);
    const broken = { 'content-type': 'multipart/form-data; boundary=x' };
    expect(await failure(post('/query', 'no form', broken))).to.deep.equal([
      ...[400, 'bad_data', 'error parsing form values: body is not a whole multipart form', 1004],
    ]);
  });

  it('report errors by the names of Prometheus', async () => {
    const late = 'query timed out in expression evaluation';
    const cases: Record<string, unknown[]> = {
      invalid_syntax: [400, 'bad_data', 'invalid parameter "query": as scripted', 2000],
      invalid_arguments: [400, 'bad_data', 'as scripted', 1004],
      execute_query: [422, 'execution', 'as scripted', 3001],
      resources_exhausted: [422, 'execution', 'as scripted', 6000],
      cancelled: [499, 'canceled', 'query was canceled in expression evaluation', 1005],
      deadline_exceeded: [503, 'timeout', late, 1008],
      storage_unavailable: [500, 'internal', 'as scripted', 5000],
      internal: [500, 'internal', 'Internal error: 1003', 1003],
      external: [503, 'unavailable', 'as scripted', 1007],
      region_not_ready: [503, 'unavailable', 'as scripted', 4008],
      rate_limited: [429, 'unavailable', 'as scripted', 6001],
      permission_denied: [403, 'forbidden', 'as scripted', 7006],
    };
    for (const [code, expected] of Object.entries(cases)) {
      expect(await failure(ask(`/api/v1/query?query=fail%20${code}`)), code).to.deep.equal(expected);
    }
    const response = await ask('/api/v1/query?query=fail%20deadline_exceeded');
    expect(response.headers.get('retry-after')).to.equal('1');
    expect(response.headers.get('x-almanac-err-code')).to.equal('1008');
    expect(response.headers.get('x-almanac-query-id')).to.match(/^[0-9a-f-]{36}$/);
  });

  it('refuse requests while the server starts, except those without data', async () => {
    rig.readiness = { ready: false, waiting: ['wal replay'], progress: 0 };
    const [status, type] = await failure(ask('/api/v1/query?query=up'));
    expect([status, type]).to.deep.equal([503, 'unavailable']);
    expect((await ask('/api/v1/status/buildinfo')).status).to.equal(200);
    expect((await ask('/-/ready')).status).to.equal(503);
    expect((await ask('/-/healthy')).status).to.equal(200);
  });

  it('cancel a query when its client disconnects', async () => {
    const abort = new AbortController();
    const asked = ask('/api/v1/query?query=wait', { signal: abort.signal }).catch(() => undefined);
    while (rig.querier.promRequests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    abort.abort();
    await asked;
    while (rig.querier.ends.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(rig.querier.ends).to.deep.equal(['cancelled']);
  });

  it('report features that Almanac does not have as empty', async () => {
    const expected: Record<string, unknown> = {
      '/rules': { groups: [] },
      '/rules?type=alert': { groups: [] },
      '/alerts': { alerts: [] },
      '/alertmanagers': { activeAlertmanagers: [], droppedAlertmanagers: [] },
      '/targets': { activeTargets: [], droppedTargets: [], droppedTargetCounts: {} },
      '/targets/metadata': [],
      '/scrape_pools': { scrapePools: [] },
      '/features': {},
      '/notifications': [],
      '/status/config': { yaml: '' },
      '/status/walreplay': { min: 0, max: 0, current: 0 },
    };
    for (const [path, data] of Object.entries(expected)) {
      const json: unknown = await (await ask(`/api/v1${path}`)).json();
      expect(json, path).to.deep.equal({ status: 'success', data });
    }
    for (const path of ['delete_series', 'clean_tombstones', 'snapshot']) {
      expect(await failure(post(`/admin/tsdb/${path}`, ''))).to.deep.equal([
        503,
        'unavailable',
        'admin APIs disabled',
        1001,
      ]);
    }
  });

  it('describe the server', async () => {
    const data = async (path: string): Promise<Record<string, unknown>> =>
      ((await (await ask(`/api/v1/status/${path}`)).json()) as { data: Record<string, unknown> }).data;
    const build = await data('buildinfo');
    expect(build).to.include({ revision: 'c'.repeat(40), branch: 'main', goVersion: '', almanacVersion: '1.2.3' });
    expect(build['version']).to.match(/^\d+\.\d+\.\d+$/);
    expect(build).not.to.have.property('features');
    expect(await data('runtimeinfo')).to.include({ startTime: '2023-11-14T22:13:20.000Z', CWD: '', hostname: 'host' });
    expect(await data('flags')).to.deep.equal({
      'query.lookback-delta': '5m',
      'query.max-samples': '50000000',
      'query.timeout': '5s',
      'storage.tsdb.retention.time': '0s',
    });
  });

  it('reply to other paths and methods as Prometheus does', async () => {
    const missing = await ask('/api/v1/nothing');
    expect([missing.status, await missing.text()]).to.deep.equal([404, '404 page not found\n']);
    const wrong = await post('/rules', '');
    expect([wrong.status, wrong.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD']);
    expect((await ask('/api/v1/query?query=up', { method: 'HEAD' })).status).to.equal(200);
    expect((await ask('/api/v1/query', { method: 'OPTIONS' })).headers.get('access-control-allow-methods')).to.contain(
      'POST',
    );
    expect((await ask('/api/v1/query?query=up')).headers.get('access-control-allow-origin')).to.equal('*');
    expect((await fetch(`${rig.publicUrl}/v1/prometheus/api/v1/query?query=up`)).status).to.equal(200);
  });

  it('read the URL before the form for /v1/promql', async () => {
    const form = new URLSearchParams({ query: 'rows 2', start: '0', end: '60', step: '1m', lookback: '7' });
    const asked = await fetch(`${rig.url}/v1/promql?query=rows%201&db=other`, { method: 'POST', body: form });
    const { output } = (await asked.json()) as { output: { records: { rows: unknown[] } }[] };
    expect(output[0].records.rows).to.deep.equal([[0]]);
    expect(rig.querier.promRequests.at(-1)).to.deep.include({ query: 'rows 1', database: 'other', lookbackMs: 7000 });
    const late = await fetch(`${rig.url}/v1/promql?query=fail%20deadline_exceeded&start=0&end=0&step=1`);
    expect(late.status).to.equal(408);
  });
});
