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

/** Flushes at once: while one waits for the disk, the other sorts. */
const FLUSHES_MAX = 2;
/** Rest before a failed flush is tried again; doubled at each failure in a row. */
const RETRY_MS = 1000;
const RETRY_MS_MAX = 60_000;

export interface FlusherOptions extends FlushDeps {
  readonly memory: MemoryBudget;
  readonly log: Logger;
  readonly metrics: IngesterMetrics;
  /** Called after each commit: log files may be needed no more. */
  readonly onCommitted: () => void;
  /** Called when metadata says that a region is gone with its table; it may have been dropped while this node started. */
  readonly onGone: (region: Region) => void;
  /** Called when another grant of a region is open than the one under which it was flushed. */
  readonly onLost: (region: Region, epoch: number) => void;
  /** Ends the process: some rows of a generation are committed and some are not, which only recovery can tell apart. */
  readonly onFatal: (error: unknown) => void;
}

interface Failure {
  readonly restMs: number;
  readonly retry: Timer;
}

/** Brings frozen generations into segments: regions one after the other, each in order of its generations. */
export class Flusher {
  readonly #options: FlusherOptions;
  /** Resolves when all that was frozen so far is committed. */
  readonly #jobs = new Map<Region, Promise<void>>();
  /** Regions that wait to be tried again. */
  readonly #failures = new Map<Region, Failure>();
  readonly #clock: Clock;
  #running = 0;
  readonly #turns: (() => void)[] = [];
  #isStopped = false;

  constructor(options: FlusherOptions) {
    this.#options = options;
    this.#clock = options.clock;
  }

  /** Regions that are flushed or wait for it. */
  get busy(): number {
    return this.#jobs.size;
  }

  /** Freezes what the region holds and flushes it in the background; a failure is tried again. */
  start(region: Region): void {
    region.freeze(this.#clock.nowMs());
    this.resume(region);
  }

  /** Flushes what is frozen of the region in the background; a failure is tried again. */
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
   * Freezes what the region holds and resolves when it is committed.
   *
   * @throws what the flush failed with; it is tried again in the background.
   */
  async flush(region: Region): Promise<void> {
    region.freeze(this.#clock.nowMs());
    const target = region.frozen.at(-1);
    while (target !== undefined && region.frozen.includes(target)) {
      if (region.isEnded) throw region.endedError();
      await this.#job(region);
    }
  }

  /** Starts no more flushes and waits for those that run. */
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
    // Ids are never given again.
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
        if (this.#isStopped) throw new AlmanacError('cancelled', 'flushing has ended');
        await this.#flushOldest(region);
      }
    } finally {
      // At once: what is frozen from now on needs another job.
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
    log.info({ table: table.name, regionId, rowCount, segments, segmentBytes: bytes, durationMs }, 'flushed');
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
   * The manifest, if an earlier commit of the same rows came through whose answer was lost: by this process, or by an
   * earlier life of this node whose last words came late.
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
    if (this.#running >= FLUSHES_MAX) await new Promise<void>((resolve) => this.#turns.push(resolve));
    else this.#running++;
  }

  #leave(): void {
    const next = this.#turns.shift();
    if (next === undefined) this.#running--;
    else next();
  }
}
