import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Context } from 'mocha';

import { invariant } from '#shared/errors/invariant';

import { HttpApi, pollUntil } from './almanac.js';
import { freePort } from './free-port.js';

const START_MS_MAX = 30_000;

/**
 * Returns a hook for tests that need programs of other projects. If one is missing the tests are pending, except in CI:
 * `.ci/run` installs the programs and sets `ALMANAC_TEST_PEERS=required`.
 */
export function needPrograms(...names: readonly string[]): (this: Context) => void {
  return function () {
    const missing = names.filter((name) => spawnSync(name, ['--version']).error !== undefined);
    if (missing.length === 0) return;
    invariant(process.env['ALMANAC_TEST_PEERS'] !== 'required', `${missing.join(', ')}: not installed`);
    this.skip();
  };
}

/** A program of another project that serves HTTP. */
export class PeerProgram extends HttpApi {
  readonly #process: ChildProcess;
  #log = '';

  private constructor(url: string, child: ChildProcess) {
    super(url);
    this.#process = child;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#log += text));
  }

  /** Starts a program and waits until a path returns status 200. @param args without the address. */
  static async start(program: string, args: readonly string[], path: string, port?: number): Promise<PeerProgram> {
    const address = `127.0.0.1:${port ?? (await freePort())}`;
    const child = spawn(program, [...args, `--web.listen-address=${address}`], { stdio: ['ignore', 'ignore', 'pipe'] });
    const served = new PeerProgram(`http://${address}`, child);
    const isReady = await pollUntil(performance.now() + START_MS_MAX, async () => {
      invariant(child.exitCode === null, `${program} ended: ${served.#log}`);
      const { status } = await served.get(path).catch(() => ({ status: 0 }));
      return status === 200;
    });
    invariant(isReady, `${program} is not ready: ${served.#log}`);
    return served;
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const closed = new Promise((resolve) => this.#process.once('close', resolve));
    this.#process.kill('SIGKILL');
    await closed;
  }
}

/** Options of `startPrometheus`. */
export interface PrometheusOptions {
  /** Returns the configuration file as an object. @param address of Prometheus itself. */
  readonly config?: (address: string) => Readonly<Record<string, unknown>>;
  readonly flags?: readonly string[];
}

/** Starts Prometheus with its data in a folder. */
export async function startPrometheus(folder: string, options: PrometheusOptions = {}): Promise<PeerProgram> {
  const port = await freePort();
  const file = join(folder, 'prometheus.yml');
  writeFileSync(file, JSON.stringify(options.config?.(`127.0.0.1:${port}`) ?? {}));
  const args = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'tsdb')}`, ...(options.flags ?? [])];
  return PeerProgram.start('prometheus', args, '/-/ready', port);
}

/** Starts the node exporter with the collectors that work on every system. */
export function startNodeExporter(): Promise<PeerProgram> {
  const collectors = ['cpu', 'loadavg', 'meminfo', 'stat', 'time'].map((name) => `--collector.${name}`);
  return PeerProgram.start('prometheus-node-exporter', ['--collector.disable-defaults', ...collectors], '/');
}
