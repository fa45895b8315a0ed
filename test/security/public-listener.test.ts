import { expect } from 'chai';

import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';
import { exchange, parseAnswer, sendRaw } from '#test/support/raw-http';

const ADMIN_PATHS = ['/', '/health', '/ready', '/-/healthy', '/-/ready', '/status', '/metrics', '/config'];

/** Ways to spell a path of the administration so that some check or router might be mistaken. */
function spellings(path: string): string[] {
  const name = path.slice(1);
  const encodedFirst = `%${(name.charCodeAt(0) || 0x2f).toString(16)}${name.slice(1)}`;
  return [
    path,
    `${path}/`,
    `/${path}`,
    `//${path}`,
    `/${encodedFirst}`,
    `/%2f${name}`,
    `/${name.toUpperCase()}`,
    `${path};/v1`,
    `${path}%00`,
    `${path}?/v1/sql`,
    `${path}#/v1`,
    `/./${name}`,
    `/v1/..${path}`,
    `/v1/../v1/..${path}`,
    `/v1/.${'./'.repeat(2)}${name}`,
    `/v1/%2e%2e${path}`,
    `/v1/%2E%2E${path}`,
    `/v1/.%2e${path}`,
    `/v1/%252e%252e${path}`,
    `/v1/..%2f${name}`,
    `/v1/..%5c${name}`,
    `/v1/..;${path}`,
    `/v1\\..\\${name}`,
    `/v1/..\\${name}`,
    `\\${name}`,
    `/dashboard/..${path}`,
    `/dashboard/%2e%2e${path}`,
    `/dashboard/..%252f${name}`,
    `/V1/..${path}`,
    `/v1%2f..${path}`,
    `/v10/..${path}`,
    `http://127.0.0.1${path}`,
    `http://127.0.0.1:4006${path}`,
    `HTTP://v1${path}`,
    `http://user@v1${path}`,
    `http://127.0.0.1/v1/..${path}`,
    `https://127.0.0.1/${path}`,
    `v1${path}`,
    `v1/..${path}`,
  ];
}

/** Requests for the administration, refused before routing or not valid. */
function expectNothing(
  answer: { status: number; headers: Readonly<Record<string, string>>; body: string },
  what: string,
): void {
  expect([400, 404], `${what}: ${answer.status}`).to.include(answer.status);
  expect(answer.body, what).to.equal('');
  expect(answer.headers, what).not.to.have.property('content-type');
}

describe('public listener', () => {
  let rig: GatewayRig;

  before(async () => {
    rig = await startGatewayRig();
  });

  after(() => rig.gateway.stop());

  for (const path of ADMIN_PATHS) {
    it(`has no ${path}, however it is spelled`, async () => {
      for (const target of spellings(path)) {
        for (const method of ['GET', 'POST', 'HEAD', 'OPTIONS']) {
          expectNothing(await sendRaw(rig.publicUrl, `${method} ${target}`), `${method} ${target}`);
        }
      }
    });
  }

  it('returns 404 itself for every target that is a path', async () => {
    for (const target of [
      '/',
      '/metrics',
      '//metrics',
      '/v1/../metrics',
      '/v1/%2e%2e/metrics',
      '/V1/sql',
      '/metrics;/v1',
    ]) {
      expect((await sendRaw(rig.publicUrl, `GET ${target}`)).status, target).to.equal(404);
    }
    for (const target of ['/v10/sql', '/v1-internal', '/dashboard-admin', '/v1.', '/v1%00', 'http://x/metrics']) {
      expect((await sendRaw(rig.publicUrl, `GET ${target}`)).status, target).to.equal(404);
    }
  });

  it('serves data and dashboard, in absolute form too', async () => {
    expect((await sendRaw(rig.publicUrl, 'GET /v1/health')).body).to.equal('{}');
    expect((await sendRaw(rig.publicUrl, 'GET http://any.example/v1/health')).body).to.equal('{}');
    expect((await sendRaw(rig.publicUrl, 'GET /v1/influxdb/ping')).status).to.equal(204);
    expect((await sendRaw(rig.publicUrl, 'GET /dashboard/')).status).to.equal(200);
    const unknown = await sendRaw(rig.publicUrl, 'GET /v1/metrics');
    expect(unknown.status).to.equal(404);
    expect(JSON.parse(unknown.body)).to.deep.include({ code: 1001, error: 'no such path: /v1/metrics' });
  });

  it('cannot be left by CONNECT, an upgrade or a header', async () => {
    expect(await exchange(rig.publicUrl, 'CONNECT 127.0.0.1:4000 HTTP/1.1\r\nHost: x\r\n\r\n')).to.equal('');
    const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
    const lines = ['GET /metrics HTTP/1.1', 'Host: x', ...upgrade, '', ''].join('\r\n');
    const behind = 'GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n';
    expectNothing(parseAnswer(await exchange(rig.publicUrl, lines + behind)), 'upgrade');
    for (const header of ['X-Forwarded-Uri: /metrics', 'X-Original-URL: /metrics', 'X-Rewrite-URL: /metrics']) {
      expect((await sendRaw(rig.publicUrl, 'GET /v1/health', [header])).body).to.equal('{}');
    }
    expect((await sendRaw(rig.publicUrl, 'POST /v1/health', ['X-HTTP-Method-Override: GET'])).body).to.equal('{}');
  });

  it('does not mistake the body of one request for the next', async () => {
    const inner = 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n';
    const both = [
      'POST /v1/lineproto/write HTTP/1.1',
      'Host: x',
      `Content-Length: ${inner.length}`,
      'Transfer-Encoding: chunked',
      '',
      `0\r\n\r\n${inner}`,
    ];
    expect(await exchange(rig.publicUrl, both.join('\r\n'))).to.match(/^HTTP\/1\.1 400/);
    const twoLengths = [
      'POST /v1/lineproto/write HTTP/1.1',
      'Host: x',
      'Content-Length: 0',
      'Content-Length: 5',
      '',
      inner,
    ];
    expect(await exchange(rig.publicUrl, twoLengths.join('\r\n'))).to.match(/^HTTP\/1\.1 400/);
  });
});

describe('main listener', () => {
  let rig: GatewayRig;

  before(async () => {
    rig = await startGatewayRig();
  });

  after(() => rig.gateway.stop());

  it('serves the administration by its plain paths only', async () => {
    expect((await sendRaw(rig.url, 'GET /status')).status).to.equal(200);
    expect((await sendRaw(rig.url, 'GET http://127.0.0.1/status')).status).to.equal(200);
    for (const target of [
      '//status',
      '/v1/../status',
      '/%2e/status',
      '/STATUS',
      '/v1/%2e%2e/status',
      '/status%00',
      '/./status',
    ]) {
      const { status } = await sendRaw(rig.url, `GET ${target}`);
      expect(status, target).to.equal(404);
    }
  });

  it('refuses targets that are not paths', async () => {
    for (const target of ['*', 'status', 'ftp://x/status', 'x:80']) {
      expect((await sendRaw(rig.url, `OPTIONS ${target}`)).status, target).to.equal(400);
    }
  });
});
