import { fork, type ChildProcess } from 'node:child_process';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';

import { expect } from 'chai';
import fc from 'fast-check';

import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';
import { cpuMs } from '#test/support/process-figures';
import { exchange, parseAnswer } from '#test/support/raw-http';

const WRITE = '/v1/lineproto/write';
const MEBIBYTE = 1024 * 1024;

describe('hostile bodies', () => {
  let rig: GatewayRig;

  beforeEach(async () => {
    rig = await startGatewayRig();
  });

  afterEach(() => rig.gateway.stop());

  async function status(body: Uint8Array, headers: Record<string, string> = {}): Promise<number> {
    const response = await fetch(rig.url + WRITE, { method: 'POST', body, headers });
    await response.arrayBuffer();
    return response.status;
  }

  async function expectHealthy(): Promise<void> {
    expect((await fetch(`${rig.url}/health`)).status).to.equal(200);
    expect(await rig.metrics.print()).to.match(/^almanac_servers_request_memory_in_use_bytes 0$/m);
  }

  it('get a clear error, whatever their bytes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 300 }),
        fc.constantFrom('', 'gzip', 'deflate', 'br'),
        async (body, encoding) => {
          expect([204, 400]).to.include(await status(body, encoding === '' ? {} : { 'content-encoding': encoding }));
        },
      ),
      { numRuns: 300 },
    );
    await expectHealthy();
  }).timeout(20_000);

  it('are refused when they expand too far', async () => {
    const bomb = gzipSync(Buffer.alloc(200 * MEBIBYTE, 0x61));
    expect(bomb.length).to.be.lessThan(MEBIBYTE);
    const answers = await Promise.all(Array.from({ length: 8 }, () => status(bomb, { 'content-encoding': 'gzip' })));
    expect(new Set(answers)).to.deep.equal(new Set([413]));
    await expectHealthy();
  }).timeout(30_000);

  it('are refused when a line exceeds the body limit', async () => {
    expect(await status(Buffer.alloc(100 * MEBIBYTE, 0x78))).to.equal(413);
    await expectHealthy();
  }).timeout(20_000);

  it('of one endless line are refused in the protocol', async () => {
    expect(await status(Buffer.alloc(40 * MEBIBYTE, 0x78))).to.equal(400);
    expect(await status(Buffer.concat([Buffer.from('m f="'), Buffer.alloc(40 * MEBIBYTE, 0x78)]))).to.equal(400);
    expect(rig.tables.rows).to.have.length(0);
    await expectHealthy();
  }).timeout(20_000);

  it('that are truncated hold no memory or connection', async () => {
    const { hostname, port } = new URL(rig.url);
    const socket = connect(Number(port), hostname);
    const head = `POST ${WRITE} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n`;
    await new Promise<void>((resolve) => socket.write(`${head}m f=1 1\nm f=2 2\n`, () => resolve()));
    socket.resetAndDestroy();
    const inUse = /^almanac_servers_http_requests_total\{method="POST",path="\/v1\/lineproto\/write",code="499"/m;
    while (!inUse.test(await rig.metrics.print())) await new Promise((resolve) => setImmediate(resolve));
    expect(rig.tables.rows).to.have.length(0);
    await expectHealthy();
  });
});

describe('bodies of 60 MB', () => {
  let server: ChildProcess;
  let url: string;

  before(async () => {
    server = fork(new URL('../support/gateway-main.js', import.meta.url));
    url = await new Promise((resolve) => server.once('message', (message) => resolve(message as string)));
  });

  after(() => server.kill());

  it('do not delay /health', async () => {
    const fields = 'usage_user=58i,usage_idle=24.5,note="some text of usual length",usage_nice=17i';
    const tags = 'region=eu-central-1,datacenter=eu-central-1a,rack=12,os=Ubuntu15.10';
    const lines = Array.from({ length: 350_000 }, (_, i) => `cpu,hostname=host_${i % 1_000},${tags} ${fields} ${i}\n`);
    const body = Buffer.from(lines.join('')).subarray(0, 60_000_000);
    expect(body.length).to.be.greaterThan(50_000_000);
    const pid = server.pid ?? 0;
    await fetch(`${url}/health`);
    const head = `POST ${WRITE} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
    const waits: { ms: number; cpuMs: number }[] = [];
    let isDone = false;
    // Not by fetch, which copies the body and so keeps this process busy.
    const write = exchange(url, [head, body]).finally(() => (isDone = true));
    while (!isDone) {
      const [startMs, startCpuMs] = [performance.now(), cpuMs(pid)];
      await fetch(`${url}/health`).then((response) => response.text());
      waits.push({ ms: performance.now() - startMs, cpuMs: cpuMs(pid) - startCpuMs });
    }
    expect([204, 400]).to.include(parseAnswer(await write).status);
    expect(waits.length).to.be.greaterThan(10);
    // The machine has other work too: an answer is late by the gateway's doing if the gateway worked in that time.
    const late = waits.filter((wait) => Math.min(wait.ms, wait.cpuMs) > 100);
    expect(late.length).to.be.lessThan(1 + waits.length * 0.02);
    expect(Math.max(...waits.map((wait) => wait.ms))).to.be.lessThan(500);
  }).timeout(30_000);
});
