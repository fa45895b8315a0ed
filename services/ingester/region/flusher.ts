import type { Clock, Timer } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import type { RegionManifest } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { diskError } from '#shared/fs/disk-error';
import type { MemoryBudget } from '#shared/limits/memory-budget';
import type { Logger } from '#shared/telemetry/log';

import type { IngesterMetrics } from '../metrics.js';
import { flushGeneration, type FlushDeps, type FlushJob, type FlushResult } from '../flush/flush.js';
import type { Region } from './region.js';

/** Concurrent flushes: while one waits for the disk, the other sorts. */
const FLUSHES_MAX = 2;
/** Rest before a failed flush is retried, in milliseconds; doubled at each failure in a row. */
const RETRY_MS = 1000;
const RETRY_MS_MAX = 60_000;

/** Limits and callbacks of flushes. */
export interface FlusherOptions extends FlushDeps {
  readonly memory: MemoryBudget;
  readonly log: Logger;
  readonly metrics: IngesterMetrics;
  /** Called after each commit: log files may be deletable. */
  readonly onCommitted: () => void;
  /** Called when metadata reports that the region's table was dropped, possibly while this node started. */
  readonly onGone: (region: Region) => void;
  /** Called when another node was granted the region since. */
  readonly onLost: (region: Region, epoch: number) => void;
  /** Ends the process: a generation is committed in part, which only recovery can resolve. */
  readonly onFatal: (error: unknown) => void;
}

interface Failure {
  readonly restMs: number;
  readonly retry: Timer;
}

/** Flushes frozen generations to segments: a few regions at a time, each in the order of its generations. */
export class Flusher {
  readonly #options: FlusherOptions;
  /** Resolve when everything that was frozen so far is committed. */
  readonly #jobs = new Map<Region, Promise<void>>();
  /** Regions that wait for a retry. */
  readonly #failures = new Map<Region, Failure>();
  readonly #clock: Clock;
  #running = 0;
  readonly #queue: (() => void)[] = [];
  #isStopped = false;

  constructor(options: FlusherOptions) {
    this.#options = options;
    this.#clock = options.clock;
  }

  /** Number of regions that are being flushed or wait for it. */
  get busy(): number {
    return this.#jobs.size;
  }

  /** Freezes the region's rows and flushes them in the background, with retries. */
  start(region: Region): void {
    region.freeze(this.#clock.nowMs());
    this.resume(region);
  }

  /** Flushes the region's frozen generations in the background, with retries. */
  resume(region: Region): void {
    if (!this.#failures.has(region)) void this.#job(region);
  }

  /** Retries failed flushes at once instead of after their rest. */
  retryNow(): void {
    for (const [region, { retry }] of this.#failures) {
      retry.cancel();
      void this.#job(region);
    }
  }

  /**
   * Freezes the region's rows and resolves when they are committed.
   *
   * @throws the error of the flush, which is retried in the background.
   */
  async flush(region: Region): Promise<void> {
    region.freeze(this.#clock.nowMs());
    const target = region.frozen.at(-1);
    while (target !== undefined && region.frozen.includes(target)) {
      if (region.isEnded) throw region.endedError();
      await this.#job(region);
    }
  }

  /** Starts no more flushes and waits for those in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.allSettled(this.#jobs.values());
  }

  #job(region: Region): Promise<void> {
    const running = this.#jobs.get(region);
    if (running !== undefined) return running;
    const job = this.#run(region);
    this.#jobs.set(region, job);
    job.then(
      () => this.#failures.delete(region),
      (error: unknown) => this.#failed(region, error),
    );
    return job;
  }

  #failed(region: Region, error: unknown): void {
    // Ids of regions are never reused, so the table is gone.
    if (error instanceof AlmanacError && error.code === 'region_not_found') this.#options.onGone(region);
    if (this.#isStopped || region.isEnded) {
      this.#failures.delete(region);
      return;
    }
    const before = this.#failures.get(region);
    before?.retry.cancel();
    const restMs = Math.min((before?.restMs ?? RETRY_MS / 2) * 2, RETRY_MS_MAX);
    const retry = this.#clock.after(restMs, () => {
      if (!this.#isStopped) void this.#job(region);
    });
    this.#failures.set(region, { restMs, retry });
    this.#options.metrics.flushFailures.inc();
    this.#options.log.error({ regionId: region.regionId, restMs, error }, 'flush failed');
  }

  async #run(region: Region): Promise<void> {
    await this.#enter();
    try {
      while (region.frozen.length > 0 && !region.isEnded) {
        if (this.#isStopped) throw new AlmanacError('cancelled', 'the flusher is stopped');
        await this.#flushOldest(region);
      }
    } finally {
      // Before anything else: what is frozen from now on needs another job.
      this.#jobs.delete(region);
      this.#leave();
    }
  }

  async #flushOldest(region: Region): Promise<void> {
    const { log, memory, metrics, onCommitted } = this.#options;
    const startedMs = this.#clock.monotonicMs();
    const { seriesCount } = region.frozen[0];
    const { manifest, segments, rowCount, bytes } = await this.#flushed(region);
    memory.release(region.committed(manifest, seriesCount));
    const durationMs = Math.round(this.#clock.monotonicMs() - startedMs);
    metrics.flushes.inc();
    metrics.flushSeconds.observe(durationMs / 1000);
    metrics.flushedBytes.inc(bytes);
    const { table, regionId } = region;
    log.info({ table: table.name, regionId, rowCount, segments, segmentBytes: bytes, durationMs }, 'segments flushed');
    onCommitted();
  }

  async #flushed(region: Region): Promise<FlushResult> {
    const job = region.nextFlush();
    try {
      return await flushGeneration(job, this.#options);
    } catch (error) {
      const manifest = await this.#committedBefore(region, job, error);
      if (manifest === undefined) throw diskError(error, 'rows cannot be flushed');
      return { manifest, segments: 0, rowCount: job.generation.rowCount, bytes: 0 };
    }
  }

  /**
   * Returns the manifest if an earlier commit of the same rows succeeded without a reply: of this process, or of an
   * earlier run of this node whose message was delayed.
   */
  async #committedBefore(region: Region, job: FlushJob, error: unknown): Promise<RegionManifest | undefined> {
    if (!(error instanceof AlmanacError) || error.code !== 'illegal_state') return undefined;
    const { metadata, onLost, onFatal } = this.#options;
    const { regionId, epoch, watermark, generation } = job;
    const manifest = await metadata.getManifest({ regionId }, ownCall(`flush-outcome-${regionId}`));
    if (manifest.epoch > epoch) onLost(region, manifest.epoch);
    if (manifest.epoch !== epoch || manifest.watermark <= watermark) return undefined;
    if (manifest.watermark === generation.sequenceTo) return manifest;
    onFatal(error);
    return undefined;
  }

  async #enter(): Promise<void> {
    if (this.#running >= FLUSHES_MAX) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#running++;
  }

  #leave(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#running--;
    else next();
  }
}
