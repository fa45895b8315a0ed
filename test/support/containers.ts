import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';

import { systemClock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import type { MetadataService, NodeInfo } from '#shared/contracts/gen/metadata';
import { connect, type Connection } from '#shared/grpc/connect';

import { HttpApi } from './almanac.js';

const ROOT = new URL('../../../', import.meta.url).pathname;
const HEALTHY_MS_MAX = 120_000;
const POLL_MS = 100;

export interface ContainerOptions {
  /** Names containers, network and volumes, which are deleted at the end. */
  readonly project: string;
  readonly httpPort: number;
  /** Metadata is published there as well, for the trial to see who keeps which region. */
  readonly metadataPort: number;
  /** For the file that publishes it. */
  readonly folder: string;
  readonly tag: string;
}

export interface Scale {
  readonly ingester: number;
  readonly querier: number;
}

/** The containers of docker-compose.yml, through whichever of `docker compose` and `docker-compose` is there. */
export class Containers extends HttpApi {
  readonly metadata: MetadataService;
  readonly #connection: Connection;
  readonly #compose: readonly [string, ...string[]];
  readonly #environment: Readonly<Record<string, string>>;
  readonly #project: string;

  private constructor(options: ContainerOptions, compose: readonly [string, ...string[]]) {
    super(`http://127.0.0.1:${options.httpPort}`);
    const metadataAddr = `127.0.0.1:${options.metadataPort}`;
    this.#connection = connect(metadataAddr, { clock: systemClock });
    this.metadata = this.#connection.client('Metadata');
    this.#environment = { ALMANAC_PORT: `${options.httpPort}`, ALMANAC_TAG: options.tag };
    this.#project = options.project;
    const override = `${options.folder}/publish-metadata.yml`;
    writeFileSync(override, `services:\n  metadata:\n    ports: ['${metadataAddr}:4031']\n`);
    this.#compose = [...compose, '-p', options.project, '-f', `${ROOT}docker-compose.yml`, '-f', override];
  }

  static async find(options: ContainerOptions): Promise<Containers> {
    const hasPlugin = await run(['docker', 'compose', 'version'], {}).then(
      () => true,
      () => false,
    );
    return new Containers(options, hasPlugin ? ['docker', 'compose'] : ['docker-compose']);
  }

  /** Runs `up -d` with the given number of containers of the two services, and more flags. */
  async up({ ingester, querier }: Scale, ...flags: string[]): Promise<void> {
    const scale = ['--scale', `ingester=${ingester}`, '--scale', `querier=${querier}`];
    await this.compose('up', '-d', ...flags, ...scale);
  }

  compose(...args: string[]): Promise<string> {
    return run([...this.#compose, ...args], this.#environment);
  }

  docker(...args: string[]): Promise<string> {
    return run(['docker', ...args], {});
  }

  /** Ids of all containers, or those of one service, stopped ones too. */
  async ids(service?: string): Promise<string[]> {
    const ofService = service === undefined ? [] : ['--filter', `label=com.docker.compose.service=${service}`];
    const project = `label=com.docker.compose.project=${this.#project}`;
    const text = await this.docker('ps', '-aq', '--no-trunc', '--filter', project, ...ofService);
    return text.split('\n').filter((id) => id !== '');
  }

  /** Resolves when the health checks of all containers say so. */
  async healthy(): Promise<undefined> {
    let states: string[] = [];
    const areHealthy = await within(HEALTHY_MS_MAX, async () => {
      states = await this.inspect('{{.Name}} {{.State.Health.Status}}');
      return states.every((state) => state.endsWith(' healthy'));
    });
    if (!areHealthy) throw new Error(`not healthy: ${states.join(', ')}`);
  }

  /** One line for each container. */
  async inspect(format: string): Promise<string[]> {
    return (await this.docker('inspect', '-f', format, ...(await this.ids()))).split('\n');
  }

  async nodes(role: string): Promise<NodeInfo[]> {
    const { nodes } = await this.metadata.listNodes({}, ownCall('trial'));
    return nodes.filter((node) => node.role === role && node.state !== 'left' && node.state !== 'gone');
  }

  async removeAll(): Promise<void> {
    this.#connection.close();
    await this.compose('down', '-v', '-t', '5');
  }
}

/** Polls until the condition is true or the time is over. Each poll may run a command. */
export async function within(milliseconds: number, isDone: () => Promise<boolean>): Promise<boolean> {
  const untilMs = performance.now() + milliseconds;
  for (;;) {
    if (await isDone()) return true;
    if (performance.now() > untilMs) return false;
    await systemClock.sleep(POLL_MS);
  }
}

/** What a command prints. @throws with its last words if it fails. */
function run(command: readonly string[], environment: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn(command[0], command.slice(1), {
    cwd: ROOT,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let words = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (words = (words + text).slice(-20_000)));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(stdout.trim());
      else reject(new Error(`${command.join(' ')} ended with ${code}: ${words}${stdout.slice(-2_000)}`));
    });
  });
}
