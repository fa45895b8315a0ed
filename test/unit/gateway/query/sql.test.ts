import { gzipSync } from 'node:zlib';

import { expect } from 'chai';

import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';
import { sendRaw } from '#test/support/raw-http';

const FORM = 'application/x-www-form-urlencoded';

describe('/v1/sql', () => {
  let rig: GatewayRig;

  beforeEach(async () => {
    rig = await startGatewayRig({ ALMANAC_HTTP__MAX_RESULT_BYTES: '1MiB' });
  });

  afterEach(() => rig.gateway.stop());

  function post(body: string | Uint8Array, headers: Record<string, string>, search = ''): Promise<Response> {
    return fetch(`${rig.url}/v1/sql${search}`, { method: 'POST', body, headers });
  }

  /** The statement text that reached the querier. */
  async function sqlOf(response: Promise<Response>): Promise<string | undefined> {
    const { status } = await response;
    return status === 200 ? rig.querier.requests.at(-1)?.sql : String(status);
  }

  async function failure(response: Promise<Response>): Promise<[number, Record<string, unknown>]> {
    const { status, json } = await response.then(async (it) => ({
      status: it.status,
      json: (await it.json()) as Record<string, unknown>,
    }));
    delete json['execution_time_ms'];
    return [status, json];
  }

  it('returns rows in the default format, with its headers', async () => {
    const response = await fetch(`${rig.url}/v1/sql?sql=rows%202`);
    expect(response.status).to.equal(200);
    const text = await response.text();
    const schema = '"schema":{"column_schemas":[{"name":"n","data_type":"Int64"}]}';
    expect(text).to.match(/,"execution_time_ms":\d+}$/);
    expect(text.replace(/\d+}$/, 'T}')).to.equal(
      `{"output":[{"records":{${schema},"rows":[[0],[1]],"total_rows":2}}],"execution_time_ms":T}`,
    );
    expect(response.headers.get('content-type')).to.equal('application/json');
    for (const prefix of ['x-greptime', 'x-almanac']) {
      expect(response.headers.get(`${prefix}-format`)).to.equal('greptimedb_v1');
      expect(response.headers.get(`${prefix}-execution-time`)).to.match(/^\d+$/);
    }
    expect(response.headers.get('x-almanac-query-id')).to.match(/^[0-9a-f-]{36}$/);
  });

  it('returns results of several statements in order', async () => {
    const { output } = (await (await post('affected 3; rows 0; rows 1', { 'content-type': 'text/plain' })).json()) as {
      output: unknown[];
    };
    const schema = { column_schemas: [{ name: 'n', data_type: 'Int64' }] };
    expect(output).to.deep.equal([
      { affectedrows: 3 },
      { records: { schema, rows: [], total_rows: 0 } },
      { records: { schema, rows: [[0]], total_rows: 1 } },
    ]);
  });

  it('accepts statements in every common way', async () => {
    expect(await sqlOf(fetch(`${rig.url}/v1/sql?sql=rows%201`))).to.equal('rows 1');
    expect(await sqlOf(post('sql=rows+2', { 'content-type': FORM }))).to.equal('rows 2');
    expect(await sqlOf(post('sql=rows+3', { 'content-type': `${FORM}; charset=utf-8` }))).to.equal('rows 3');
    expect(await sqlOf(post(Buffer.from('sql=rows+4'), {}))).to.equal('rows 4');
    expect(await sqlOf(post(Buffer.from('rows 5'), {}))).to.equal('rows 5');
    expect(await sqlOf(post('rows 6', { 'content-type': 'application/sql' }))).to.equal('rows 6');
    expect(await sqlOf(post('{"sql":"rows 7","limit":3}', { 'content-type': 'application/json' }))).to.equal('rows 7');
    expect(rig.querier.requests.at(-1)?.limit).to.equal(3);
    expect(await sqlOf(post('sql=rows+8', { 'content-type': FORM }, '?sql=rows%209'))).to.equal('rows 9');
    expect(await sqlOf(fetch(`${rig.url}/v1/sql?sql=rows%201`, { method: 'POST' }))).to.equal('rows 1');
    const packed = { 'content-type': FORM, 'content-encoding': 'gzip' };
    expect(await sqlOf(post(gzipSync('sql=rows+1'), packed))).to.equal('rows 1');
    expect(await sqlOf(fetch(`${rig.url}/v1/sql/?sql=rows%201`))).to.equal('rows 1');
  });

  it('decodes forms as the URL standard does', async () => {
    const ascii = Array.from({ length: 128 }, (_, code) => `%${code.toString(16).padStart(2, '0')}`).join('');
    const forms = [
      "a+%2B%26%3d%3D'b'",
      `x${ascii}`,
      `x${ascii.toUpperCase()}`,
      'a%C3%A4ä€',
      'a%FF',
      'a%4',
      'a%',
      'a%zz%4g%g4',
      'a=b=c',
      'a;b',
      'a&other=1',
      `x${'%61'.repeat(1400)}`,
    ];
    for (const value of forms) {
      const text = `sql=${value}`;
      expect(await sqlOf(post(text, { 'content-type': FORM })), text).to.equal(new URLSearchParams(text).get('sql'));
    }
  });

  it('passes on database, time zone, limit and format', async () => {
    await fetch(`${rig.url}/v1/sql?sql=rows&db=other&limit=5&format=Almanac_V1`, {
      headers: { 'x-greptime-timezone': '+08:00', 'x-greptime-db-name': 'public' },
    });
    expect(rig.querier.requests[0]).to.deep.equal({
      sql: 'rows',
      database: 'other',
      timezone: '+08:00',
      format: 'greptimedb_v1',
      limit: 5,
      user: '',
    });
    await fetch(`${rig.url}/v1/sql?sql=rows`, { headers: { 'x-almanac-db-name': 'other' } });
    expect(rig.querier.requests[1]).to.include({ database: 'other', timezone: 'UTC', format: 'greptimedb_v1' });
  });

  it('refuses invalid parameters', async () => {
    const refused = (search: string): Promise<[number, unknown]> => failure(fetch(`${rig.url}/v1/sql${search}`));
    expect(await refused('')).to.deep.equal([400, { code: 1004, error: 'sql parameter is required.' }]);
    expect(await refused('?sql=a&sql=b')).to.deep.equal([400, { code: 1004, error: 'parameter "sql" is given twice' }]);
    expect((await refused('?sql=a&limit=-1'))[0]).to.equal(400);
    expect((await refused('?sql=a&limit=x'))[0]).to.equal(400);
    expect(await refused('?sql=a&format=xml')).to.deep.equal([
      400,
      {
        code: 1004,
        error:
          'unknown format "xml": use one of greptimedb_v1, almanac_v1, json_v1, influxdb_v1, csv, csvWithNames, csvWithNamesAndTypes, table, json, arrow, null',
      },
    ]);
    expect((await failure(post('x', { 'content-type': 'image/png' })))[0]).to.equal(415);
    expect((await failure(post('[1]', { 'content-type': 'application/json' })))[0]).to.equal(400);
    expect((await failure(post('{', { 'content-type': 'application/json' })))[0]).to.equal(400);
    const headers = { 'x-greptime-timeout': 'soon' };
    expect((await failure(fetch(`${rig.url}/v1/sql?sql=rows`, { headers })))[0]).to.equal(400);
    expect(rig.querier.requests).to.deep.equal([]);
  });

  it('reports errors of statements, also after earlier results', async () => {
    const response = await fetch(`${rig.url}/v1/sql?sql=rows%202;fail%20table_not_found`);
    expect(response.status).to.equal(400);
    expect(await response.json()).to.deep.include({ code: 4001, error: 'as scripted' });
    for (const prefix of ['x-greptime', 'x-almanac']) {
      expect(response.headers.get(`${prefix}-err-code`)).to.equal('4001');
      expect(response.headers.get(`${prefix}-err-msg`)).to.match(/^error: as scripted, execution_time_ms: \d+$/);
    }
    expect(response.headers.get('x-greptime-format')).to.equal(null);
    expect(response.headers.get('x-almanac-query-id')).not.to.equal(null);
    expect(await failure(fetch(`${rig.url}/v1/sql?sql=fail%20internal`))).to.deep.equal([
      500,
      { code: 1003, error: 'Internal error: 1003' },
    ]);
    const busy = await fetch(`${rig.url}/v1/sql?sql=fail%20rate_limited`);
    expect([busy.status, busy.headers.get('retry-after')]).to.deep.equal([429, '1']);
  });

  it('ends at the timeout of the client', async () => {
    const headers = { 'x-greptime-timeout': '30ms' };
    const [status, body] = await failure(fetch(`${rig.url}/v1/sql?sql=wait`, { headers }));
    expect(status).to.equal(408);
    expect(body).to.deep.include({ code: 1008 });
    expect(rig.querier.ends).to.deep.equal(['deadline_exceeded']);
  });

  it('streams large results, compressed if the client accepts that', async () => {
    const plain = await sendRaw(rig.url, 'GET /v1/sql?sql=bytes%20900000');
    expect(plain.headers).to.include({ 'transfer-encoding': 'chunked' });
    expect(plain.headers).not.to.have.property('content-encoding');
    const gzip = { 'accept-encoding': 'gzip' };
    for (const size of [900_000, 5_000]) {
      const response = await fetch(`${rig.url}/v1/sql?sql=bytes%20${size}`, { headers: gzip });
      expect(response.headers.get('content-encoding')).to.equal('gzip');
      expect(response.headers.get('vary')).to.include('accept-encoding');
      const { output } = (await response.json()) as { output: [{ records: { rows: unknown[] } }] };
      expect(output[0].records.rows).to.have.length(size / 1_000);
    }
    const small = await fetch(`${rig.url}/v1/sql?sql=rows%201`, { headers: gzip });
    expect(small.headers.get('content-encoding')).to.equal(null);
  });

  it('cuts off a result that is too large, detectably', async () => {
    const cut = await fetch(`${rig.url}/v1/sql?sql=bytes%203000000`)
      .then((response) => response.text())
      .catch(String);
    expect(cut).to.match(/terminated|fetch failed/);
  }).timeout(5_000);
});

describe('/v1/sql with a small limit for results', () => {
  it('refuses a larger one with the limit in the message', async () => {
    const rig = await startGatewayRig({ ALMANAC_HTTP__MAX_RESULT_BYTES: '1KiB' });
    const response = await fetch(`${rig.url}/v1/sql?sql=bytes%209000`);
    expect(response.status).to.equal(400);
    const { error } = (await response.json()) as { error: string };
    expect(error).to.equal('result is larger than http.max_result_bytes, 1024 bytes: request less, or add LIMIT');
    await rig.gateway.stop();
  });
});
