import { expect } from 'chai';
import fc from 'fast-check';
import { compressSync } from 'snappy';

import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';
import { memoryQuerier, MemorySamples } from '#test/support/memory-samples';
import { series } from '#test/support/promql-source';
import { CHUNKS, readBody, remoteRead, SAMPLES } from '#test/support/remote-read-messages';

const ANSWERS = [200, 400];
const EVER = { from: 0, to: 1e15 };

describe('hostile remote reads', () => {
  const samples = new MemorySamples({ public: [series('up', { job: 'a'.repeat(50) }, [1, 2, 3])] });
  let rig: GatewayRig;

  before(async () => {
    rig = await startGatewayRig({}, memoryQuerier(samples, ['public']));
  });

  after(() => rig.gateway.stop());

  afterEach(async () => {
    expect(samples.openCount).to.equal(0);
    expect((await fetch(`${rig.url}/health`)).status).to.equal(200);
    expect(await rig.metrics.print()).to.match(/^almanac_servers_request_memory_in_use_bytes 0$/m);
  });

  async function status(body: Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}): Promise<number> {
    const response = await fetch(`${rig.url}/v1/prometheus/read`, { method: 'POST', body, headers });
    await response.arrayBuffer();
    return response.status;
  }

  it('get a clear error, whatever their bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.boolean(), async (bytes, isPacked) => {
        const body = isPacked ? compressSync(Buffer.from(bytes)) : bytes;
        expect(ANSWERS).to.include(await status(Uint8Array.from(body)));
      }),
      { numRuns: 300 },
    );
  }).timeout(20_000);

  it('get a clear error after any change to a valid request', async () => {
    const good = readBody([{ ...EVER, matchers: ['__name__=up', 'job=~a+|b{2,3}', 'x!~[a-z]*'] }], [CHUNKS, SAMPLES]);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        fc.nat(good.length),
        async (changes, length) => {
          const body = Buffer.from(good);
          for (const [at, byte] of changes) body[at] = byte;
          const { status: answer } = await remoteRead(rig, body.subarray(0, Math.max(length, 1)));
          expect(ANSWERS).to.include(answer);
        },
      ),
      { numRuns: 300 },
    );
  }).timeout(20_000);

  it('cannot claim to expand beyond their data or the limit', async () => {
    // The claims: 4 GiB, 1 GiB, 100 MiB.
    for (const claim of ['ffffffff0f', '8080808004', '80808032']) {
      expect([400, 413]).to.include(await status(Uint8Array.from(Buffer.from(`${claim}00`, 'hex'))));
    }
    const bomb = Uint8Array.from(compressSync(Buffer.alloc(65 * 2 ** 20)));
    expect(await status(bomb)).to.equal(413);
  }).timeout(10_000);

  it('cannot block the server by expressions that explode', async () => {
    const bombs = [
      `(${'a+'.repeat(30)})+b`,
      '(a|a)*(a|a)*(a|a)*(a|a)*b',
      '((a{0,100}){0,100}){0,100}',
      `(${'x?'.repeat(2000)})${'x'.repeat(2000)}`,
      '(((((a*)*)*)*)*)*b',
      `[${'a-z'.repeat(5000)}]*`,
      '\\pL{1000}',
      '('.repeat(20_000),
    ];
    for (const bomb of bombs) {
      const started = performance.now();
      const body = readBody([{ ...EVER, matchers: [`job=~${bomb}`] }]);
      const { status: answer } = await remoteRead(rig, body);
      expect(ANSWERS, bomb.slice(0, 40)).to.include(answer);
      expect(performance.now() - started, bomb.slice(0, 40)).to.be.below(3000);
    }
  }).timeout(30_000);

  it('cannot block the server by very many queries', async () => {
    const queries = Array.from({ length: 1000 }, () => ({ ...EVER, matchers: Array.from({ length: 10 }, () => 'a=') }));
    expect((await remoteRead(rig, readBody(queries))).status).to.equal(200);
    expect((await remoteRead(rig, readBody(queries, [CHUNKS]))).status).to.equal(200);
    const many = Buffer.alloc(2 ** 25 - 2).fill(Buffer.from([0x0a, 0x00]));
    expect((await remoteRead(rig, many)).status).to.equal(400);
  }).timeout(20_000);
});
