import { compress, isLoaded } from '@foxglove/wasm-zstd';
import { expect } from 'chai';
import { compressSync } from 'snappy';

import { systemClock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { ErrorCode } from '#shared/errors/codes';
import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';
import { bodyV1, bodyV2 } from '#test/support/remote-write-messages';

const PATH = '/v1/prometheus/write';
const SERIES = [{ labels: [['__name__', 'm']] as const, samples: [{ value: 1, timestamp: 1_700_000_000_000 }] }];
const V1 = compressSync(bodyV1(SERIES));
const V2 = compressSync(bodyV2(SERIES));
const V2_TYPE = 'application/x-protobuf;proto=io.prometheus.write.v2.Request';

describe('remote write over HTTP', () => {
  let rig: GatewayRig;

  beforeEach(async () => {
    await isLoaded;
    rig = await startGatewayRig({ ALMANAC_HTTP__BODY_LIMIT: '1MiB' });
  });

  afterEach(() => rig.gateway.stop());

  async function answer(
    body: Uint8Array,
    headers: Record<string, string> = {},
    path = PATH,
  ): Promise<{ status: number; text: string; headers: Headers }> {
    const response = await fetch(rig.url + path, { method: 'POST', body: Uint8Array.from(body), headers });
    return { status: response.status, text: await response.text(), headers: response.headers };
  }

  function errorOf(text: string): unknown {
    return (JSON.parse(text) as { error: unknown }).error;
  }

  it('accepts both versions on both paths, and creates a metric table', async () => {
    const types: [string, Uint8Array][] = [
      ['', V1],
      ['application/x-protobuf', V1],
      ['application/x-protobuf;proto=prometheus.WriteRequest', V1],
      [V2_TYPE, V2],
      ['Application/X-Protobuf; proto="io.prometheus.write.v2.Request"', V2],
    ];
    for (const [type, body] of types) {
      for (const path of [PATH, '/v1/prometheus/api/v1/write']) {
        const { status, text, headers } = await answer(body, type === '' ? {} : { 'content-type': type }, path);
        expect([status, text], type).to.deep.equal([204, '']);
        expect(headers.get('x-prometheus-remote-write-samples-written')).to.equal('1');
      }
    }
    expect(rig.tables.rows).to.have.length(10);
    expect(rig.tables.writes[0]).to.deep.equal({
      database: 'public',
      create: true,
      timeIndex: { name: 'almanac_timestamp', type: 'TimestampMillisecond' },
      tableOptions: { physical_metric_table: 'true', merge_mode: 'last_row' },
      timeType: 'TimestampMillisecond',
      idempotencyKey: undefined,
    });
    expect(rig.tables.rows[0].table).to.equal('almanac_physical_table');
  });

  it('reads table and options from parameters and hints', async () => {
    await answer(V1, {}, `${PATH}?physical_table=p&db=other`);
    await answer(V1, { 'x-greptime-hints': 'physical_table=h, ttl=7d' });
    expect(rig.tables.rows.map(({ table }) => table)).to.deep.equal(['p', 'h']);
    expect(rig.tables.writes.map(({ database }) => database)).to.deep.equal(['other', 'public']);
    expect(rig.tables.writes[1].tableOptions).to.deep.include({ ttl: '7days' });
  });

  it('accepts an empty request', async () => {
    for (const body of [Buffer.from([0]), compressSync(bodyV1([]))]) {
      const { status, headers } = await answer(body);
      expect([status, headers.get('x-prometheus-remote-write-samples-written')]).to.deep.equal([204, '0']);
    }
  });

  it('refuses other content', async () => {
    for (const type of ['text/plain', 'application/x-protobuf;proto=other', 'application/json']) {
      const { status, text } = await answer(V1, { 'content-type': type });
      expect([status, errorOf(text)]).to.deep.equal([415, `unsupported prometheus remote write content type: ${type}`]);
    }
    for (const encoding of ['gzip', 'identity', 'br']) {
      expect((await answer(V1, { 'content-encoding': encoding })).status, encoding).to.equal(415);
    }
    expect(rig.tables.rows).to.deep.equal([]);
  });

  it('advertises zstd to vmagent, and accepts it', async () => {
    const asked = await answer(Buffer.alloc(0), {}, `${PATH}?get_vm_proto_version=1`);
    expect([asked.status, asked.text]).to.deep.equal([200, '1']);
    const body = compress(bodyV1(SERIES));
    expect((await answer(body, { 'content-encoding': 'zstd' })).status).to.equal(204);
    // Two frames and one that only says something are one body.
    const skippable = Buffer.from('502a4d1802000000abcd', 'hex');
    const frames = Buffer.concat([body, skippable, body]);
    expect((await answer(frames, { 'content-encoding': 'zstd' })).status).to.equal(204);
    expect(rig.tables.rows).to.have.length(3);
  });

  it('decodes bodies in a worker thread while the main thread is busy, with the same result', async () => {
    let threadCount = 0;
    const onWorker = (): void => void threadCount++;
    process.on('worker', onWorker);
    const plain = (value: number): Buffer =>
      bodyV1(
        Array.from({ length: 3_000 }, (_, i) => ({
          labels: [
            ['__name__', `m${i % 10}`],
            ['x', String(Math.sin(i))],
          ] as const,
          samples: [{ value: value * i, timestamp: 1_700_000_000_000 + value }],
        })),
      );
    const busy = async (body: Uint8Array): ReturnType<typeof answer> => {
      for (const untilMs = systemClock.monotonicMs() + 200; systemClock.monotonicMs() < untilMs;);
      return answer(body);
    };
    expect((await answer(compressSync(plain(1)))).status).to.equal(204);
    const here = rig.tables.rows.splice(0);
    const { status, headers } = await busy(compressSync(plain(2)));
    expect([status, headers.get('x-prometheus-remote-write-samples-written')]).to.deep.equal([204, '3000']);
    expect(threadCount).to.equal(1);
    const aside = rig.tables.rows.splice(0);
    expect(aside.map(({ table, tags }) => [table, tags])).to.deep.equal(here.map(({ table, tags }) => [table, tags]));
    const values = aside.map(({ fields }) => fields['almanac_value'][1]);
    expect(values).to.deep.equal(Array.from({ length: 3_000 }, (_, i) => 2 * i));
    expect(new Set(aside.map(({ timeNs }) => timeNs))).to.deep.equal(new Set([1_700_000_000_002n]));

    const cut = compressSync(plain(3).subarray(0, -1));
    for (const [body, reason] of [
      [cut, 'unexpected EOF'],
      [compressSync(plain(3)).subarray(0, -1), 'snappy: corrupt input'],
    ] as const) {
      for (let i = 0; i < 2; i++) {
        const refused = await busy(body);
        expect([refused.status, errorOf(refused.text)]).to.deep.equal([400, reason]);
      }
    }
    expect(rig.tables.rows).to.deep.equal([]);
    expect(threadCount).to.equal(1);
    process.off('worker', onWorker);
  });

  it('keeps concurrent bodies apart while a worker thread decodes some of them', async () => {
    const plain = (time: number, table: string): Buffer =>
      bodyV1(
        Array.from({ length: 2_000 }, (_, i) => ({
          labels: [
            ['__name__', 'm'],
            ['x', String(Math.sin(i))],
            ...(i % 2 === 0 ? [] : [['x_greptime_physical_table', table] as const]),
          ] as const,
          samples: [{ value: i + time / 1_000, timestamp: time }],
        })),
      );
    const kinds = ['', 'p'] as const;
    for (const table of kinds) expect((await answer(compressSync(plain(1, table)))).status).to.equal(204);
    rig.tables.rows.splice(0);
    for (const untilMs = systemClock.monotonicMs() + 200; systemClock.monotonicMs() < untilMs;);
    const times = Array.from({ length: 12 }, (_, i) => i + 2);
    const answers = await Promise.all(
      times.map((time) => {
        const body = compressSync(plain(time, kinds[time % 2]));
        return answer(time % 4 === 0 ? body.subarray(0, -1) : body);
      }),
    );
    expect(answers.map(({ status }) => status)).to.deep.equal(times.map((time) => (time % 4 === 0 ? 400 : 204)));
    const whole = times.filter((time) => time % 4 !== 0);
    expect(rig.tables.rows).to.have.length(2_000 * whole.length);
    for (const time of whole) {
      const rows = rig.tables.rows.filter(({ timeNs }) => timeNs === BigInt(time));
      const values = rows.map(({ fields }) => Number(fields['almanac_value'][1])).sort((a, b) => a - b);
      expect(values).to.deep.equal(Array.from({ length: 2_000 }, (_, i) => i + time / 1_000));
      expect(new Set(rows.map(({ table }) => table)).size).to.equal(time % 2 === 0 ? 1 : 2);
    }
  });

  it('accepts a body in the other version than its header says', async () => {
    expect((await answer(compress(bodyV1(SERIES)), { 'content-encoding': 'snappy' })).status).to.equal(204);
    expect((await answer(V1, { 'content-encoding': 'zstd' })).status).to.equal(204);
  });

  it('refuses damaged bodies permanently', async () => {
    const framed = Buffer.from('ff060000734e61507059', 'hex');
    for (const body of [
      framed,
      Buffer.alloc(0),
      V1.subarray(0, V1.length - 1),
      Buffer.from('hello'),
      framed.subarray(1),
    ]) {
      const { status, text } = await answer(body);
      expect([status, errorOf(text)], Buffer.from(body).toString('hex')).to.deep.equal([400, 'snappy: corrupt input']);
    }
    const zstd = compress(Buffer.concat([bodyV1(SERIES), Buffer.alloc(1000, 'abc')]));
    for (let length = 0; length < zstd.length; length += 3) {
      const { status, text } = await answer(zstd.subarray(0, length), { 'content-encoding': 'zstd' });
      expect([status, errorOf(text)]).to.deep.equal([400, 'zstd: corrupt input']);
    }
    const { status, text } = await answer(compressSync(Buffer.from([0x0a, 0x05, 0x0a])));
    expect([status, errorOf(text)]).to.deep.equal([400, 'unexpected EOF']);
    expect(rig.tables.rows).to.deep.equal([]);
  });

  it('limits the decompressed size of a body', async () => {
    const claims = Buffer.concat([Buffer.from('ffffffff0f', 'hex'), Buffer.alloc(10)]);
    expect((await answer(claims)).status).to.equal(400);
    const nulls = Buffer.alloc(2 * 1024 * 1024);
    expect((await answer(compressSync(nulls))).status).to.equal(413);
    expect((await answer(compress(nulls), { 'content-encoding': 'zstd' })).status).to.equal(413);
    expect((await answer(Buffer.alloc(1024 * 1024 + 1))).status).to.equal(413);
  });

  it('lets senders repeat temporary failures, and reports that nothing was written', async () => {
    const codes: [ErrorCode, number][] = [
      ['region_busy', 503],
      ['deadline_exceeded', 504],
      ['rate_limited', 503],
      ['region_not_found', 503],
      ['internal', 500],
      ['invalid_arguments', 400],
    ];
    for (const [code, status] of codes) {
      rig.tables.failure = new AlmanacError(code, 'as scripted');
      const given = await answer(V1);
      expect(given.status, code).to.equal(status);
      expect(given.headers.get('x-prometheus-remote-write-samples-written')).to.equal('0');
      expect(given.headers.get('retry-after')).to.equal(status === 503 ? '1' : null);
    }
    rig.tables.failure = undefined;
    const { status, text } = await answer(V1, {}, `${PATH}?db=none`);
    expect([status, errorOf(text)]).to.deep.equal([400, 'Database not found: none']);
  });

  it('replies to the check of agents, and refuses other methods', async () => {
    const check = await fetch(rig.url + PATH);
    expect([check.status, await check.text()]).to.deep.equal([200, 'remote write endpoint: send POST\n']);
    const { status, headers } = await fetch(rig.url + PATH, { method: 'PUT', body: 'x' });
    expect([status, headers.get('allow')]).to.deep.equal([405, 'POST, GET, HEAD']);
  });
});
