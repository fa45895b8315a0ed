import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  type Dirent,
} from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';
import { cpuMs, peakMemoryMib } from '#test/support/process-figures';
import { HttpConnection } from './http-connection.js';
import type { TsbsData, TsbsShape } from './tsbs/generator.js';
import { BENCH_FOLDER } from './tsbs/lines-file.js';
import type { TsbsQuery } from './tsbs/queries.js';

/** A kind of server under test: what differs between Almanac and its peers, as data. */
export interface ServerKind {
  readonly name: string;
  /** Program and arguments; may write configuration files into the data folder. */
  command(dataFolder: string, port: number): readonly string[];
  /** Answers 2xx once the server takes requests. */
  readonly readyPath: string;
  /** Takes line protocol with nanosecond times, or remote write. */
  readonly writePath: string;
  /** Folders below the data folder that hold stored data: neither logs of unflushed rows nor scratch. */
  readonly storeFolders: readonly string[];
  /** Runs once after the start, for example to make the database. */
  prepare?(connection: HttpConnection): Promise<void>;
  /** Makes written rows part of the stored data, or only requests it; undefined if the server does so by itself. */
  flush?(connection: HttpConnection): Promise<void>;
  /** Stored files that count no more, and are removed later. */
  garbage?(dataFolder: string): readonly string[];
  /** Merges what is stored as far as it goes, where `flush` does not. */
  compact?(connection: HttpConnection): Promise<void>;
  /** True if the size on disk has to come to rest after `flush`. */
  readonly settles: boolean;
}

/** A server that runs the TSBS queries. */
export interface TsbsServerKind extends ServerKind {
  /** The query in the server's own language. */
  question(query: TsbsQuery, shape: TsbsShape): Question;
  /** Checks a result; returns '' if it is right as far as can be known, otherwise what is wrong. */
  check(query: TsbsQuery, data: TsbsData, answerText: string): string;
}

/** One that takes Prometheus remote write and answers PromQL. */
export interface MetricServerKind extends ServerKind {
  /** What goes before `/api/v1` of Prometheus's HTTP API. */
  readonly promPrefix: string;
  /** Fewer than requested, where samples must be sent in order of time. */
  readonly connectionsMax?: number;
}

/** A form that is posted. */
export interface Question {
  readonly path: string;
  readonly form: Readonly<Record<string, string>>;
}

const READY_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 60_000;
const POLL_MS = 10;
const REST_POLL_MS = 1_000;
/** A size that did not change for this many polls counts as final. */
const REST_POLLS = 6;
const REST_WITHIN_POLLS = 60;
/** The unit of `stat`, whatever the file system's own is. */
const BYTES_PER_BLOCK = 512;

/** A started server with a fresh data folder, and what it used so far. */
export class RunningServer<K extends ServerKind = ServerKind> {
  readonly kind: K;
  readonly port: number;
  readonly dataFolder: string;
  /** From the start of the process until it answered. */
  readonly readyMs: number;
  #process: ChildProcess;
  readonly #connection: HttpConnection;

  private constructor(kind: K, port: number, dataFolder: string, child: ChildProcess, readyMs: number) {
    this.kind = kind;
    this.port = port;
    this.dataFolder = dataFolder;
    this.readyMs = readyMs;
    this.#process = child;
    this.#connection = new HttpConnection({ host: '127.0.0.1', port });
  }

  static async start<K extends ServerKind>(kind: K, port: number): Promise<RunningServer<K>> {
    mkdirSync(BENCH_FOLDER, { recursive: true });
    const dataFolder = mkdtempSync(join(BENCH_FOLDER, `${kind.name}-`));
    const startedMs = systemClock.monotonicMs();
    const child = await launch(kind, dataFolder, port);
    const server = new RunningServer(kind, port, dataFolder, child, systemClock.monotonicMs() - startedMs);
    await kind.prepare?.(server.#connection);
    return server;
  }

  /** Ends the process in order, and starts it again on the same data. */
  async restart(): Promise<void> {
    this.#connection.close();
    await this.#end();
    this.#process = await launch(this.kind, this.dataFolder, this.port);
  }

  /** User and system CPU seconds of all threads since the start. */
  cpuSeconds(): number {
    return cpuMs(this.#process.pid ?? 0) / 1000;
  }

  /** The greatest resident size since the start. */
  peakMemoryMiB(): number {
    return peakMemoryMib(this.#process.pid ?? 0);
  }

  /** Flushes, and waits until the stored size rests where the server merges afterwards. */
  async flush(): Promise<void> {
    await this.kind.flush?.(this.#connection);
    if (!this.kind.settles) return;
    await this.#rest();
    // VictoriaMetrics, flushed once during its own merges, settled anywhere from 0.56 to 0.93 bytes a value; flushed
    // again afterwards, at 0.48 each time.
    await this.kind.flush?.(this.#connection);
    await this.#rest();
  }

  async compact(): Promise<void> {
    await this.kind.compact?.(this.#connection);
  }

  async #rest(): Promise<void> {
    let size = -1;
    let rested = 0;
    for (let poll = 0; poll < REST_WITHIN_POLLS && rested < REST_POLLS; poll++) {
      await systemClock.sleep(REST_POLL_MS);
      const next = this.storedBytes();
      rested = next === size ? rested + 1 : 0;
      size = next;
    }
  }

  /** Bytes on disk; holes of files that were made longer than what they hold do not count. */
  storedBytes(): number {
    // Blocks are given to a file only when the kernel writes it back.
    spawnSync('sync', ['--file-system', this.dataFolder]);
    const garbage = new Set(this.kind.garbage?.(this.dataFolder));
    return this.kind.storeFolders.reduce((sum, folder) => sum + folderBytes(join(this.dataFolder, folder), garbage), 0);
  }

  /** Stops the server and removes its data. */
  async stop(): Promise<void> {
    this.#connection.close();
    await this.#end();
    rmSync(this.dataFolder, { recursive: true, force: true });
  }

  async #end(): Promise<void> {
    const child = this.#process;
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGTERM');
    const late = systemClock.after(STOP_WITHIN_MS, () => child.kill('SIGKILL'));
    if (child.exitCode === null && child.signalCode === null) await exited;
    late.cancel();
  }
}

/** Starts the process of a server, and waits until it takes requests. */
async function launch(kind: ServerKind, dataFolder: string, port: number): Promise<ChildProcess> {
  const [program, ...args] = kind.command(dataFolder, port);
  const log = openSync(join(dataFolder, 'output.log'), 'a');
  const child = spawn(program, args, { stdio: ['ignore', log, log] });
  closeSync(log);
  try {
    await waitUntilReady(child, port, kind.readyPath, systemClock.monotonicMs() + READY_WITHIN_MS);
  } catch (cause) {
    child.kill('SIGKILL');
    process.stderr.write(readFileSync(join(dataFolder, 'output.log'), 'utf8').slice(-2_000));
    throw cause;
  }
  return child;
}

async function waitUntilReady(child: ChildProcess, port: number, path: string, deadlineMs: number): Promise<void> {
  const connection = new HttpConnection({ host: '127.0.0.1', port });
  for (;;) {
    const status = await connection.get(path).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status >= 200 && status < 300) break;
    invariant(child.exitCode === null, `server ended with code ${child.exitCode} before it was ready`);
    invariant(systemClock.monotonicMs() < deadlineMs, 'server is not ready in time');
    await systemClock.sleep(POLL_MS);
  }
  connection.close();
}

/** Returns what is in a folder, which a merge may have removed. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function folderBytes(folder: string, without: ReadonlySet<string>): number {
  let sum = 0;
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) sum += folderBytes(path, without);
    if (!entry.isFile()) continue;
    // A merge may remove a file between listing and looking.
    const status = without.has(path) ? undefined : statSync(path, { throwIfNoEntry: false });
    if (status !== undefined) sum += Math.min(status.size, status.blocks * BYTES_PER_BLOCK);
  }
  return sum;
}
