import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';
import type { LoadResult } from './load-job.js';
import type { RunningServer } from './server.js';
import { FIELD_COUNT } from './tsbs/generator.js';
import type { Lateness } from './tsbs/late-order.js';
import type { LinesFile } from './tsbs/lines-file.js';

export interface LoadPlan {
  readonly file: LinesFile;
  /** Rows `[from, to)` of the file. */
  readonly from: number;
  readonly to: number;
  /** Lines a request. */
  readonly batch: number;
  readonly connections: number;
  /** All rows of the file, some of them late; then `to` is how many it has. */
  readonly lateness?: Lateness;
}

export interface LoadTarget {
  readonly port: number;
  readonly path: string;
}

export interface IngestFigures extends LoadResult {
  readonly server: string;
  readonly batch: number;
  readonly connections: number;
  readonly valuesPerSecond: number;
  readonly serverCpuSeconds: number;
  readonly rowsPerCpuSecond: number;
  /** Of the flush (and of merges until the size rests) after the last answer. */
  readonly flushSeconds: number;
  readonly flushCpuSeconds: number;
  /** Rows over the CPU seconds of load and flush together. */
  readonly rowsPerCpuSecondWithFlush: number;
  readonly peakMemoryMiB: number;
  readonly peakMemoryWithFlushMiB: number;
  readonly storedBytes: number;
  readonly bytesPerValue: number;
  readonly compactSeconds: number;
  readonly compactedBytesPerValue: number;
  readonly readyMs: number;
}

/** Loads rows into a server, flushes, and returns what both cost. */
export function measureIngest(server: RunningServer, plan: LoadPlan): Promise<IngestFigures> {
  const target = { port: server.port, path: server.kind.writePath };
  return measureLoad(server, { ...plan, valuesPerRow: FIELD_COUNT }, () => runLoader(target, plan));
}

/** Cost of a load, and of the flush after it, for the server. */
export async function measureLoad(
  server: RunningServer,
  plan: { readonly batch: number; readonly connections: number; readonly valuesPerRow: number },
  run: () => Promise<LoadResult>,
): Promise<IngestFigures> {
  const cpuAtStart = server.cpuSeconds();
  const load = await run();
  const serverCpuSeconds = server.cpuSeconds() - cpuAtStart;
  const peakMemoryMiB = server.peakMemoryMiB();

  const flushStartedMs = systemClock.monotonicMs();
  await server.flush();
  const flushSeconds = (systemClock.monotonicMs() - flushStartedMs) / 1000;
  const withFlush = server.cpuSeconds() - cpuAtStart;
  const storedBytes = server.storedBytes();
  const peakMemoryWithFlushMiB = server.peakMemoryMiB();

  const compactStartedMs = systemClock.monotonicMs();
  await server.compact();
  const compactSeconds = (systemClock.monotonicMs() - compactStartedMs) / 1000;
  return {
    server: server.kind.name,
    batch: plan.batch,
    connections: plan.connections,
    ...load,
    valuesPerSecond: load.rowsPerSecond * plan.valuesPerRow,
    serverCpuSeconds,
    rowsPerCpuSecond: load.rows / serverCpuSeconds,
    flushSeconds,
    flushCpuSeconds: withFlush - serverCpuSeconds,
    rowsPerCpuSecondWithFlush: load.rows / withFlush,
    peakMemoryMiB,
    peakMemoryWithFlushMiB,
    storedBytes,
    bytesPerValue: storedBytes / (load.rows * plan.valuesPerRow),
    compactSeconds,
    compactedBytesPerValue: server.storedBytes() / (load.rows * plan.valuesPerRow),
    readyMs: server.readyMs,
  };
}

/** Runs the loader in its own process against a path on the loopback interface. */
export function runLoader(target: LoadTarget, plan: LoadPlan): Promise<LoadResult> {
  return runProgram('loader.js', {
    ...target,
    lines: plan.file.linesPath,
    ends: plan.file.endsPath,
    from: plan.from,
    to: plan.to,
    batch: plan.batch,
    connections: plan.connections,
    ...(plan.lateness === undefined ? {} : { lateness: JSON.stringify(plan.lateness) }),
  });
}

/** Runs a loader of this folder. @param options its flags. */
export async function runProgram(
  path: string,
  options: Readonly<Record<string, string | number>>,
): Promise<LoadResult> {
  const program = join(dirname(fileURLToPath(import.meta.url)), path);
  const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (text: Buffer) => (output += text.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  invariant(code === 0, `loader ended with code ${code}`);
  return JSON.parse(output) as LoadResult;
}
