import { Worker } from 'node:worker_threads';

import type { Clock, Timer } from '#shared/clock/clock';

import { AlmanacError } from '#shared/errors/almanac-error';

import type { SharedProgress } from '../../columns/shared-progress.js';
import { NotForKernels, NotNowForKernels } from '../query.js';
import type { Scan, ScanResult, Scans } from '../scan.js';
import type { ScanJob } from './scan-job.js';
import type { NumberedReply, ScanReply, ScanThreadData } from './scan-thread.js';

/** A thread takes some 20 MiB, and what it keeps, which it releases after a time without work: later if it keeps much. */
const IDLE_MS = { little: 30_000, much: 600_000 };
const MUCH_BYTES = 8 * 2 ** 20;
/** Pause between two looks whether a query was cancelled. */
const LOOK_MS = 20;

/** Options of `ScanThreads`. */
export interface ScanThreadsOptions {
  readonly threads: number;
  /** Memory for decoded columns of all threads together, in bytes. */
  readonly scanBytes: number;
  /** Root of the segment store. */
  readonly storeFolder: string;
  readonly clock: Clock;
  /** Queries that read fewer values do not use the threads. */
  readonly valuesMin: number;
  /** Called when the threads have ended a scan. */
  readonly onScan: () => void;
}

/**
 * Worker threads that aggregate the segments of large queries, so that these delay no other work. One query at a time has
 * all of them. They start with the first query, and end when there was none for a while.
 */
export class ScanThreads implements Scans {
  readonly #options: ScanThreadsOptions;
  readonly #workers = new Set<Worker>();
  #isRunning = false;
  /** Scans that run or wait. */
  #count = 0;
  #idle: Timer | undefined;
  #jobs = 0;

  constructor(options: ScanThreadsOptions) {
    this.#options = options;
  }

  get valuesMin(): number {
    return this.#options.valuesMin;
  }

  get count(): number {
    return this.#options.threads;
  }

  get isIdle(): boolean {
    return this.#count === 0;
  }

  async run(scan: Scan, progress: SharedProgress, check: () => void): Promise<ScanResult[]> {
    const { clock } = this.#options;
    this.#count++;
    this.#idle?.cancel();
    try {
      while (this.#isRunning) {
        await clock.sleep(LOOK_MS);
        check();
      }
      this.#isRunning = true;
      try {
        return await this.#runNow(scan, progress, check);
      } finally {
        this.#isRunning = false;
      }
    } finally {
      this.#count--;
      if (this.#count === 0) this.#idle = clock.after(this.#idleMs, () => this.stop());
    }
  }

  get #idleMs(): number {
    const { scanBytes, threads } = this.#options;
    return scanBytes / threads < MUCH_BYTES ? IDLE_MS.little : IDLE_MS.much;
  }

  /** Ends the threads. A scan that runs fails. */
  stop(): void {
    this.#idle?.cancel();
    for (const worker of this.#workers) void worker.terminate();
    this.#workers.clear();
  }

  async #runNow(scan: Scan, progress: SharedProgress, check: () => void): Promise<ScanResult[]> {
    check();
    const { threads, storeFolder, clock } = this.#options;
    while (this.#workers.size < threads) this.#start();
    const cancelled = new Int32Array(new SharedArrayBuffer(4));
    let reason: Error | undefined;
    const look = (): void => {
      try {
        check();
        timer = clock.after(LOOK_MS, look);
      } catch (error) {
        reason = error instanceof Error ? error : AlmanacError.from(error);
        Atomics.store(cancelled, 0, 1);
      }
    };
    let timer = clock.after(LOOK_MS, look);
    try {
      const number = this.#jobs++;
      const jobs = [...this.#workers].map((worker, index) => {
        const share = { index, of: threads };
        return ask(worker, { number, scan, share, storeFolder, cancelled, progress: progress.memory });
      });
      const replies = await Promise.all(jobs);
      if (reason !== undefined) throw reason;
      const results = replies.map(resultOf);
      this.#options.onScan();
      return results;
    } finally {
      timer.cancel();
      Atomics.store(cancelled, 0, 1);
    }
  }

  #start(): void {
    const { scanBytes, threads } = this.#options;
    const workerData: ScanThreadData = { columnBytes: Math.floor(scanBytes / threads) };
    const worker = new Worker(new URL('./scan-thread.js', import.meta.url), { workerData });
    this.#workers.add(worker);
    worker.on('error', () => undefined);
    // It exits after an error, for example if its memory does not suffice.
    worker.on('exit', () => this.#workers.delete(worker));
    // The thread must not keep the process alive. Called last, since adding a listener undoes it.
    worker.unref();
  }
}

/** Gives a job to a thread. Resolves with its reply, also if it ends instead. */
async function ask(worker: Worker, job: ScanJob): Promise<ScanReply> {
  let onReply: ((reply: NumberedReply) => void) | undefined;
  let onExit: (() => void) | undefined;
  try {
    return await new Promise<ScanReply>((resolve) => {
      onReply = ({ number, reply }) => {
        // Other replies are those to earlier jobs, whose scans have failed.
        if (number === job.number) resolve(reply);
      };
      onExit = () => resolve({ refusal: 'a thread for scans ended', isForNow: true });
      worker.on('message', onReply);
      worker.on('exit', onExit);
      worker.postMessage(job);
    });
  } finally {
    if (onReply !== undefined) worker.off('message', onReply);
    if (onExit !== undefined) worker.off('exit', onExit);
  }
}

function resultOf(reply: ScanReply): ScanResult {
  if ('state' in reply) return reply;
  throw reply.isForNow ? new NotNowForKernels(reply.refusal) : new NotForKernels(reply.refusal);
}
