import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Context } from 'mocha';

import { invariant } from '#shared/errors/invariant';

import { HttpApi, pollUntil } from './almanac.js';
import { freePort } from './free-port.js';

const START_MS_MAX = 30_000;

/**
 * A hook or the begin of a test that needs programs of other projects. Where one is missing the tests are shown as
 * pending, but fail in CI: `.ci/run` installs the programs and sets `ALMANAC_TEST_PEERS=required`.
 */
export function needPrograms(...names: readonly string[]): (this: Context) => void {
  return function () {
    const missing = names.filter((name) => spawnSync(name, ['--version']).status !== 0);
    if (missing.length === 0) return;
    invariant(process.env['ALMANAC_TEST_PEERS'] !== 'required', `${missing.join(', ')}: not installed`);
    this.skip();
  };
}

/** A program of another project that serves HTTP, with its configuration and data in a folder. */
export class Served extends HttpApi {
  readonly #process: ChildProcess;
  #log = '';

  private constructor(url: string, child: ChildProcess) {
    super(url);
    this.#process = child;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#log += text));
  }

  /** Starts a program and waits until a path of it answers. @param args without the address. */
  static async start(program: string, args: readonly string[], path: string, port?: number): Promise<Served> {
    const address = `127.0.0.1:${port ?? (await freePort())}`;
    const child = spawn(program, [...args, `--web.listen-address=${address}`], { stdio: ['ignore', 'ignore', 'pipe'] });
    const served = new Served(`http://${address}`, child);
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

export interface PrometheusOptions {
  /** The configuration file, as an object; its own address is asked for by `own`. */
  readonly config?: (own: string) => Readonly<Record<string, unknown>>;
  readonly flags?: readonly string[];
}

/** Starts a Prometheus whose data is in a folder of its own. */
export async function startPrometheus(folder: string, options: PrometheusOptions = {}): Promise<Served> {
  const port = await freePort();
  const file = join(folder, 'prometheus.yml');
  writeFileSync(file, JSON.stringify(options.config?.(`127.0.0.1:${port}`) ?? {}));
  const args = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'tsdb')}`, ...(options.flags ?? [])];
  return Served.start('prometheus', args, '/-/ready', port);
}

/** The node exporter with what it can tell anywhere. */
export function startNodeExporter(): Promise<Served> {
  const collectors = ['cpu', 'loadavg', 'meminfo', 'stat', 'time'].map((name) => `--collector.${name}`);
  return Served.start('prometheus-node-exporter', ['--collector.disable-defaults', ...collectors], '/');
}
