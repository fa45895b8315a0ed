import { Worker } from 'node:worker_threads';

import type { Clock, Timer } from '#shared/clock/clock';

import { AlmanacError } from '#shared/errors/almanac-error';

import { NotForKernels, NotNowForKernels } from '../query.js';
import type { Scan, ScanResult, Scans } from '../scan.js';
import type { ScanJob } from './scan-job.js';
import type { ScanReply } from './scan-thread.js';

/** A thread takes some 20 MiB, which it releases after this time without work. */
const IDLE_MS = 30_000;
/** Pause between two looks whether a query was cancelled. */
const LOOK_MS = 20;

/** Options of `ScanThreads`. */
export interface ScanThreadsOptions {
  readonly threads: number;
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
  #workers: Worker[] = [];
  #last: Promise<unknown> = Promise.resolve();
  #running = 0;
  #idle: Timer | undefined;

  constructor(options: ScanThreadsOptions) {
    this.#options = options;
  }

  get valuesMin(): number {
    return this.#options.valuesMin;
  }

  get count(): number {
    return this.#options.threads;
  }

  async run(scan: Scan, check: () => void): Promise<ScanResult[]> {
    this.#running++;
    this.#idle?.cancel();
    const results = this.#last.then(() => this.#runNow(scan, check));
    this.#last = results.catch(() => undefined);
    try {
      return await results;
    } finally {
      this.#running--;
      if (this.#running === 0) this.#idle = this.#options.clock.after(IDLE_MS, () => this.stop());
    }
  }

  /** Ends the threads. A scan that runs fails. */
  stop(): void {
    this.#idle?.cancel();
    for (const worker of this.#workers.splice(0)) void worker.terminate();
  }

  async #runNow(scan: Scan, check: () => void): Promise<ScanResult[]> {
    check();
    const { threads, storeFolder, clock } = this.#options;
    while (this.#workers.length < threads) this.#workers.push(startThread());
    const cancelled = new Int32Array(new SharedArrayBuffer(4));
    let reason: Error | undefined;
    const look = (): void => {
      try {
        check();
        timer = clock.after(LOOK_MS, look);
      } catch (error) {
        reason = AlmanacError.from(error);
        Atomics.store(cancelled, 0, 1);
      }
    };
    let timer = clock.after(LOOK_MS, look);
    try {
      const replies = await Promise.all(
        this.#workers.map((worker, index) => {
          return this.#ask(worker, { scan, share: { index, of: threads }, storeFolder, cancelled });
        }),
      );
      if (reason !== undefined) throw reason;
      this.#options.onScan();
      return replies.map(resultOf);
    } finally {
      timer.cancel();
    }
  }

  async #ask(worker: Worker, job: ScanJob): Promise<ScanReply> {
    let onReply: ((reply: ScanReply) => void) | undefined;
    let onExit: (() => void) | undefined;
    try {
      return await new Promise<ScanReply>((resolve) => {
        onReply = resolve;
        onExit = () => resolve({ refusal: 'a thread for scans ended', isForNow: true });
        worker.once('message', onReply);
        worker.once('exit', onExit);
        worker.postMessage(job);
      });
    } finally {
      if (onReply !== undefined) worker.off('message', onReply);
      if (onExit !== undefined) worker.off('exit', onExit);
      // It exits after an error, for example if its memory does not suffice.
      if (worker.threadId === -1) this.#workers = this.#workers.filter((other) => other !== worker);
    }
  }
}

function startThread(): Worker {
  const worker = new Worker(new URL('./scan-thread.js', import.meta.url));
  worker.on('error', () => undefined);
  // The thread must not keep the process alive. Called last, since adding a listener undoes it.
  worker.unref();
  return worker;
}

function resultOf(reply: ScanReply): ScanResult {
  if ('state' in reply) return reply;
  throw reply.isForNow ? new NotNowForKernels(reply.refusal) : new NotForKernels(reply.refusal);
}
