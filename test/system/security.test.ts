import { request } from 'node:http';
import { connect } from 'node:net';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { freePort } from '#test/support/free-port';
import { tempFolder } from '#test/support/temp-folder';

const PASSWORD = 'a-secret-of-root';
const ROOT = `Basic ${Buffer.from(`root:${PASSWORD}`).toString('base64')}`;
const BODY = 'sql=SELECT+4711';

/** Attempts of docs/security.md, on sockets, since clients refuse to send most of them. */
describe('security', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;
  let mainPort: number;
  let publicPort: number;

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    publicPort = await freePort();
    const environment = {
      ALMANAC_STANDALONE__USER_PROVIDER: `static_user_provider:cmd:root=${PASSWORD}`,
      ALMANAC_STANDALONE__AUTH__ADMIN: 'required',
      ALMANAC_STANDALONE__AUTH__HIDE_UNKNOWN_USER: 'true',
      ALMANAC_STANDALONE__HTTP__ENABLE_API_SERVER: 'true',
      ALMANAC_STANDALONE__HTTP__API_SERVER_ADDR: `127.0.0.1:${publicPort}`,
    };
    almanac = await Almanac.start(folder, { environment });
    mainPort = Number(new URL(almanac.url).port);
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  /**
   * Sends bytes as they are.
   *
   * @param waitMs after the last byte. Default: long if the request ends the connection.
   * @returns everything that came until the server closed or the time was over.
   */
  function raw(
    port: number,
    text: string,
    waitMs = text.includes('Connection: close') ? 10_000 : 300,
  ): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'));
      let got = '';
      socket.setEncoding('latin1').on('data', (part: string) => (got += part));
      socket.setTimeout(waitMs, () => socket.destroy());
      socket.on('error', (error: NodeJS.ErrnoException) =>
        error.code === 'ECONNRESET' ? resolve(got) : reject(error),
      );
      socket.on('close', () => resolve(got));
    });
  }
  const statuses = (answer: string): number[] => {
    return Array.from(answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm), ([, status]) => Number(status));
  };
  const isHealthy = async (): Promise<void> => {
    expect((await almanac.get('/health')).status).to.equal(200);
  };

  const PATHS = [
    '/v1/sql?sql=SELECT+4711',
    '//v1/sql?sql=SELECT+4711',
    '/v1//sql?sql=SELECT+4711',
    '/V1/sql?sql=SELECT+4711',
    '/v1/sql/?sql=SELECT+4711',
    '/v1/%73ql?sql=SELECT+4711',
    '/v1%2fsql?sql=SELECT+4711',
    '/v1/health/../sql?sql=SELECT+4711',
    '/v1/health/%2e%2e/sql?sql=SELECT+4711',
    '/v1/influxdb/ping/../../sql?sql=SELECT+4711',
    '/v1/sql;/v1/health?sql=SELECT+4711',
    '/dashboard/../v1/sql?sql=SELECT+4711',
    '/dashboard/%2e%2e/v1/sql?sql=SELECT+4711',
    '/dashboard/..%2fv1/sql?sql=SELECT+4711',
    'http://elsewhere/v1/sql?sql=SELECT+4711',
  ];

  it('needs credentials on every spelling of a path', async () => {
    for (const path of PATHS) {
      for (const port of [mainPort, publicPort]) {
        const answer = await raw(port, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
        expect(answer, path).to.not.contain('4711]');
        expect(statuses(answer), path).to.have.length(1);
      }
    }
    // The same paths are no other way to what a user may do.
    const answer = await raw(
      mainPort,
      `GET ${PATHS[0]} HTTP/1.1\r\nHost: x\r\nAuthorization: ${ROOT}\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).to.contain('4711');
  });

  it('takes no header for another path, method or user', async () => {
    const headers = [
      'X-Original-URL',
      'X-Rewrite-URL',
      'X-Forwarded-Path',
      'X-HTTP-Method-Override',
      'X-Forwarded-User',
      'X-Forwarded-For',
    ];
    for (const header of headers) {
      for (const value of ['/config', 'GET', 'root', '127.0.0.1']) {
        const head = `GET /v1/health HTTP/1.1\r\nHost: x\r\n${header}: ${value}\r\nConnection: close\r\n\r\n`;
        expect(await raw(publicPort, head), header).to.not.contain('user_provider');
        const sql = `GET ${PATHS[0]} HTTP/1.1\r\nHost: x\r\n${header}: ${value}\r\nConnection: close\r\n\r\n`;
        expect(statuses(await raw(mainPort, sql)), header).to.deep.equal([401]);
      }
    }
  });

  it('serves no administration on the public listener, however it is spelled, also as a second request', async () => {
    const paths = [
      '/config',
      '//config',
      '/%63onfig',
      '/v1/../config',
      '/v1/%2e%2e/config',
      '/v1/..%2fconfig',
      '/CONFIG',
      'http://x/config',
      '/./config',
    ];
    for (const path of [...paths, '/status', '/metrics', '/debug/prof/cpu', '/debug/log_level', '/health', '/']) {
      const head = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${ROOT}\r\n`;
      const answer = await raw(publicPort, `${head}\r\n${head}Connection: close\r\n\r\n`);
      expect(statuses(answer), path).to.satisfy((all: number[]) => all.every((status) => status >= 400));
      expect(answer, path).to.not.contain('user_provider');
    }
  });

  it('reads requests in one way only', async () => {
    const start = `POST /v1/sql HTTP/1.1\r\nHost: x\r\nAuthorization: ${ROOT}\r\nContent-Type: application/x-www-form-urlencoded\r\n`;
    const hidden = `GET /config HTTP/1.1\r\nHost: x\r\nAuthorization: ${ROOT}\r\n\r\n`;
    const chunked = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
    const requests = [
      `${start}Content-Length: ${BODY.length}\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}${hidden}`,
      `${start}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${chunked}${hidden}`,
      `${start}Content-Length: ${BODY.length}\r\nContent-Length: 0\r\n\r\n${BODY}${hidden}`,
      `${start}Content-Length: ${BODY.length}, 0\r\n\r\n${BODY}${hidden}`,
      `${start}Content-Length: +${BODY.length}\r\n\r\n${BODY}${hidden}`,
      `${start}Content-Length: 0x10\r\n\r\n${BODY}${hidden}`,
      `${start}Transfer-Encoding: identity, chunked\r\nTransfer-Encoding: identity\r\n\r\n${chunked}${hidden}`,
      `${start}Transfer-Encoding: xchunked\r\n\r\n${chunked}${hidden}`,
      `${start}Transfer-Encoding : chunked\r\n\r\n${chunked}${hidden}`,
      `${start}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n${BODY}\r\n0\r\n\r\n${hidden}`,
      `${start}Transfer-Encoding: chunked\r\n\r\n-1\r\n${BODY}\r\n0\r\n\r\n${hidden}`,
      `${start}X-A: a\0b\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}${hidden}`,
      `${start}X-A: a\rX-B: b\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}${hidden}`,
      `GET /v1/health HTTP/1.1\nHost: x\n\n${hidden.replaceAll('\r', '')}`,
    ];
    for (const port of [mainPort, publicPort]) {
      for (const text of requests) {
        const answer = await raw(port, text);
        expect(answer, text).to.not.contain('user_provider =');
        const [first] = statuses(answer);
        if (first !== undefined) expect(first, text).to.equal(400);
      }
    }
    await isHealthy();
  });

  it('bounds the request line, headers and bodies', async () => {
    const get = 'GET /v1/health HTTP/1.1\r\nHost: x\r\n';
    const cases: [string, number[]][] = [
      [`GET /v1/health?${'a'.repeat(70_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, [414, 431, 400]],
      [`${get}X-Long: ${'a'.repeat(70_000)}\r\n\r\n`, [431]],
      [`${get}${Array.from({ length: 200 }, (_, i) => `X-${i}: a\r\n`).join('')}\r\n`, [431]],
      [`${get}${'X'.repeat(70_000)}`, [431]],
    ];
    for (const [text, expected] of cases) expect(statuses(await raw(mainPort, text))[0]).to.be.oneOf(expected);
    await isHealthy();
  });

  it('closes connections that send their headers too slowly, and serves others meanwhile', async () => {
    const started = performance.now();
    const slow = Array.from({ length: 50 }, () =>
      raw(mainPort, 'GET /v1/health HTTP/1.1\r\nHost: x\r\nX-Never', 60_000),
    );
    await isHealthy();
    const answers = await Promise.all(slow);
    for (const answer of answers) expect(statuses(answer)).to.deep.equal([408]);
    expect(performance.now() - started).to.be.lessThan(45_000);
  });

  it('takes as long for an unknown user as for a wrong password', async () => {
    let address = 1;
    const timeOf = (user: string): Promise<number> => {
      const authorization = `Basic ${Buffer.from(`${user}:wrong`).toString('base64')}`;
      // An address of its own, so that no failure is delayed.
      const options = {
        port: mainPort,
        host: '127.0.0.1',
        localAddress: `127.1.0.${address++}`,
        path: PATHS[0],
        headers: { authorization },
      };
      return new Promise((resolve, reject) => {
        const startMs = performance.now();
        request(options, (response) => response.resume().on('end', () => resolve(performance.now() - startMs)))
          .on('error', reject)
          .end();
      });
    };
    const times = { root: [] as number[], nobodyKnown: [] as number[] };
    for (let i = 0; i < 15; i++) {
      for (const user of ['root', 'nobodyKnown'] as const) times[user].push(await timeOf(user));
    }
    // Other processes only add to a time: the fastest reply of each is nearest to the work that it takes.
    expect(Math.min(...times.root) / Math.min(...times.nobodyKnown)).to.be.within(0.4, 2.5);
  });

  it('shows no password in its configuration, metrics, profiles or log', async () => {
    for (const path of ['/config', '/metrics', '/status', '/debug/prof/cpu?seconds=1&output=text']) {
      const response = await fetch(almanac.url + path, { headers: { authorization: ROOT } });
      expect(response.status, path).to.equal(200);
      expect(await response.text(), path).to.not.contain(PASSWORD);
    }
    await fetch(`${almanac.url}/v1/influxdb/write?u=root&p=${PASSWORD}-wrong`, { method: 'POST', body: 'm v=1' });
    expect(almanac.stderr).to.contain('credentials refused').and.to.not.contain(PASSWORD);
  });
});
