import { readFileSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { join } from 'node:path';

import { invariant } from '#shared/errors/invariant';

import type { Fetch } from './almanac.js';
import { basic } from './as-user.js';
import { peerTls, peerTlsEnvironment, TestCa } from './certificates.js';
import { Cluster } from './cluster.js';
import { secureFetch } from './secure-api.js';

export interface RollingRestartOptions {
  /** How often each process is restarted. */
  readonly turns: number;
  /** With TLS on every connection, between processes too, and a user whose password every request needs. */
  readonly isSecured: boolean;
}

export interface RollingRestartSummary {
  readonly restarts: number;
  readonly acknowledgedRows: number;
  readonly answeredReads: number;
  /** From the signal until the cluster was ready again, the longest of each process. */
  readonly restartMs: Readonly<Record<string, number>>;
  /** First attempts that failed, by what the client saw; every one was cured by its retry. */
  readonly retried: Readonly<Record<string, number>>;
}

const WRITERS = 2;
const READERS = 2;
const ROWS_PER_REQUEST = 50;
/** Between the requests of a client: the processes that start need the cores as well. */
const REST_MS = 10;
const RETRY_AFTER_MS = 1_000;
const ENVIRONMENT = { ALMANAC_MEMORY__LIMIT: '1GiB' };

/**
 * Restarts every process of a cluster of two gateways, two ingesters, two queriers and metadata, one after the other,
 * while clients write and read. Each client uses one gateway, and the other if that one's connection is refused; what
 * fails is repeated once after a second, at the other.
 *
 * @throws an error with the last words of the processes if a retry fails, a read is short, or a row is lost or doubled.
 */
export async function rollingRestart(folder: string, options: RollingRestartOptions): Promise<RollingRestartSummary> {
  const size = { gateways: 2, ingesters: 2, queriers: 2 };
  const secured = options.isSecured ? securedBy(folder) : undefined;
  const environment = { ...ENVIRONMENT, ...secured?.environment };
  const cluster = await Cluster.start(join(folder, 'data'), { ...size, ...secured, environment });
  try {
    const summary = await new Trial(cluster, secured?.secureFetch ?? fetch).run(options.turns);
    const codes = await cluster.stop();
    invariant(
      codes.every((code) => code === 0),
      `processes ended with ${codes.join()}`,
    );
    return summary;
  } catch (error) {
    const words = cluster.words();
    await cluster.killAll();
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n${words}`, { cause: error });
  }
}

/** Writes certificates and users. Returns how processes, and this one, use them. */
function securedBy(folder: string) {
  const ca = new TestCa(folder);
  const pair = ca.issue('node', { names: 'IP:127.0.0.1' });
  const peer = { pair, caCert: ca.cert };
  const users = join(folder, 'users');
  writeFileSync(users, 'loader:rw=loaderpass\n');
  const agent = new Agent({ keepAlive: true });
  return {
    secureFetch: secureFetch({ ca: readFileSync(ca.cert), agent }, { authorization: basic('loader', 'loaderpass') }),
    tls: peerTls(peer),
    environment: {
      ALMANAC_HTTP__TLS__MODE: 'require',
      ALMANAC_HTTP__TLS__CERT_PATH: pair.cert,
      ALMANAC_HTTP__TLS__KEY_PATH: pair.key,
      ...peerTlsEnvironment(peer),
      ALMANAC__USER_PROVIDER: `static_user_provider:file:${users}`,
    },
  };
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

type Send = (url: string) => Promise<Answer>;

class Trial {
  readonly #cluster: Cluster;
  readonly #fetch: Fetch;
  readonly #retried = new Map<string, number>();
  readonly #restartMs = new Map<string, number>();
  #restarting = 'nothing yet';
  #isOver = false;
  #sentRows = 0;
  #acknowledgedRows = 0;
  #answeredReads = 0;

  constructor(cluster: Cluster, send: Fetch) {
    this.#cluster = cluster;
    this.#fetch = send;
  }

  async run(turns: number): Promise<RollingRestartSummary> {
    await this.#write(0);
    const clients = [
      ...Array.from({ length: WRITERS }, (_, i) => this.#repeat(() => this.#write(i))),
      ...Array.from({ length: READERS }, (_, i) => this.#repeat(() => this.#read(i))),
    ];
    const load = Promise.all(clients);
    // A client that fails ends the trial at once.
    await Promise.race([this.#restartAll(turns), load.then(() => undefined)]);
    this.#isOver = true;
    await load;
    await this.#check();
    return {
      restarts: turns * this.#cluster.members.length,
      acknowledgedRows: this.#acknowledgedRows,
      answeredReads: this.#answeredReads,
      restartMs: Object.fromEntries(this.#restartMs),
      retried: Object.fromEntries(this.#retried),
    };
  }

  async #restartAll(turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn++) {
      for (const member of this.#cluster.members) {
        this.#restarting = member.name;
        const startMs = performance.now();
        const code = await member.stop();
        invariant(code === 0, `${member.name} ended with ${code}`);
        member.start();
        await this.#cluster.ready();
        const tookMs = Math.round(performance.now() - startMs);
        this.#restartMs.set(member.name, Math.max(tookMs, this.#restartMs.get(member.name) ?? 0));
      }
    }
  }

  async #repeat(work: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      await work();
      await passed(REST_MS);
    }
  }

  async #write(client: number): Promise<void> {
    const from = this.#sentRows;
    this.#sentRows += ROWS_PER_REQUEST;
    const lines = Array.from(
      { length: ROWS_PER_REQUEST },
      (_, i) => `cpu,host=h${(from + i) % 40} n=${from + i}i ${from + i + 1}`,
    ).join('\n');
    await this.#send(client, 204, (url) => this.#post(`${url}/v1/lineproto/write`, lines, 'text/plain'));
    this.#acknowledgedRows += ROWS_PER_REQUEST;
  }

  async #read(client: number): Promise<void> {
    const before = this.#acknowledgedRows;
    const sql = 'SELECT count(*), count(DISTINCT n) FROM cpu';
    const { text } = await this.#send(client, 200, (url) => this.#post(`${url}/v1/sql`, sql, 'application/sql'));
    const [count, distinct] = rowsOf(text)[0] as [number, number];
    const where = `while ${this.#restarting} restarts`;
    invariant(count >= before, `${where}: a read gave ${count} rows, ${before} were acknowledged before`);
    invariant(count === distinct, `${where}: a read gave ${count} rows, of them ${distinct} different`);
    this.#answeredReads++;
  }

  /** One request, repeated once. */
  async #send(client: number, wanted: number, send: Send): Promise<Answer> {
    const first = await this.#attempt(client, send);
    if (first.status === wanted) return first;
    const seen = `${this.#restarting}: ${first.status} ${first.text.replaceAll(/\d+/g, '_')}`;
    this.#retried.set(seen, (this.#retried.get(seen) ?? 0) + 1);
    await passed(RETRY_AFTER_MS);
    const second = await this.#attempt(client + 1, send);
    const both = `${first.status} ${first.text}, after a second ${second.status} ${second.text}`;
    invariant(second.status === wanted, `while ${this.#restarting} restarts: a client was answered ${both}`);
    return second;
  }

  /** By the client's gateway; a refused connection was never a request, so the other one gets it. */
  async #attempt(client: number, send: Send): Promise<Answer> {
    const { gateways } = this.#cluster;
    const preferred = gateways[client % gateways.length];
    const other = gateways[(client + 1) % gateways.length];
    const answer = await send(preferred.url).catch(failed);
    return answer.text === 'ECONNREFUSED' ? send(other.url).catch(failed) : answer;
  }

  async #post(url: string, body: string, type: string): Promise<Answer> {
    const response = await this.#fetch(url, { method: 'POST', body, headers: { 'content-type': type } });
    return { status: response.status, text: await response.text() };
  }

  async #check(): Promise<void> {
    const { rows, text } = await this.#cluster.sql('SELECT count(*), count(DISTINCT n), min(n), max(n) FROM cpu');
    const count = this.#acknowledgedRows;
    invariant(count === this.#sentRows, `${this.#sentRows} rows were sent, ${count} acknowledged`);
    const isWhole = JSON.stringify(rows) === JSON.stringify([[count, count, 0, count - 1]]);
    invariant(isWhole, `${count} rows were acknowledged, there are ${text}`);
  }
}

function failed(error: unknown): Answer {
  const { code } = ((error as Error).cause ?? error) as NodeJS.ErrnoException;
  return { status: 0, text: code ?? String(error) };
}

function rowsOf(text: string): unknown[][] {
  const answer = JSON.parse(text) as { output: { records: { rows: unknown[][] } }[] };
  return answer.output[0].records.rows;
}

function passed(milliseconds: number): Promise<unknown> {
  return new Promise((resolve) => AbortSignal.timeout(milliseconds).addEventListener('abort', resolve));
}
