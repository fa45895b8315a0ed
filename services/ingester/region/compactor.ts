import type { Clock } from '#shared/clock/clock';
import { checkCall, ownCall, type Call } from '#shared/contracts/call';
import type { Segment } from '#shared/contracts/gen/common';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { diskError } from '#shared/fs/disk-error';
import type { Logger } from '#shared/telemetry/log';

import { windowLength } from '../flush/windows.js';
import type { IngesterMetrics } from '../metrics.js';
import { regionNotServed, type Region } from './region.js';
import type { Regions } from './regions.js';
import { mergeRuns, type MergeDeps } from '../compaction/merge-runs.js';
import { pickRuns, type PickOptions } from '../compaction/pick.js';
import { chainsOf, type SortedRun } from '../compaction/runs.js';

/** Configuration of background merges, and what they use. */
export interface CompactorOptions extends MergeDeps {
  readonly regions: Regions;
  readonly metadata: MetadataService;
  readonly log: Logger;
  readonly metrics: IngesterMetrics;
  readonly windowMs: number;
  /** A region whose segments have not changed for this long is merged further. */
  readonly quietMs: number;
  /** What is worth a merge while rows arrive. */
  readonly busy: PickOptions;
  /** Aborts when the ingester stops. */
  readonly signal: AbortSignal;
}

/** For regions that received no rows for a while, when the disk is idle. */
const QUIET: PickOptions = { runsMin: 2, ratio: 10, runsMax: 4 };
/** Share of one core that background merges may use. */
const SHARE = 0.5;
/** Rest while merges of a region are suspended. */
const HELD_REST_MS = 20;
/** Rest after a failed merge. */
const FAILURE_REST_MS = 60_000;

interface MergeProgress {
  readonly version: bigint;
  readonly sinceMs: number;
  /** Earliest time of the next merge, after a failure. */
  retryMs: number;
  /** Options with which nothing was found to merge; segments do not change by themselves. */
  idle: PickOptions | undefined;
}

/** A merge in progress, and how to abort it. */
interface RunningMerge {
  readonly region: Region;
  readonly stop: AbortController;
  readonly end: Promise<unknown>;
}

/**
 * Merges segments of a region that are adjacent in version order, within a time window, one merge at a time. Reads then
 * open fewer and better compressed files, and old versions are removed.
 */
export class Compactor {
  readonly #options: CompactorOptions;
  readonly #clock: Clock;
  readonly #progress = new WeakMap<Region, MergeProgress>();
  /** Regions whose merges are suspended, and how many times. */
  readonly #held = new Map<Region, number>();
  #running: RunningMerge | undefined;

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#clock = options.clock;
  }

  /** Number of merges in progress. */
  get runningCount(): number {
    return this.#running === undefined ? 0 : 1;
  }

  /** Runs the merges that are due, one region after the other. */
  async runOnce(): Promise<void> {
    const { regions, signal, log, metrics } = this.#options;
    for (const region of [...regions.open]) {
      for (;;) {
        if (signal.aborted) return;
        // Another waiter may have started the next merge.
        while (this.#running !== undefined) await this.#running.end.catch(() => undefined);
        const progress = this.#progressOf(region);
        const due = this.#due(region, progress);
        if (due === undefined) break;
        try {
          await this.#run(region, due, (tookMs) => this.#clock.sleep(tookMs * (1 / SHARE - 1), signal));
        } catch (error) {
          if (isMergeAborted(error)) break;
          progress.retryMs = this.#clock.monotonicMs() + FAILURE_REST_MS;
          metrics.compactionFailures.inc();
          log.error({ regionId: region.regionId, error }, 'compaction failed');
          break;
        }
      }
    }
  }

  /**
   * Merges everything that can be merged of a region, without rests.
   *
   * @returns the number of replaced segments.
   */
  async compact(region: Region, call: Call): Promise<number> {
    const { signal } = this.#options;
    let replaced = 0;
    for (;;) {
      checkCall(call);
      if (signal.aborted || region.isEnded || region.isSealing) throw regionNotServed(region.regionId);
      if (this.#running !== undefined || this.#held.has(region)) {
        await (this.#running?.end.catch(() => undefined) ?? this.#clock.sleep(HELD_REST_MS, call.signal));
        continue;
      }
      const chains = this.#chains(region);
      const due = chains.find((chain) => chain.length > 1) ?? findWithDeadOps(chains, region.manifest.segments);
      if (due === undefined) return replaced;
      try {
        await this.#run(region, due, () => {
          checkCall(call);
          return Promise.resolve();
        });
        replaced += due.reduce((sum, { segments }) => sum + segments.length, 0);
      } catch (error) {
        // Aborted for a truncation, after which there is less to merge.
        if (!isMergeAborted(error)) throw error;
      }
    }
  }

  /** Suspends merges of the regions while `work` runs. */
  async without<T>(regions: readonly Region[], work: () => Promise<T>): Promise<T> {
    for (const region of regions) this.#held.set(region, (this.#held.get(region) ?? 0) + 1);
    try {
      const running = this.#running;
      if (running !== undefined && regions.includes(running.region)) {
        running.stop.abort();
        await running.end.catch(() => undefined);
      }
      return await work();
    } finally {
      for (const region of regions) {
        const holds = (this.#held.get(region) ?? 1) - 1;
        if (holds === 0) this.#held.delete(region);
        else this.#held.set(region, holds);
      }
    }
  }

  /** Aborts the running merge and waits for its end. */
  async stop(): Promise<void> {
    this.#running?.stop.abort();
    await this.#running?.end.catch(() => undefined);
  }

  #progressOf(region: Region): MergeProgress {
    const { version } = region.manifest;
    let progress = this.#progress.get(region);
    if (progress?.version !== version) {
      progress = { version, sinceMs: this.#clock.monotonicMs(), retryMs: progress?.retryMs ?? 0, idle: undefined };
      this.#progress.set(region, progress);
    }
    return progress;
  }

  #due(region: Region, progress: MergeProgress): readonly SortedRun[] | undefined {
    const nowMs = this.#clock.monotonicMs();
    if (region.isEnded || region.isSealing || this.#held.has(region) || nowMs < progress.retryMs) return undefined;
    const options = nowMs - progress.sinceMs >= this.#options.quietMs ? QUIET : this.#options.busy;
    if (progress.idle === options) return undefined;
    const chains = this.#chains(region);
    for (const chain of chains) {
      const runs = pickRuns(chain, options);
      if (runs.length > 0) return runs;
    }
    const useless = options === QUIET ? findWithDeadOps(chains, region.manifest.segments) : undefined;
    if (useless !== undefined) return useless;
    progress.idle = options;
    return undefined;
  }

  #chains({ table, manifest }: Region): SortedRun[][] {
    return chainsOf(manifest.segments, windowLength(table, this.#options.windowMs));
  }

  async #run(region: Region, runs: readonly SortedRun[], rest: (tookMs: number) => Promise<void>): Promise<void> {
    const stop = new AbortController();
    const end = this.#merge(region, runs, async (tookMs) => {
      await rest(tookMs);
      if (stop.signal.aborted || region.isEnded || region.isSealing || this.#options.signal.aborted) {
        throw mergeAborted();
      }
    });
    this.#running = { region, stop, end };
    this.#options.metrics.runningCompactions.set(1);
    try {
      await end;
    } finally {
      this.#running = undefined;
      this.#options.metrics.runningCompactions.set(0);
    }
  }

  async #merge(region: Region, runs: readonly SortedRun[], rest: (tookMs: number) => Promise<void>): Promise<void> {
    const { log, metrics } = this.#options;
    const { table, regionId, epoch, manifest } = region;
    const startedMs = this.#clock.monotonicMs();
    const segments = await mergeRuns(
      { table, regionId, runs, hasOlder: hasOlder(manifest.segments, runs), rest },
      this.#options,
    ).catch((error: unknown) => {
      throw diskError(error, 'segments cannot be merged');
    });
    const replaced = runs.flatMap((run) => run.segments);
    await this.#replace(region, { regionId, epoch, replaced: replaced.map(({ path }) => path), segments });
    const durationMs = Math.round(this.#clock.monotonicMs() - startedMs);
    const rowCount = segments.reduce((sum, segment) => sum + segment.rowCount, 0);
    const segmentBytes = segments.reduce((sum, segment) => sum + segment.bytes, 0);
    metrics.compactions.inc();
    metrics.compactedBytes.inc(segmentBytes);
    metrics.compactionSeconds.observe(durationMs / 1000);
    const counts = { replaced: replaced.length, segments: segments.length, rowCount, segmentBytes };
    log.info({ table: table.name, regionId, ...counts, durationMs }, 'segments merged');
  }

  async #replace(region: Region, request: Parameters<MetadataService['replaceSegments']>[0]): Promise<void> {
    const { metadata, store } = this.#options;
    try {
      region.replaceManifest(await metadata.replaceSegments(request, ownCall(`compact-${region.regionId}`)));
    } catch (error) {
      // Unless metadata refused it for good, the replacement may have been committed, and then the files hold the rows.
      if (REFUSALS.has(AlmanacError.from(error).code)) {
        for (const { path } of request.segments) await store.remove(path).catch(() => undefined);
      }
      await this.#refresh(region).catch(() => undefined);
      throw error;
    }
  }

  /** Fetches the manifest, which may differ from the one that was assumed. */
  async #refresh(region: Region): Promise<void> {
    const { regionId, epoch } = region;
    const manifest = await this.#options.metadata.getManifest({ regionId }, ownCall(`compact-${regionId}`));
    if (manifest.epoch === epoch) region.replaceManifest(manifest);
  }
}

/** Error codes with which metadata states that the segments will never be live. */
const REFUSALS: ReadonlySet<string> = new Set(['illegal_state', 'region_not_found']);

/** Finds a run with deletions that has nothing older to hide: rewritten, it contains rows only. */
function findWithDeadOps(
  chains: readonly (readonly SortedRun[])[],
  segments: readonly Segment[],
): readonly SortedRun[] | undefined {
  for (const chain of chains) {
    const found = chain.find((run) => run.segments.some(({ hasOps }) => hasOps) && !hasOlder(segments, [run]));
    if (found !== undefined) return [found];
  }
  return undefined;
}

/** Returns whether a segment that is not merged, and is older, has rows of the same times. */
function hasOlder(segments: readonly Segment[], runs: readonly SortedRun[]): boolean {
  const [{ sequenceFrom }] = runs;
  return segments.some((segment) => {
    if (segment.sequenceTo > sequenceFrom) return false;
    return runs.some(({ timeFirst, timeLast }) => segment.timeFirst <= timeLast && segment.timeLast >= timeFirst);
  });
}

function mergeAborted(): AlmanacError {
  return new AlmanacError('cancelled', 'merge of segments aborted');
}

function isMergeAborted(error: unknown): boolean {
  return error instanceof AlmanacError && error.code === 'cancelled';
}
