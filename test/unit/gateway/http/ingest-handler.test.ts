import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';

import { expect } from 'chai';

import { AlmanacError } from '#shared/errors/almanac-error';
import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';

const V1 = '/v1/lineproto/write';
const V2 = '/v1/lineproto/api/v2/write';

describe('line protocol over HTTP', () => {
  let rig: GatewayRig;

  beforeEach(async () => {
    rig = await startGatewayRig({ ALMANAC_HTTP__BODY_LIMIT: '1MiB' });
  });

  afterEach(() => rig.gateway.stop());

  function post(path: string, body: string | Uint8Array, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(rig.url + path, { method: 'POST', body, headers });
  }

  /** The answer's status and body. */
  async function answer(path: string, body: string | Uint8Array, headers?: Record<string, string>): Promise<unknown[]> {
    const response = await post(path, body, headers);
    const text = await response.text();
    return text === '' ? [response.status] : [response.status, JSON.parse(text) as unknown];
  }

  it('writes a body and replies 204 on every path', async () => {
    for (const path of [V1, V2, '/v1/influxdb/write', '/v1/influxdb/api/v2/write', `${V1}/`]) {
      expect(await answer(path, 'm,t=a f=1 1'), path).to.deep.equal([204]);
    }
    expect(rig.tables.rows).to.have.length(5);
    expect(rig.tables.writes[0]).to.deep.equal({
      database: 'public',
      create: true,
      timeIndex: { name: 'almanac_timestamp', type: 'TimestampNanosecond' },
      tableOptions: { merge_mode: 'last_non_null' },
      isDefaultMergeMode: true,
      timeType: 'TimestampNanosecond',
      idempotencyKey: undefined,
    });
  });

  it('replies 204 to a body without points', async () => {
    expect(await answer(V1, '')).to.deep.equal([204]);
    expect(await answer(V1, '# nothing\n\n')).to.deep.equal([204]);
  });

  it('reads the database from headers and parameters', async () => {
    const database = async (path: string, headers?: Record<string, string>): Promise<string | undefined> => {
      await answer(path, 'm f=1', headers);
      return rig.tables.writes.at(-1)?.database;
    };
    expect(await database(`${V1}?db=other`)).to.equal('other');
    expect(await database(`${V1}?db=`)).to.equal('public');
    expect(await database(`${V2}?bucket=other&db=public`)).to.equal('other');
    expect(await database(`${V2}?db=other`)).to.equal('other');
    expect(await database(`${V1}?db=other`, { 'x-greptime-db-name': 'public' })).to.equal('public');
    expect(await database(V1, { 'x-greptime-db-name': 'public', 'x-almanac-db-name': 'other' })).to.equal('other');
    expect(await database(`${V1}?db=greptime-other`)).to.equal('other');
  });

  it('applies hints about tables', async () => {
    await answer(V1, 'm f=1', { 'x-greptime-hints': 'ttl=7d, append_mode=true, auto_create_table=false' });
    expect(rig.tables.writes[0]).to.deep.include({
      create: false,
      tableOptions: { ttl: '7days', append_mode: 'true' },
    });
    await answer(V1, 'm f=1', { 'x-greptime-hint-merge_mode': 'last_row' });
    expect(rig.tables.writes[1].tableOptions).to.deep.equal({ merge_mode: 'last_row' });
    expect(await answer(V1, 'm f=1', { 'x-greptime-hints': 'auto_create_table=maybe' })).to.deep.equal([
      400,
      { error: 'hint auto_create_table must be true or false, not "maybe"' },
    ]);
  });

  it('accepts all names of precisions', async () => {
    const words = { n: 1n, ns: 1n, u: 1_000n, us: 1_000n, ms: 1_000_000n, s: 10n ** 9n, m: 6n * 10n ** 10n };
    for (const [word, expected] of Object.entries({ ...words, h: 36n * 10n ** 11n, '': 1n })) {
      await answer(`${V1}?precision=${word}`, 'm f=1 1');
      expect(rig.tables.rows.at(-1)?.timeNs, word).to.equal(expected);
    }
    expect(await answer(`${V1}?precision=x`, 'm f=1')).to.deep.equal([400, { error: 'invalid precision "x"' }]);
    const message = 'invalid precision; valid precision units are ns, us, ms, and s';
    expect(await answer(`${V2}?precision=x`, 'm f=1')).to.deep.equal([
      400,
      { code: 'invalid', message, error: message },
    ]);
  });

  it('v1 writes valid lines and reports the invalid ones', async () => {
    const response = await post(V1, 'cpu v=1 1\ncpu v=oops 2\ncpu v=3i 3');
    const error =
      'partial write: unable to parse \'cpu v=oops 2\': invalid boolean\nfield type conflict: input field "v" on ' +
      'measurement "cpu" is type integer, already exists as type float dropped=1';
    expect(response.status).to.equal(400);
    expect(await response.text()).to.equal(`${JSON.stringify({ error })}\n`);
    expect(response.headers.get('x-influxdb-error')).to.equal(error.replace('\n', '\\n'));
    expect(rig.tables.rows.map(({ timeNs }) => timeNs)).to.deep.equal([1n]);

    expect(await answer(V1, 'cpu v=1 1\ncpu v=oops 2')).to.deep.equal([
      400,
      { error: "partial write: unable to parse 'cpu v=oops 2': invalid boolean dropped=0" },
    ]);
    expect(await answer(V1, 'cpu v=oops 2\ncpu')).to.deep.equal([
      400,
      { error: "unable to parse 'cpu v=oops 2': invalid boolean\nunable to parse 'cpu': missing fields" },
    ]);
  });

  it('v2 writes nothing when a line is malformed', async () => {
    const message = "unable to parse 'cpu v=oops 2': invalid boolean";
    const response = await post(V2, 'cpu v=1 1\ncpu v=oops 2');
    expect(response.status).to.equal(400);
    expect(response.headers.get('x-platform-error-code')).to.equal('invalid');
    expect(await response.json()).to.deep.equal({ code: 'invalid', message, error: message });
    expect(rig.tables.writes).to.have.length(0);
  });

  it('reports conflicts with the types of a table', async () => {
    await answer(V1, 'm v=1 1');
    const words = 'partial write: field type conflict: input field "v" on measurement "m" is type integer, ';
    const conflict = `${words}already exists as type float dropped=2`;
    expect(await answer(V1, 'm v=1i 2\nm v=2i 3\nm v=2 4')).to.deep.equal([400, { error: conflict }]);
    const message = `failure writing points to database: ${conflict}`;
    expect(await answer(V2, 'm v=1i 2\nm v=2i 3\nm v=2 5')).to.deep.equal([
      422,
      { code: 'unprocessable entity', message, error: message },
    ]);
    expect(rig.tables.rows.map(({ timeNs }) => timeNs)).to.deep.equal([1n, 4n, 5n]);
  });

  it('lets the table decide when the first values of a request contradict it', async () => {
    await answer(V1, 'm v=1i 1');
    const [status] = await answer(V1, 'm v=1 2\nm v=2i 3\nm v=3i 4');
    expect(status).to.equal(400);
    expect(rig.tables.rows.map(({ timeNs }) => timeNs)).to.deep.equal([1n, 3n, 4n]);
  });

  it('rejects a database that does not exist', async () => {
    expect(await answer(`${V1}?db=x`, 'm f=1')).to.deep.equal([404, { error: 'database not found: "x"' }]);
    const message = 'bucket "x" not found';
    expect(await answer(`${V2}?bucket=x`, 'm f=1')).to.deep.equal([
      404,
      { code: 'not found', message, error: message },
    ]);
  });

  it("reports temporary failures in InfluxDB's format", async () => {
    rig.tables.failure = new AlmanacError('region_busy', 'memory is full', { retryAfterSeconds: 3 });
    const response = await post(V1, 'm f=1');
    expect([response.status, response.headers.get('retry-after'), await response.json()]).to.deep.equal([
      503,
      '3',
      { error: 'timeout' },
    ]);
    expect(response.headers.get('x-greptime-err-code')).to.equal('4009');
    expect(await answer(V2, 'm f=1')).to.deep.equal([
      503,
      { code: 'unavailable', message: 'memory is full', error: 'memory is full' },
    ]);
  });

  it('hides internal errors', async () => {
    rig.tables.failure = new AlmanacError('internal', 'secret');
    expect(await answer(V1, 'm f=1')).to.deep.equal([500, { error: 'Internal error: 1003' }]);
    expect(rig.log.messages('error')).to.deep.equal(['request failed']);
  });

  it('decompresses gzip with several members, deflate of both kinds and brotli, and ignores the content type', async () => {
    const text = (time: number): Buffer => Buffer.from(`m,t=${'x'.repeat(2_000)} f=1 ${time}\n`);
    const members = Buffer.concat([gzipSync(text(1)), gzipSync(text(2))]);
    expect(await answer(V1, members, { 'content-encoding': 'gzip' })).to.deep.equal([204]);
    expect(await answer(V1, deflateSync(text(3)), { 'content-encoding': 'deflate' })).to.deep.equal([204]);
    expect(await answer(V1, deflateRawSync(text(4)), { 'content-encoding': 'deflate' })).to.deep.equal([204]);
    expect(await answer(V1, brotliCompressSync(text(5)), { 'content-encoding': 'br' })).to.deep.equal([204]);
    const form = { 'content-encoding': 'identity', 'content-type': 'application/x-www-form-urlencoded' };
    expect(await answer(V1, text(6), form)).to.deep.equal([204]);
    expect(rig.tables.rows.map(({ timeNs }) => timeNs)).to.deep.equal([1n, 2n, 3n, 4n, 5n, 6n]);
  });

  it('refuses unknown encodings and damaged bodies', async () => {
    expect((await answer(V1, 'm f=1', { 'content-encoding': 'lzw' }))[0]).to.equal(415);
    expect((await answer(V1, 'm f=1', { 'content-encoding': 'gzip, gzip' }))[0]).to.equal(415);
    const packed = gzipSync('m f=1 1\n'.repeat(1_000));
    expect(await answer(V1, packed.subarray(0, -9), { 'content-encoding': 'gzip' })).to.deep.equal([
      400,
      { error: 'body is not valid gzip' },
    ]);
    expect((await answer(V1, 'm f=1', { 'content-encoding': 'gzip' }))[0]).to.equal(400);
    expect(await answer(V1, Buffer.from('m f="\xff"', 'latin1'))).to.deep.equal([
      400,
      { error: 'body is not valid UTF-8' },
    ]);
    expect(rig.tables.writes).to.have.length(0);
  });

  it('refuses bodies over the limit, before and after decompression, with or without a length', async () => {
    const tooLarge = { error: 'Request Entity Too Large' };
    const limit = 1024 * 1024;
    expect(await answer(V1, `m f=1\n#${'x'.repeat(limit - 7)}`)).to.deep.equal([204]);
    expect(await answer(V1, 'x'.repeat(limit + 1))).to.deep.equal([413, tooLarge]);
    const [status, body] = await answer(V2, 'x'.repeat(limit + 1));
    expect([status, (body as { code: string }).code]).to.deep.equal([413, 'request too large']);
    const stream = new Blob(['x'.repeat(limit + 1)]).stream();
    const chunked = await fetch(rig.url + V1, { method: 'POST', body: stream, duplex: 'half' });
    expect([chunked.status, await chunked.json()]).to.deep.equal([413, tooLarge]);
    for (const [encoding, bomb] of [
      ['gzip', gzipSync(Buffer.alloc(limit + 1))],
      ['gzip', gzipSync(Buffer.alloc(20 * limit))],
      ['br', brotliCompressSync(Buffer.alloc(2 * limit))],
    ] as const) {
      expect(await answer(V1, bomb, { 'content-encoding': encoding })).to.deep.equal([413, tooLarge]);
    }
    expect(rig.tables.rows).to.have.length(1);
  });

  it('releases all memory of bodies', async () => {
    await answer(V1, 'm f=1\n'.repeat(50_000));
    await answer(V1, 'x'.repeat(2_000_000));
    await answer(V1, gzipSync('m f=1\n'.repeat(50_000)), { 'content-encoding': 'gzip' });
    await answer(V1, gzipSync(''), { 'content-encoding': 'gzip' });
    await answer(V1, 'nonsense', { 'content-encoding': 'gzip' });
    expect(await rig.metrics.print()).to.match(/^almanac_servers_request_memory_in_use_bytes 0$/m);
  });

  it("waits no longer than the request's timeout", async () => {
    await rig.gateway.stop();
    rig = await startGatewayRig({ ALMANAC_HTTP__TIMEOUT: '50ms' });
    rig.tables.gate = new Promise(() => undefined);
    expect(await answer(V1, 'm f=1')).to.deep.equal([408, { error: 'timeout' }]);
  });
});
