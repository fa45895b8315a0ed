import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

import { expect } from 'chai';
import { WebSocket } from 'ws';

import { Almanac } from '#test/support/almanac';
import { replaceByCopy, replacePair, TestCa, type KeyPairFiles } from '#test/support/certificates';
import { eventually } from '#test/support/conditions';
import { freePort } from '#test/support/free-port';
import { runAlmanac, type ProgramEnd } from '#test/support/program';
import { SecureApi } from '#test/support/secure-api';
import { tempFolder } from '#test/support/temp-folder';
import { readText } from '#test/tidy/tree';

const ADMIN = { authorization: `Basic ${Buffer.from('root:a password').toString('base64')}` };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

interface SecureServer {
  readonly almanac: Almanac;
  readonly api: SecureApi;
  readonly environment: Readonly<Record<string, string>>;
}

function requiresTls(pair: KeyPairFiles): Readonly<Record<string, string>> {
  return {
    ALMANAC_HTTP__TLS__MODE: 'require',
    ALMANAC_HTTP__TLS__CERT_PATH: pair.cert,
    ALMANAC_HTTP__TLS__KEY_PATH: pair.key,
  };
}

/** Starts a server with TLS and waits until it is ready. */
async function startSecure(
  folder: string,
  { ca, pair }: { readonly ca: Pick<TestCa, 'cert'>; readonly pair: KeyPairFiles },
  more: Readonly<Record<string, string>> = {},
): Promise<SecureServer> {
  const environment = { ...requiresTls(pair), ...more };
  const almanac = await Almanac.start(folder, { environment, waitUntilReady: false });
  const api = new SecureApi(almanac.url.replace('http:', 'https:'), { ca: readFileSync(ca.cert) });
  const isReady = (): Promise<boolean> =>
    api.get('/ready').then(
      ({ status }) => status === 200,
      () => false,
    );
  await eventually(isReady, 60_000).catch(async (error: unknown) => {
    await almanac.kill();
    throw new Error(`not ready: ${almanac.stderr}`, { cause: error });
  });
  return { almanac, api, environment };
}

/** Opens a connection that begins no handshake. */
async function silentClient(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

describe('TLS of the HTTP listeners', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let folder = '';
  let ca: TestCa;
  let server: SecureServer;
  let publicApi: SecureApi;
  /** Connects first and is still there when the other tests have run. */
  let silent: Socket;
  let silentEnd: Promise<unknown>;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    ca = new TestCa(folder);
    const publicPort = await freePort();
    server = await startSecure(
      `${folder}/data`,
      { ca, pair: ca.issue('first') },
      {
        ALMANAC_HTTP__ENABLE_API_SERVER: 'true',
        ALMANAC_HTTP__API_SERVER_ADDR: `127.0.0.1:${publicPort}`,
        ALMANAC_HTTP__BODY_LIMIT: '1MiB',
        ALMANAC__USER_PROVIDER: 'static_user_provider:cmd:root:admin=a password',
      },
    );
    publicApi = new SecureApi(`https://127.0.0.1:${publicPort}`, { ca: readFileSync(ca.cert) });
    silent = await silentClient(server.api.url);
    silentEnd = once(silent, 'close');
  });

  after(async () => {
    await server.almanac.kill();
    cleanUp();
  });

  it('serves both, and logs https URLs', async () => {
    for (const api of [server.api, publicApi]) {
      expect(await api.get('/v1/health')).to.include({ status: 200, subject: 'first', protocol: 'TLSv1.3' });
      expect(server.almanac.stderr).to.contain(`"url":"${api.url}"`);
    }
    expect((await publicApi.get('/metrics')).status).to.equal(404);
    expect(server.almanac.stderr).to.not.contain('http://');
  });

  it('accepts TLS 1.2, not 1.1', async () => {
    expect(await server.api.with({ maxVersion: 'TLSv1.2' }).get('/health')).to.include({ protocol: 'TLSv1.2' });
    const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    const failure = await server.api
      .with(old)
      .get('/health')
      .catch((error: unknown) => error as Error);
    expect(failure)
      .to.have.property('message')
      .that.matches(/alert protocol version/);
  });

  it('negotiates HTTP/1.1, and refuses clients of HTTP/2 only', async () => {
    const { hostname, port } = new URL(server.api.url);
    const options = { host: hostname, port: Number(port), ca: readFileSync(ca.cert) };
    const both = connectTls({ ...options, ALPNProtocols: ['h2', 'http/1.1'] });
    await once(both, 'secureConnect');
    expect(both.alpnProtocol).to.equal('http/1.1');
    both.destroy();
    const [error] = (await once(connectTls({ ...options, ALPNProtocols: ['h2'] }), 'error')) as [NodeJS.ErrnoException];
    expect(error.code).to.match(/NO_APPLICATION_PROTOCOL/);
  });

  it('checks users, writes and queries', async () => {
    const write = (headers: Readonly<Record<string, string>>) =>
      server.api.post('/v1/lineproto/write', 'cpu,host=a usage=1 1', headers);
    expect((await write({})).status).to.equal(401);
    expect((await write(ADMIN)).status).to.equal(204);
    const counted = await server.api.post('/v1/sql', 'sql=SELECT count(*) FROM cpu', { ...FORM, ...ADMIN });
    expect(counted.text).to.contain('"rows":[[1]]');
  });

  it('limits bodies', async () => {
    const { status } = await server.api.post('/v1/lineproto/write', ' '.repeat(2 << 20), ADMIN);
    expect(status).to.equal(413);
  });

  it('closes the connection of a client that sends plain HTTP', async () => {
    const socket = await silentClient(server.api.url);
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => (received += text));
    socket.write('GET /health HTTP/1.1\r\nHost: test\r\n\r\n');
    await once(socket, 'close');
    expect(received).to.not.contain('HTTP/1.1');
    const { text } = await server.api.get('/metrics');
    const failures = /^almanac_servers_tls_handshake_failures_total (\d+)$/m.exec(text)?.[1];
    expect(Number(failures)).to.be.at.least(1);
  });

  it('replies to a request for another upgrade as if it had none', async () => {
    const reply = await server.api.get('/health', { connection: 'Upgrade', upgrade: 'h2c' });
    expect(reply.status).to.equal(200);
  });

  it('serves a tail by WebSocket', async () => {
    const base = '/v1/loki/loki/api/v1';
    const url = `${server.api.url.replace('https:', 'wss:')}${base}/tail?query=${encodeURIComponent('{app="shop"}')}`;
    const socket = new WebSocket(url, { ca: readFileSync(ca.cert), headers: ADMIN });
    const lines: string[] = [];
    socket.on('message', (data: Buffer) => lines.push(data.toString()));
    await once(socket, 'open');
    const values = [[`${Date.now()}000000`, 'a line over TLS']];
    const push = { streams: [{ stream: { app: 'shop' }, values }] };
    const headers = { 'content-type': 'application/json', ...ADMIN };
    expect((await server.api.post(`${base}/push`, JSON.stringify(push), headers)).status).to.equal(204);
    await eventually(() => lines.some((line) => line.includes('a line over TLS')));
    socket.close();
    await once(socket, 'close');
  });

  it('reports when the certificate expires', async () => {
    const { text } = await server.api.get('/metrics');
    const seconds = /^almanac_tls_certificate_not_after_timestamp_seconds\{section="http\.tls"\} (\d+)$/m.exec(
      text,
    )?.[1];
    expect(Number(seconds) * 1000).to.be.within(Date.now() + 86_400_000, Date.now() + 3 * 86_400_000);
  });

  describe('with the program', () => {
    const sql = (args: readonly string[]): Promise<ProgramEnd> =>
      runAlmanac(['sql', 'SELECT 1 AS one', '-o', 'csv', ...args], {
        environment: { ALMANAC_USER: 'root', ALMANAC_PASSWORD: 'a password' },
      });

    it('almanac sql trusts the CA of --ca-cert, and no other', async () => {
      const { url } = server.api;
      expect(await sql(['--host', url, '--ca-cert', ca.cert])).to.include({ code: 0, stdout: 'one\r\n1\r\n' });
      const untrusted = await sql(['--host', url]);
      expect(untrusted).to.include({ code: 1, stdout: '' });
      expect(untrusted.stderr).to.contain('its certificate is not trusted').and.contain('--ca-cert');
      const other = await sql(['--host', url, '--ca-cert', new TestCa(folder, 'other').cert]);
      expect(other.stderr).to.contain('its certificate is not trusted');
      expect((await sql(['--host', url, '--ca-cert', `${folder}/none`])).code).to.equal(2);
    });

    it('almanac sql says which scheme the server needs', async () => {
      const plain = await sql(['--host', server.almanac.url]);
      expect(plain.stderr).to.contain('a server that uses TLS needs https://');
    });

    it('almanac health uses TLS if the configuration does', async () => {
      const environment = { ...server.environment, ALMANAC_HTTP__ADDR: new URL(server.api.url).host };
      expect(await runAlmanac(['health'], { environment })).to.deep.equal({ code: 0, stdout: 'ready\n', stderr: '' });
      const named = await runAlmanac(['health', '--host', server.api.url]);
      expect(named).to.include({ code: 3 });
      expect(named.stderr).to.contain('its certificate is not trusted');
      const trusted = await runAlmanac(['health'], {
        environment: { ALMANAC_HOST: server.api.url, ALMANAC_CA_CERT: ca.cert },
      });
      expect(trusted.code).to.equal(0);
    });

    it('almanac backup flushes through the configured listener', async () => {
      const environment = {
        ...server.environment,
        ALMANAC_HTTP__ADDR: new URL(server.api.url).host,
        ALMANAC_USER: 'root',
        ALMANAC_PASSWORD: 'a password',
      };
      const end = await runAlmanac(['backup', `${folder}/backup`, '--data-dir', `${folder}/data`], { environment });
      expect(end, end.stderr).to.include({ code: 0 });
    });
  });

  it('disconnects a client whose handshake does not end', async () => {
    await silentEnd;
    expect(silent.bytesRead).to.equal(0);
  });
});

describe('certificates of the HTTP listeners', function () {
  this.timeout(120_000);
  const cleanUps: (() => unknown)[] = [];
  let folder = '';
  let ca: TestCa;
  let pair: KeyPairFiles;
  let server: SecureServer;

  beforeEach(() => {
    folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    ca = new TestCa(folder);
    pair = ca.issue('first');
  });

  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  async function start(certificate: Parameters<typeof startSecure>[1], more = {}): Promise<void> {
    server = await startSecure(`${folder}/data`, certificate, more);
    cleanUps.push(() => server.almanac.kill());
  }

  const subject = async (): Promise<string> => (await server.api.get('/health')).subject;

  it('are replaced while requests run; connections that are open continue', async () => {
    await start({ ca, pair });
    const kept = server.api.keepingAlive();
    expect((await kept.api.get('/health')).subject).to.equal('first');
    const statuses = new Set<number>();
    let isDone = false;
    const traffic = async (api: SecureApi): Promise<void> => {
      while (!isDone) statuses.add((await api.post('/v1/lineproto/write', `m v=1 ${statuses.size}`)).status);
    };
    const running = Promise.all([traffic(server.api), traffic(kept.api)]);
    replacePair(pair, ca.issue('second'));
    await eventually(async () => (await subject()) === 'second');
    expect((await kept.api.get('/health')).subject).to.equal('first');
    isDone = true;
    await running;
    kept.close();
    expect([...statuses]).to.deep.equal([204]);
    expect(server.almanac.stderr).to.contain('"subject":"CN=second"').and.contain('TLS certificate loaded');
  });

  it('stay in use when the files are replaced by a broken pair, which is logged once', async () => {
    await start({ ca, pair });
    const second = ca.issue('second');
    const warnings = (): number => server.almanac.stderr.split('changed TLS files not loaded').length - 1;
    replaceByCopy(pair.cert, second.cert);
    await eventually(() => warnings() === 1);
    expect(server.almanac.stderr).to.contain(`is not the private key of the certificate \\"${pair.cert}\\"`);
    expect(await subject()).to.equal('first');
    writeFileSync(pair.key, readFileSync(second.key, 'utf8').slice(0, 60));
    await eventually(() => warnings() === 2);
    expect(await subject()).to.equal('first');
    copyFileSync(second.key, pair.key);
    await eventually(async () => (await subject()) === 'second');
    expect(warnings()).to.equal(2);
  });

  it('work as the documentation makes them', async () => {
    const commands = /^### Certificates of your own CA\n[^]*?^```sh\n([^]*?)^```$/m.exec(
      readText('docs/security.md'),
    )?.[1];
    execFileSync('sh', ['-euc', commands ?? 'exit 1'], { cwd: folder, stdio: 'ignore' });
    const documented = { cert: `${folder}/server.crt`, key: `${folder}/server.key` };
    await start({ ca: { cert: `${folder}/ca.crt` }, pair: documented });
    expect(await subject()).to.equal('almanac.example.org');
  });

  it('limit handshakes to the number of requests, and a stop ends them', async () => {
    await start({ ca, pair }, { ALMANAC_HTTP__MAX_CONCURRENT_REQUESTS: '3' });
    const { url } = server.api;
    const silent = [await silentClient(url), await silentClient(url), await silentClient(url)];
    const oldestClosed = Promise.all(silent.slice(0, 2).map((socket) => once(socket, 'close')));
    silent.push(await silentClient(url));
    // Clients that finish their handshake are served however many do not.
    expect((await server.api.get('/health')).status).to.equal(200);
    await oldestClosed;
    expect(silent.map((socket) => socket.closed)).to.deep.equal([true, true, false, false]);
    const closed = Promise.all(silent.slice(2).map((socket) => once(socket, 'close')));
    expect(await server.almanac.stop()).to.equal(0);
    await closed;
  });

  it('change nothing in a clean stop: a request whose body is arriving is finished', async () => {
    await start({ ca, pair });
    const { hostname, port } = new URL(server.api.url);
    const socket = connectTls({ host: hostname, port: Number(port), ca: readFileSync(ca.cert) });
    await once(socket, 'secureConnect');
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => (received += text));
    socket.write(
      'POST /v1/lineproto/write HTTP/1.1\r\nHost: test\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n',
    );
    await eventually(() => received.startsWith('HTTP/1.1 100'));
    const stopped = server.almanac.stop();
    await eventually(() => server.almanac.stderr.includes('shutting down'));
    socket.write('cpu v=1 123');
    await once(socket, 'close');
    expect(received).to.contain('HTTP/1.1 204');
    expect(await stopped).to.equal(0);
  });

  it('that cannot be used prevent the start; one that has expired is logged', async () => {
    const startWith = (environment: Readonly<Record<string, string>>): Promise<ProgramEnd> =>
      runAlmanac(['standalone', '--data-dir', `${folder}/data`, '--http-addr', '127.0.0.1:0'], {
        environment: { ...requiresTls(pair), ...environment },
      });
    const missing = await startWith({ ALMANAC_HTTP__TLS__KEY_PATH: `${folder}/none` });
    expect(missing.code).to.equal(1);
    expect(missing.stderr).to.contain(`http.tls.key_path: the file \\"${folder}/none\\" does not exist`);
    const unset = await startWith({ ALMANAC_HTTP__TLS__CERT_PATH: '' });
    expect(unset.code).to.equal(2);
    expect(unset.stderr).to.contain('http.tls.mode = "require" needs http.tls.cert_path');

    const expired = ca.issue('expired', { days: -1 });
    const almanac = await Almanac.start(`${folder}/data`, {
      environment: requiresTls(expired),
      waitUntilReady: false,
    });
    await eventually(() => almanac.stderr.includes('TLS certificate has expired'), 60_000);
    const checked = await runAlmanac(['config', 'check'], {
      environment: requiresTls(expired),
    });
    expect(checked).to.include({ code: 0 });
    expect(checked.stderr).to.contain('TLS certificate has expired');
    await almanac.kill();
  });
});
