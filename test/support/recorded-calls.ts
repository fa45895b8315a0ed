import { Agent, request, type IncomingHttpHeaders } from 'node:http';
import { gunzipSync } from 'node:zlib';

import { expect } from 'chai';

import { Almanac } from './almanac.js';
import { basic } from './as-user.js';
import { tempFolder } from './temp-folder.js';

/** A request as another program sends it, and what must hold of the reply. */
export interface RecordedCall {
  /** Name of the test: what the program wants to know. */
  readonly purpose: string;
  /** Default: POST if there is a body, else GET. */
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT';
  /** Below the URL that the program has. */
  readonly path: string;
  /** A body of `application/x-www-form-urlencoded`. */
  readonly form?: string;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: 200. */
  readonly status?: number;
  readonly holds?: (reply: CallReply) => void;
}

/** A reply; gzip is undone. */
export interface CallReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  /** @throws if the body is not JSON. */
  json(): unknown;
}

/** A program that calls a server, over one connection at a time. */
export class RecordedProgram {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #credentials: Readonly<Record<string, string>>;
  /** Connections that were opened. */
  connectionCount = 0;

  /** @param url that the paths of calls are below. @param headers of every call. */
  constructor(
    url: string,
    headers: Readonly<Record<string, string>> = {},
    credentials: Readonly<Record<string, string>> = {},
  ) {
    this.#url = url;
    this.#headers = headers;
    this.#credentials = credentials;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Sends a call, and checks what must hold of its reply. */
  async check(call: RecordedCall): Promise<CallReply> {
    const reply = await this.send(call);
    const shown = `${call.path} ${reply.text.slice(0, 500)}`;
    expect(reply.status, shown).to.equal(call.status ?? 200);
    // Grafana and all agents in Go accept gzip.
    if (reply.bytes.length >= 2_048) expect(reply.headers['content-encoding'], shown).to.equal('gzip');
    call.holds?.(reply);
    return reply;
  }

  send({ method, path, form, body, headers }: RecordedCall, { isAnonymous = false } = {}): Promise<CallReply> {
    const sent = form ?? body;
    const all = {
      'accept-encoding': 'gzip',
      ...this.#headers,
      ...(isAnonymous ? {} : this.#credentials),
      ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      ...(sent === undefined ? {} : { 'content-length': Buffer.byteLength(sent) }),
      ...headers,
    };
    const options = { method: method ?? (sent === undefined ? 'GET' : 'POST'), headers: all, agent: this.#agent };
    return new Promise((resolve, reject) => {
      const sending = request(this.#url + path, options, (response) => {
        if (!sending.reusedSocket) this.connectionCount++;
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          resolve(replyOf(response.statusCode ?? 0, response.headers, Buffer.concat(chunks)));
        });
      });
      sending.on('error', reject);
      sending.end(sent);
    });
  }
}

function replyOf(status: number, headers: IncomingHttpHeaders, received: Buffer): CallReply {
  const bytes = headers['content-encoding'] === 'gzip' ? gunzipSync(received) : received;
  const text = bytes.toString();
  return { status, headers, bytes, text, json: () => JSON.parse(text) as unknown };
}

/** Sends data to a server that is being prepared; a reply that is no success fails. */
export type Seed = (
  path: string,
  body: string | Uint8Array,
  headers?: Readonly<Record<string, string>>,
) => Promise<void>;

/** How a program uses a server. */
export interface RecordedUse {
  /** What is entered as the URL, without the address of the server. */
  readonly base: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly seed: (seed: Seed) => Promise<void>;
  readonly calls: readonly RecordedCall[];
  /** Defines further tests. */
  readonly more?: (program: () => RecordedProgram) => void;
}

const USERS = { ALMANAC_STANDALONE__USER_PROVIDER: 'static_user_provider:cmd:grafana=secret' };
const SIGNED_IN = { authorization: basic('grafana', 'secret') };

/** Defines the tests of a program: all of its calls to a server without users, and to one with users. */
export function describeCalls(title: string, use: RecordedUse): void {
  describe(title, () => {
    describe('without users', () => {
      describeServer(use, {}, {});
    });
    describe('with users', () => {
      const program = describeServer(use, USERS, SIGNED_IN);
      it('refuses each call without credentials', async () => {
        for (const call of use.calls) {
          const { status, headers, text } = await program().send(call, { isAnonymous: true });
          expect(status, `${call.path} ${text}`).to.equal(401);
          expect(headers['www-authenticate']).to.equal('Basic realm="almanac"');
        }
      });
    });
  });
}

function describeServer(
  { base, headers, seed, calls, more }: RecordedUse,
  environment: Readonly<Record<string, string>>,
  credentials: Readonly<Record<string, string>>,
): () => RecordedProgram {
  let almanac: Almanac;
  let program: RecordedProgram;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after), { environment });
    program = new RecordedProgram(almanac.url + base, headers, credentials);
    await seed(async (path, body, own = {}) => {
      const { status, text } = await almanac.post(path, Uint8Array.from(Buffer.from(body)), { ...own, ...credentials });
      expect(status, `${path} ${text}`).to.be.within(200, 299);
    });
  });

  after(() => {
    program.close();
    return almanac.stop();
  });

  for (const call of calls) it(call.purpose, () => program.check(call).then(() => undefined));
  more?.(() => program);
  return () => program;
}

/** Returns the headers that Grafana's server sends with each call. */
export function grafanaHeaders(database = 'public'): Readonly<Record<string, string>> {
  return { 'user-agent': 'Grafana/12.1.0', 'x-scope-orgid': 'tenant', 'x-greptime-db-name': database };
}
