import { randomBytes } from 'node:crypto';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';

import { expect } from 'chai';
import { compressSync } from 'snappy';

import { pollUntil } from '#test/support/almanac';
import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';
import { memoryQuerier, MemorySamples } from '#test/support/memory-samples';
import { ManualClock } from '#test/support/manual-clock';
import { partialQuerier } from '#test/support/partial-querier';
import { series } from '#test/support/promql-source';
import {
  CHUNKS,
  framesOf,
  readBody,
  remoteRead,
  SAMPLES,
  wholeSeries,
  type RawAnswer,
} from '#test/support/remote-read-messages';

const STREAMED = 'application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse';
const COUNT = Array.from({ length: 300 }, (_, i) => i);
const EVER = { from: 0, to: 1e15 };

describe('remote read over HTTP', () => {
  const samples = new MemorySamples({
    public: [series('up', { job: 'a' }, COUNT), series('up', { job: 'b' }, COUNT), series('big', {}, COUNT)],
    elsewhere: [series('far', {}, [1])],
  });
  let rig: GatewayRig;

  before(async () => {
    const limits = { samplesMax: 700 };
    rig = await startGatewayRig({}, memoryQuerier(samples, ['public', 'elsewhere'], { limits }));
  });

  after(() => rig.gateway.stop());
  afterEach(() => expect(samples.openCount).to.equal(0));

  function read(matchers: readonly string[], accepted: readonly number[] = [], path?: string): Promise<RawAnswer> {
    return remoteRead(rig, readBody([{ ...EVER, matchers }], accepted), path);
  }

  async function failureOf(answer: Promise<RawAnswer>): Promise<[number, string]> {
    const { status, text, headers } = await answer;
    expect(headers.get('content-type')).to.equal('text/plain; charset=utf-8');
    return [status, text];
  }

  it('replies at once, or in frames if the client prefers them', async () => {
    for (const path of ['/v1/prometheus/read', '/v1/prometheus/api/v1/read']) {
      const whole = await read(['__name__=up'], [SAMPLES, CHUNKS], path);
      expect([whole.status, whole.headers.get('content-type')]).to.deep.equal([200, 'application/x-protobuf']);
      expect(whole.headers.get('content-encoding')).to.equal('snappy');
      const [found] = wholeSeries(whole.body);
      expect(found.map(({ labels }) => labels)).to.deep.equal(['__name__=up,job=a', '__name__=up,job=b']);
      const streamed = await read(['__name__=up'], [CHUNKS, SAMPLES], path);
      expect([streamed.status, streamed.headers.get('content-type')]).to.deep.equal([200, STREAMED]);
      expect(streamed.headers.get('content-encoding')).to.equal(null);
      const frames = framesOf(streamed.body);
      expect(frames.map(({ labels }) => labels)).to.deep.equal(found.map(({ labels }) => labels));
      for (const [i, { chunks }] of frames.entries()) {
        expect(chunks.map((chunk) => chunk.samples.length)).to.deep.equal([120, 120, 60]);
        expect(chunks.flatMap((chunk) => chunk.samples)).to.deep.equal(found[i].samples);
      }
    }
  });

  it('returns the result of each query in its place, including both ends of its range', async () => {
    const queries = [
      { from: 60_000, to: 180_000, matchers: ['job=b'] },
      { ...EVER, matchers: ['__name__=nothing'] },
      { from: 5, to: 4, matchers: ['job=b'] },
      { from: 0, to: 0, matchers: ['__name__=~up|big', 'job!=b'] },
    ];
    const shown = (labels: string, times: readonly number[]): string => `${labels}: ${times.join(' ')}`;
    const expected = [
      [shown('__name__=up,job=b', [60_000, 120_000, 180_000])],
      ...[[], []],
      [shown('__name__=up,job=a', [0]), shown('__name__=big', [0])],
    ];
    const whole = wholeSeries((await remoteRead(rig, readBody(queries))).body);
    const texts = whole.map((all) =>
      all.map((one) => {
        return shown(
          one.labels,
          one.samples.map(({ time }) => time),
        );
      }),
    );
    expect(texts).to.deep.equal(expected);
    const frames = framesOf((await remoteRead(rig, readBody(queries, [CHUNKS]))).body);
    expect(frames.map(({ query, labels }) => [query, labels])).to.deep.equal([
      [0, '__name__=up,job=b'],
      [3, '__name__=up,job=a'],
      [3, '__name__=big'],
    ]);
  });

  it('returns nothing for no query', async () => {
    expect(wholeSeries((await remoteRead(rig, readBody([]))).body)).to.deep.equal([]);
    expect(wholeSeries((await read(['__name__=nothing'])).body)).to.deep.equal([[]]);
    const frames = await read(['__name__=nothing'], [CHUNKS]);
    expect([frames.status, frames.body.length]).to.deep.equal([200, 0]);
    expect(wholeSeries((await read([], [], '/v1/prometheus/read?db=nowhere')).body)).to.deep.equal([[]]);
  });

  it('reads the database that the request or a matcher names', async () => {
    const names = async (answer: Promise<RawAnswer>): Promise<string[]> =>
      wholeSeries((await answer).body)[0].map(({ labels }) => labels);
    expect(await names(read([], [], '/v1/prometheus/read?db=elsewhere'))).to.deep.equal(['__name__=far']);
    for (const label of ['__database__', '__schema__', 'x_greptime_database', 'x_almanac_database']) {
      expect(await names(read([`${label}=elsewhere`])), label).to.deep.equal(['__name__=far']);
    }
    expect(await failureOf(read(['__database__=~else.*']))).to.deep.equal([
      ...[400, "Invalid query: expected a non-empty equality matcher for '__database__'\n"],
    ]);
  });

  it('refuses with a line of text what it cannot serve', async () => {
    expect(await failureOf(read(['a=~(fake']))).to.deep.equal([
      ...[400, 'error parsing regexp: missing closing ): `(fake`\n'],
    ]);
    expect(await failureOf(read([`a=~(x{1000}){1000}`]))).to.satisfy(([status]: [number]) => status === 400);
    expect(await failureOf(read([]))).to.deep.equal([400, 'exceeded sample limit (700)\n']);
    const frames = await read([], [CHUNKS]);
    expect([frames.status, framesOf(frames.body).length]).to.deep.equal([200, 3]);
    expect(await failureOf(remoteRead(rig, Buffer.from([0x0a, 9])))).to.deep.equal([400, 'unexpected EOF\n']);
    const large = Buffer.concat([readBody([]), Buffer.from([0x7a, 0xf8, 0xff, 0xff, 0x0f]), Buffer.alloc(2 ** 25)]);
    expect(await failureOf(remoteRead(rig, large))).to.deep.equal([
      ...[400, 'request is larger than 33554432 bytes\n'],
    ]);
    const post = async (
      body: string | Uint8Array<ArrayBuffer>,
      headers: Record<string, string> = {},
    ): Promise<[number, string]> => {
      const answer = await fetch(`${rig.url}/v1/prometheus/read`, { method: 'POST', body, headers });
      return [answer.status, await answer.text()];
    };
    expect(await post('not snappy')).to.deep.equal([400, 'snappy: corrupt input\n']);
    const body = Uint8Array.from(compressSync(readBody([])));
    expect((await post(body, { 'content-encoding': 'gzip' }))[0]).to.equal(415);
    expect((await post(body))[0]).to.equal(200);
    const get = await fetch(`${rig.url}/v1/prometheus/read`);
    expect([get.status, get.headers.get('allow')]).to.deep.equal([405, 'POST']);
  });

  it('ends at its timeout', async () => {
    samples.isStuck = true;
    const body = Uint8Array.from(compressSync(readBody([{ ...EVER, matchers: [] }])));
    const headers = { 'x-almanac-timeout': '100ms' };
    const answer = await fetch(`${rig.url}/v1/prometheus/read`, { method: 'POST', body, headers });
    samples.isStuck = false;
    expect([answer.status, await answer.text()]).to.deep.equal([503, 'query timed out in expression evaluation\n']);
  });
});

describe('remote reads with a slow client', () => {
  const part = randomBytes(256 * 1024);
  const state = { given: 0, isEnded: false };
  const clock = new ManualClock();
  let partsMax = 4000;
  let rig: GatewayRig;

  before(async () => {
    const querier = partialQuerier({
      async *promRead() {
        try {
          for (state.given = 0; state.given < partsMax; state.given++) {
            yield await Promise.resolve({ query: 0, data: part });
          }
        } finally {
          state.isEnded = true;
        }
      },
    });
    rig = await startGatewayRig({ ALMANAC_MEMORY__LIMIT: '1GiB' }, querier, clock);
  });

  beforeEach(() => {
    state.isEnded = false;
  });

  after(() => rig.gateway.stop());

  async function ask(accepted: number): Promise<[ClientRequest, IncomingMessage]> {
    const sent = request(`${rig.url}/v1/prometheus/read`, { method: 'POST' });
    sent.end(compressSync(readBody([{ ...EVER, matchers: [] }], [accepted])));
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve).once('error', reject);
    });
    response.on('error', () => undefined).pause();
    return [sent.on('error', () => undefined), response];
  }

  const soon = (isSo: () => boolean): Promise<boolean> =>
    pollUntil(performance.now() + 10_000, () => Promise.resolve(isSo()));

  async function untilQuiet(): Promise<void> {
    let quiet = 0;
    let before = -1;
    const isQuiet = await soon(() => {
      quiet = state.given > 0 && state.given === before ? quiet + 1 : 0;
      before = state.given;
      return quiet > 20;
    });
    expect(isQuiet).to.equal(true);
  }

  it('produce no faster than the client reads, and end when it disconnects', async () => {
    const [sent] = await ask(CHUNKS);
    await untilQuiet();
    // What the sockets of both sides hold is far below a GiB.
    expect(state.given).to.be.within(1, 200);
    expect(state.isEnded).to.equal(false);
    sent.destroy();
    expect(await soon(() => state.isEnded)).to.equal(true);
  }).timeout(30_000);

  it('end when nothing was read for a while', async () => {
    const [, response] = await ask(CHUNKS);
    await untilQuiet();
    await clock.advance(19_000);
    expect(state.isEnded).to.equal(false);
    await clock.advance(1_000);
    expect(await soon(() => state.isEnded)).to.equal(true);
    response.resume();
    expect(await soon(() => response.closed)).to.equal(true);
    expect(response.complete).to.equal(false);
  }).timeout(30_000);

  it('release memory when nothing was read for a while', async () => {
    // Too much for what sockets hold, and for a second one beside it.
    partsMax = 80;
    const [, response] = await ask(SAMPLES);
    expect(response.statusCode).to.equal(200);
    state.given = 0;
    const second = ask(SAMPLES);
    await untilQuiet();
    await clock.advance(1_000);
    expect((await second)[1].statusCode).to.equal(503);
    await clock.advance(19_000);
    const [third, answer] = await ask(SAMPLES);
    expect(answer.statusCode).to.equal(200);
    third.destroy();
    response.resume();
    expect(await soon(() => response.closed)).to.equal(true);
    expect(response.complete).to.equal(false);
  }).timeout(60_000);
});
