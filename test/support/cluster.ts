import { spawn, type ChildProcess } from 'node:child_process';

import { systemClock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { invariant } from '#shared/errors/invariant';
import { connect, type Connection } from '#shared/grpc/connect';
import type { PeerTls } from '#shared/grpc/options';

import { HttpApi, pollUntil, type Fetch } from './almanac.js';
import { BreakableProxy } from './breakable-proxy.js';
import { freePort } from './free-port.js';

const PROGRAM = new URL('../../../services/cli/almanac.cjs', import.meta.url).pathname;
const START_MS_MAX = 60_000;

export type ClusterRole = 'metadata' | 'ingester' | 'querier' | 'gateway';

export interface ClusterOptions {
  readonly gateways?: number;
  readonly ingesters?: number;
  readonly queriers?: number;
  /** For all processes. */
  readonly environment?: Readonly<Record<string, string>>;
  /** By which the test itself calls metadata. */
  readonly secret?: string;
  /** The same. */
  readonly tls?: PeerTls;
  /** By which gateways are called, over https. */
  readonly secureFetch?: Fetch;
}

/** One process of a cluster. It keeps its addresses when it starts again. */
export class Member {
  readonly role: ClusterRole;
  readonly name: string;
  readonly #args: readonly string[];
  readonly #environment: Readonly<Record<string, string>>;
  #process: ChildProcess | undefined;
  #ended: Promise<number | null> = Promise.resolve(null);
  /** When it was started last, by the clock that metadata has too. */
  startedMs = 0;
  stderr = '';

  constructor(role: ClusterRole, name: string, args: readonly string[], environment: Readonly<Record<string, string>>) {
    this.role = role;
    this.name = name;
    this.#args = args;
    this.#environment = environment;
  }

  start(): void {
    this.startedMs = Date.now();
    const child = spawn(process.execPath, [PROGRAM, this.role, ...this.#args], {
      env: { PATH: process.env['PATH'], ...this.#environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      // The newest lines tell why something failed; a long run must not fill memory.
      this.stderr = (this.stderr + text).slice(-200_000);
    });
    this.#process = child;
    this.#ended = new Promise((resolve) => child.on('close', resolve));
  }

  /** What it was given for a flag. */
  flag(name: string): string {
    return this.#args[this.#args.indexOf(name) + 1];
  }

  /** Under which others call it. */
  get addr(): string {
    return this.#environment['ALMANAC_NODE__ADVERTISE_ADDR'] ?? this.flag('--grpc-addr');
  }

  get pid(): number {
    invariant(this.#process?.pid !== undefined, `${this.name} does not run`);
    return this.#process.pid;
  }

  get runs(): boolean {
    return this.#process !== undefined && this.#process.exitCode === null && this.#process.signalCode === null;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** SIGTERM, and the exit code. */
  async stop(): Promise<number | null> {
    if (!this.runs) return 0;
    this.#process?.kill('SIGTERM');
    return this.#ended;
  }

  /** Resolves with the exit code when the process ends by itself. */
  ended(): Promise<number | null> {
    return this.#ended;
  }

  async kill(): Promise<void> {
    this.#process?.kill('SIGKILL');
    await this.#ended;
  }
}

/**
 * A cluster of real processes over one data folder: one metadata, gateways (the first is meant where none is named),
 * ingesters and queriers. Ingesters are reached through proxies that can lose what is under way.
 */
export class Cluster extends HttpApi {
  readonly folder: string;
  readonly members: Member[] = [];
  readonly proxies: BreakableProxy[] = [];
  /** In the order of the members of this role. */
  readonly gateways: HttpApi[] = [];
  readonly metadata: MetadataService;
  readonly metadataAddr: string;
  readonly #metadataConnection: Connection;
  readonly #environment: Readonly<Record<string, string>>;

  private constructor(folder: string, ports: { http: number; metadata: number }, options: ClusterOptions) {
    super(gatewayUrl(ports.http, options), options.secureFetch);
    this.gateways.push(this);
    this.folder = folder;
    this.#environment = options.environment ?? {};
    this.metadataAddr = `127.0.0.1:${ports.metadata}`;
    this.#metadataConnection = connect(this.metadataAddr, {
      clock: systemClock,
      secret: options.secret,
      tls: options.tls,
    });
    this.metadata = this.#metadataConnection.client('Metadata');
  }

  /** Starts all processes at once and waits until the gateway is ready and all ingesters are. None is left if it fails. */
  static async start(folder: string, options: ClusterOptions = {}): Promise<Cluster> {
    const [http, metadata] = await Promise.all([freePort(), freePort()]);
    const cluster = new Cluster(folder, { http, metadata }, options);
    try {
      await cluster.#startAll(http, options);
    } catch (error) {
      await cluster.killAll();
      throw error;
    }
    return cluster;
  }

  async #startAll(http: number, options: ClusterOptions): Promise<void> {
    this.#add('metadata', 'metadata', ['--grpc-addr', this.metadataAddr]);
    await this.#addGateway(http);
    for (let i = 1; i < (options.gateways ?? 1); i++) {
      const port = await freePort();
      this.gateways.push(new HttpApi(gatewayUrl(port, options), options.secureFetch));
      await this.#addGateway(port);
    }
    for (let i = 0; i < (options.ingesters ?? 2); i++) await this.addIngester();
    for (let i = 0; i < (options.queriers ?? 1); i++) await this.addQuerier();
    await this.ready();
  }

  async addIngester(): Promise<Member> {
    const [port, proxy] = await Promise.all([freePort(), BreakableProxy.open()]);
    proxy.target = port;
    this.proxies.push(proxy);
    const number = this.of('ingester').length;
    const advertised = { ALMANAC_NODE__ADVERTISE_ADDR: `127.0.0.1:${proxy.port}` };
    return this.#add('ingester', `ingester${number}`, this.#nodeFlags(port), advertised);
  }

  async addQuerier(): Promise<Member> {
    const port = await freePort();
    return this.#add('querier', `querier${this.of('querier').length}`, this.#nodeFlags(port));
  }

  async #addGateway(httpPort: number): Promise<void> {
    const flags = ['--http-addr', `127.0.0.1:${httpPort}`, ...this.#nodeFlags(await freePort())];
    this.#add('gateway', `gateway${this.of('gateway').length}`, flags);
  }

  of(role: ClusterRole): Member[] {
    return this.members.filter((member) => member.role === role);
  }

  /** Resolves when the gateways are ready, every running ingester and querier is, and every region has such an owner. */
  async ready(): Promise<void> {
    const isReady = await pollUntil(performance.now() + START_MS_MAX, () => this.#isReady());
    if (!isReady) throw new Error(`the cluster is not ready: ${this.words()}`);
  }

  /** The last words of all processes. */
  words(): string {
    return this.members.map(({ name, stderr }) => `== ${name}\n${stderr.slice(-3000)}`).join('\n');
  }

  async stop(): Promise<(number | null)[]> {
    const codes: (number | null)[] = [];
    for (const role of ['gateway', 'querier', 'ingester', 'metadata'] as const) {
      codes.push(...(await Promise.all(this.of(role).map((member) => member.stop()))));
    }
    this.#close();
    return codes;
  }

  async killAll(): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()));
    this.#close();
  }

  #close(): void {
    this.#metadataConnection.close();
    for (const proxy of this.proxies) proxy.close();
  }

  #add(role: ClusterRole, name: string, flags: string[], environment: Readonly<Record<string, string>> = {}): Member {
    const args = ['--data-dir', this.folder, ...flags];
    const member = new Member(role, name, args, { ...this.#environment, ...environment });
    this.members.push(member);
    member.start();
    return member;
  }

  #nodeFlags(port: number): string[] {
    return ['--grpc-addr', `127.0.0.1:${port}`, '--metadata-addr', this.metadataAddr];
  }

  async #isReady(): Promise<boolean> {
    try {
      const answers = await Promise.all(this.gateways.map((gateway) => gateway.get('/ready')));
      if (answers.some(({ status }) => status !== 200)) return false;
      const { nodes } = await this.metadata.listNodes({}, ownCall('test'));
      const running = [...this.of('ingester'), ...this.of('querier')].filter((member) => member.runs);
      // One that was killed counts as ready for a while.
      const isComplete = running.every(({ addr, startedMs }) => {
        return nodes.some((node) => node.addr === addr && node.state === 'ready' && node.registeredMs >= startedMs);
      });
      return isComplete && nodes.every((node) => node.regionCount === 0 || node.state === 'ready');
    } catch {
      return false;
    }
  }
}

function gatewayUrl(port: number, { secureFetch }: ClusterOptions): string {
  return `${secureFetch === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
}
