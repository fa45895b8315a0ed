import { spawn, type ChildProcess } from 'node:child_process';

import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';

import { pausesMs } from './conditions.js';
import { freePort } from './free-port.js';
import { send, type HttpRequest, type Reply } from './http-client.js';

const PROGRAM = new URL('../../../services/cli/almanac.cjs', import.meta.url).pathname;
const START_MS_MAX = 60_000;
const LOG_LENGTH_MAX = 256 * 1024;
/** From the reply to a request until what the server logged about it was read. */
const LOG_MS_MAX = 1000;

export interface AlmanacOptions {
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** A program that starts it, and its arguments. */
  readonly through?: readonly string[];
  /** Of HTTP. Default: a free one. */
  readonly port?: number;
  /** A file that runs the program, if not this checkout's. */
  readonly program?: string;
  /** False: return as soon as the process runs. */
  readonly waitUntilReady?: boolean;
}

/** Options of a process that merges segments only on request. */
export const MERGES_BY_HAND = {
  environment: { ALMANAC_STANDALONE__INGESTER__COMPACTION: 'false' },
} as const satisfies AlmanacOptions;

/** An answer of `/v1/sql` in the default format. */
export interface SqlAnswer {
  readonly status: number;
  readonly text: string;
  readonly rows: unknown[][];
}

/** Characters or bytes of a body that is sent at once. */
const SHORT_BODY = 64 * 1024;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** How requests are sent that `send` does not know of: over TLS. */
export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/** A gateway, used over HTTP only. */
export class HttpApi {
  readonly url: string;
  readonly #fetch: Fetch | undefined;

  constructor(url: string, send?: Fetch) {
    this.url = url;
    this.#fetch = send;
  }

  get(path: string): Promise<Reply> {
    return this.#send(path, {});
  }

  post(
    path: string,
    body: string | Uint8Array<ArrayBuffer>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Reply> {
    return this.#send(path, { method: 'POST', body, headers });
  }

  async #send(path: string, init: HttpRequest): Promise<Reply> {
    const { body } = init;
    if (this.#fetch === undefined && (body === undefined || body.length <= SHORT_BODY)) {
      const reply = await send(this.url + path, init);
      if (!REDIRECTS.has(reply.status)) return reply;
    }
    const response = await (this.#fetch ?? fetch)(this.url + path, init);
    return { status: response.status, text: await response.text(), headers: response.headers };
  }

  /** Writes line protocol; the status is the caller's to look at. */
  write(lines: string | Uint8Array<ArrayBuffer>, parameters = ''): Promise<{ status: number; text: string }> {
    return this.post(`/v1/lineproto/write?${parameters}`, lines);
  }

  async sql(statement: string, parameters: Readonly<Record<string, string>> = {}): Promise<SqlAnswer> {
    const body = new URLSearchParams({ sql: statement, ...parameters }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const { status, text } = await this.post('/v1/sql', body, headers);
    return { status, text, rows: status === 200 ? rowsOf(text) : [] };
  }

  /** The rows of a statement that has to succeed. */
  async rows(statement: string): Promise<unknown[][]> {
    const { status, text, rows } = await this.sql(statement);
    if (status !== 200) throw new Error(`${status} ${text}: ${statement}${await this.logged(status)}`);
    return rows;
  }

  /** What the server logged about a failure of its own, if that is known: its replies name none. */
  protected logged(_status: number): Promise<string> {
    return Promise.resolve('');
  }

  /** Writes line protocol that has to be acknowledged. */
  async written(lines: string, parameters = ''): Promise<void> {
    const { status, text } = await this.write(lines, parameters);
    if (status !== 204) throw new Error(`${status} ${text}${await this.logged(status)}`);
  }

  async flush(table: string): Promise<void> {
    await this.rows(`ADMIN flush_table('${table}')`);
  }

  /** Drops the tables of `public`: a server of its own for each test would take a second of CPU time. */
  async dropTables(): Promise<void> {
    for (const [name] of await this.rows('SHOW TABLES')) await this.rows(`DROP TABLE "${String(name)}"`);
  }
}

/** A started `almanac standalone` on a data folder, used over HTTP only. */
export class Almanac extends HttpApi {
  readonly folder: string;
  readonly #process: ChildProcess;
  readonly #ended: Promise<number | null>;
  stderr = '';

  private constructor(folder: string, port: number, options: AlmanacOptions) {
    super(`http://127.0.0.1:${port}`);
    this.folder = folder;
    const args = ['standalone', '--data-dir', folder, '--http-addr', `127.0.0.1:${port}`, ...(options.flags ?? [])];
    const [program = '', ...words] = [
      ...(options.through ?? []),
      process.execPath,
      options.program ?? PROGRAM,
      ...args,
    ];
    this.#process = spawn(program, words, {
      env: { PATH: process.env['PATH'], ...options.environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      // The last lines explain a failure; a long run must not fill memory.
      this.stderr = (this.stderr + text).slice(-LOG_LENGTH_MAX);
    });
    this.#ended = new Promise((resolve) => this.#process.on('close', resolve));
  }

  static async start(folder: string, options: AlmanacOptions = {}): Promise<Almanac> {
    const almanac = new Almanac(folder, options.port ?? (await freePort()), options);
    if (options.waitUntilReady === false) return almanac;
    try {
      await almanac.ready();
    } catch (error) {
      await almanac.kill();
      throw error;
    }
    return almanac;
  }

  protected override async logged(status: number): Promise<string> {
    if (status !== 500) return '';
    const errors = (): string[] => this.stderr.split('\n').filter((line) => line.includes('"level":"error"'));
    await pollUntil(performance.now() + LOG_MS_MAX, () => Promise.resolve(errors().length > 0));
    return `\n${errors().slice(-3).join('\n')}`;
  }

  get pid(): number {
    invariant(this.#process.pid !== undefined, 'almanac did not start');
    return this.#process.pid;
  }

  /** Resolves when `/ready` says so. Fails with the program's own words if it ends first. */
  async ready(): Promise<void> {
    const untilMs = performance.now() + START_MS_MAX;
    const answer = await pollUntil(untilMs, async () => {
      if (this.#process.exitCode !== null) throw new Error(`almanac ended: ${this.stderr}`);
      const status = await this.get('/ready').then(
        (response) => response.status,
        () => 0,
      );
      return status === 200;
    });
    if (!answer) throw new Error(`almanac is not ready: ${this.stderr}`);
  }

  /** SIGTERM, and the exit code. */
  async stop(): Promise<number | null> {
    this.#process.kill('SIGTERM');
    return this.#ended;
  }

  /** SIGKILL: what `kill -9` and a crash look like. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#ended;
  }

  /** Resolves with the exit code when the process ends by itself. */
  ended(): Promise<number | null> {
    return this.#ended;
  }
}

/** Polls until the condition is true or the time is over. */
export async function pollUntil(untilMs: number, isDone: () => Promise<boolean>): Promise<boolean> {
  for (const pauseMs of pausesMs()) {
    if (await isDone()) return true;
    if (performance.now() > untilMs) break;
    await systemClock.sleep(pauseMs);
  }
  return false;
}

function rowsOf(text: string): unknown[][] {
  const answer = JSON.parse(text) as { output?: { records?: { rows: unknown[][] } }[] };
  return answer.output?.at(-1)?.records?.rows ?? [];
}
