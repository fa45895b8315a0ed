/** A worker thread that reads segments for large queries (see `scan-threads.ts`): aggregates them, or writes their rows. */
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';

import { systemClock } from '#shared/clock/clock';
import { blockingReads } from '#shared/fs/blocking-reads';
import { LocalStore } from '#shared/segments/local-store';

import { ColumnCache } from '../../columns/column-cache.js';
import { OpenSegments } from '../../columns/open-segments.js';
import type { ColumnSources } from '../../columns/query-columns.js';
import { NotForKernels, NotNowForKernels } from '../query.js';
import type { Refusal, ScanResult } from '../scan.js';
import { runScan, type ScanJob } from './scan-job.js';
import { runTextJob, type TextJob } from './text-job.js';

/** What the thread replies. */
export type ScanReply = ScanResult | Refusal;

/** A reply, and the number of its job. */
export interface NumberedReply {
  readonly number: number;
  readonly reply: ScanReply;
}

/** What the thread is started with. */
export interface ScanThreadData {
  /** Memory for decoded columns, in bytes: each thread reads the same row groups for all queries. */
  readonly columnBytes: number;
}

/** Without other memory: footers and runs are small, and used by all queries. */
const FOOTER_BYTES = 4 << 20;
const RUN_BYTES_MIN = 1 << 20;
/** Part of the memory for columns that runs get; those that are not regular have times. */
const RUN_SHARE = 0.1;
/** Requests, which the main thread works on, come first. On Linux this concerns the calling thread alone. */
const NICENESS = 10;

let known: { readonly folder: string; readonly sources: ColumnSources } | undefined;

function sourcesOf(folder: string): ColumnSources {
  if (known?.folder !== folder) {
    const { columnBytes } = workerData as ScanThreadData;
    const runBytes = Math.max(RUN_BYTES_MIN, Math.floor(columnBytes * RUN_SHARE));
    const valueBytes = Math.max(0, columnBytes - runBytes);
    const cache = new ColumnCache(new LocalStore(folder, blockingReads), {
      footerBytes: FOOTER_BYTES,
      runBytes,
      valueBytes,
    });
    known = { folder, sources: { cache, open: new OpenSegments(cache, systemClock) } };
  }
  return known.sources;
}

async function replyTo({ cancelled, ...job }: ScanJob): Promise<ScanReply> {
  try {
    return await runScan(job, sourcesOf(job.storeFolder), systemClock, () => checkCancelled(cancelled));
  } catch (error) {
    return refusalOf(error);
  }
}

async function sendTexts({ cancelled, port, ...job }: TextJob): Promise<void> {
  try {
    await runTextJob({ ...job, port }, sourcesOf(job.storeFolder), systemClock, () => checkCancelled(cancelled));
  } catch (error) {
    port.postMessage(refusalOf(error));
  }
}

function checkCancelled(cancelled: Int32Array<SharedArrayBuffer>): void {
  if (Atomics.load(cancelled, 0) === 1) throw new NotNowForKernels('the query was cancelled');
}

function refusalOf(error: unknown): Refusal {
  if (!(error instanceof NotForKernels)) return { refusal: 'a scan in another thread failed', isForNow: true };
  return { refusal: error.message, isForNow: error instanceof NotNowForKernels };
}

try {
  setPriority(NICENESS);
} catch {
  // Without it the threads only compete.
}

parentPort?.on('message', (job: ScanJob | TextJob) => {
  if ('port' in job) {
    void sendTexts(job);
    return;
  }
  void replyTo(job).then((reply) => {
    const arrays = 'state' in reply ? reply.state.states.flat() : [];
    const numbered: NumberedReply = { number: job.number, reply };
    parentPort?.postMessage(
      numbered,
      arrays.map(({ buffer }) => buffer as ArrayBuffer),
    );
  });
});
