import { Worker } from 'node:worker_threads';

import type { Clock, Timer } from '#shared/clock/clock';

import { AlmanacError } from '#shared/errors/almanac-error';

import type { ColumnCounts } from '../../columns/query-columns.js';
import type { SharedProgress } from '../../columns/shared-progress.js';
import { NotNowForKernels } from '../query.js';
import type { RowsText } from '../result/result-text.js';
import { NO_PLACE, type Scan, type ScanResult, type Scans, type TextScan } from '../scan.js';
import type { ScanJob } from './scan-job.js';
import type { NumberedReply, ScanReply, ScanThreadData } from './scan-thread.js';
import { errorOf, TextLane } from './text-lane.js';

/** A thread takes some 20 MiB, and what it keeps, which it releases after a time without work: later if it keeps much. */
const IDLE_MS = { little: 30_000, much: 600_000 };
const MUCH_BYTES = 8 * 2 ** 20;
/** Pause between two looks whether a query was cancelled. */
const LOOK_MS = 20;
/** Queries whose texts are taken at once: they may wait long for their clients, while others use the threads. */
const TEXTS_MAX = 4;

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
 * Worker threads that read the segments of large queries, so that these delay no other work. One query at a time aggregates
 * rows, in all of them; beside it, some write the text of rows. They start with the first query, and end when there was none
 * for a while.
 */
export class ScanThreads implements Scans {
  readonly #options: ScanThreadsOptions;
  readonly #workers = new Set<Worker>();
  #isRunning = false;
  /** Scans that run or wait, and queries whose texts are taken. */
  #count = 0;
  #textCount = 0;
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

  get hasPlace(): boolean {
    return this.#textCount < TEXTS_MAX;
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
      this.#rest();
    }
  }

  async *texts(
    scan: TextScan,
    threadCount: number,
    progress: SharedProgress,
    check: () => void,
    counted: (counts: ColumnCounts) => void,
  ): AsyncGenerator<RowsText> {
    if (!this.hasPlace) throw new NotNowForKernels(NO_PLACE);
    this.#textCount++;
    this.#idle?.cancel();
    const { storeFolder, clock } = this.#options;
    const cancellation = new Cancellation(clock, check);
    const { cancelled } = cancellation;
    const lanes: TextLane[] = [];
    try {
      for (const [index, worker] of this.#started().slice(0, threadCount).entries()) {
        const share = { index, of: threadCount };
        lanes.push(new TextLane(worker, { scan, share, storeFolder, cancelled, progress: progress.memory }));
      }
      // Row groups in turn, so that a result is the same each time.
      for (let rest: readonly TextLane[] = lanes; rest.length > 0; rest = rest.filter(({ isDone }) => !isDone)) {
        for (const lane of rest) yield* lane.group();
      }
      for (const { counts } of lanes) if (counts !== undefined) counted(counts);
      this.#options.onScan();
    } catch (error) {
      throw cancellation.reason ?? error;
    } finally {
      cancellation.end();
      for (const lane of lanes) lane.close();
      this.#textCount--;
      this.#rest();
    }
  }

  /** Ends the threads after a while without work. */
  #rest(): void {
    if (this.#count + this.#textCount > 0) return;
    this.#idle = this.#options.clock.after(this.#idleMs, () => this.stop());
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
    const { storeFolder, clock } = this.#options;
    const workers = this.#started();
    const cancellation = new Cancellation(clock, check);
    const { cancelled } = cancellation;
    try {
      const number = this.#jobs++;
      const jobs = workers.map((worker, index) => {
        const share = { index, of: workers.length };
        return ask(worker, { number, scan, share, storeFolder, cancelled, progress: progress.memory });
      });
      const replies = await Promise.all(jobs);
      if (cancellation.reason !== undefined) throw cancellation.reason;
      const results = replies.map(resultOf);
      this.#options.onScan();
      return results;
    } finally {
      cancellation.end();
    }
  }

  /** Returns all threads. */
  #started(): Worker[] {
    while (this.#workers.size < this.#options.threads) this.#start();
    return [...this.#workers];
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

/** Looks from time to time whether a query was cancelled, and lets its threads know. */
class Cancellation {
  /** Its first element is 1 when the query was cancelled, or has ended. */
  readonly cancelled = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  /** Why it was cancelled; undefined: it was not. */
  reason: Error | undefined;
  #timer: Timer;

  constructor(clock: Clock, check: () => void) {
    const look = (): void => {
      try {
        check();
        this.#timer = clock.after(LOOK_MS, look);
      } catch (error) {
        this.reason = error instanceof Error ? error : AlmanacError.from(error);
        Atomics.store(this.cancelled, 0, 1);
      }
    };
    this.#timer = clock.after(LOOK_MS, look);
  }

  end(): void {
    this.#timer.cancel();
    Atomics.store(this.cancelled, 0, 1);
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
  throw errorOf(reply);
}
