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

export interface CompactorOptions extends MergeDeps {
  readonly regions: Regions;
  readonly metadata: MetadataService;
  readonly log: Logger;
  readonly metrics: IngesterMetrics;
  readonly windowMs: number;
  /** A region whose segments were the same for so long is merged further. */
  readonly quietMs: number;
  /** What is worth a merge while rows come. */
  readonly busy: PickOptions;
  /** Aborts when the ingester stops. */
  readonly signal: AbortSignal;
}

/** Nothing came for a while: nobody waits for the disk. */
const QUIET: PickOptions = { runsMin: 2, ratio: 10, runsMax: 4 };
/** Part of one core that background merges may take. */
const SHARE = 0.5;
/** Rest while nothing may be merged. */
const HELD_REST_MS = 20;
/** Rest after a merge that failed. */
const FAILURE_REST_MS = 60_000;

interface MergeProgress {
  readonly version: bigint;
  readonly sinceMs: number;
  /** Not before then; a merge has failed. */
  retryMs: number;
  /** By which options nothing was found to merge: segments do not change by themselves. */
  idle: PickOptions | undefined;
}

/** A merge, and how it is given up. */
interface RunningMerge {
  readonly region: Region;
  readonly stop: AbortController;
  readonly end: Promise<unknown>;
}

/**
 * Merges segments of a region that are neighbours in the order of versions, within a time window, one merge at a time: so
 * that reads open few files, versions are one, and files are small.
 */
export class Compactor {
  readonly #options: CompactorOptions;
  readonly #clock: Clock;
  readonly #seen = new WeakMap<Region, MergeProgress>();
  /** Regions in which nothing may be merged now. */
  readonly #held = new Map<Region, number>();
  #running: RunningMerge | undefined;

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#clock = options.clock;
  }

  /** Makes the merges that are due, the regions in turn. */
  async runOnce(): Promise<void> {
    const { regions, signal, log, metrics } = this.#options;
    for (const region of [...regions.open]) {
      for (;;) {
        if (signal.aborted) return;
        // Whoever waited before may have begun the next one.
        while (this.#running !== undefined) await this.#running.end.catch(() => undefined);
        const seen = this.#look(region);
        const due = this.#due(region, seen);
        if (due === undefined) break;
        try {
          await this.#run(region, due, (tookMs) => this.#clock.sleep(tookMs * (1 / SHARE - 1), signal));
        } catch (error) {
          if (isMergeAborted(error)) break;
          seen.retryMs = this.#clock.monotonicMs() + FAILURE_REST_MS;
          metrics.compactionFailures.inc();
          log.error({ regionId: region.regionId, error }, 'compaction failed');
          break;
        }
      }
    }
  }

  /**
   * Merges all that can be merged of a region, without rests.
   *
   * @returns how many segments were replaced.
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
        // For the sake of a truncation, after which there is less to merge.
        if (!isMergeAborted(error)) throw error;
      }
    }
  }

  /** Does work during which no segment of the regions is merged. */
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

  /** Waits for the merge that runs; it is given up if the ingester stops. */
  async stop(): Promise<void> {
    this.#running?.stop.abort();
    await this.#running?.end.catch(() => undefined);
  }

  #look(region: Region): MergeProgress {
    const { version } = region.manifest;
    let seen = this.#seen.get(region);
    if (seen?.version !== version) {
      seen = { version, sinceMs: this.#clock.monotonicMs(), retryMs: seen?.retryMs ?? 0, idle: undefined };
      this.#seen.set(region, seen);
    }
    return seen;
  }

  #due(region: Region, seen: MergeProgress): readonly SortedRun[] | undefined {
    const nowMs = this.#clock.monotonicMs();
    if (region.isEnded || region.isSealing || this.#held.has(region) || nowMs < seen.retryMs) return undefined;
    const options = nowMs - seen.sinceMs >= this.#options.quietMs ? QUIET : this.#options.busy;
    if (seen.idle === options) return undefined;
    const chains = this.#chains(region);
    for (const chain of chains) {
      const runs = pickRuns(chain, options);
      if (runs.length > 0) return runs;
    }
    const useless = options === QUIET ? findWithDeadOps(chains, region.manifest.segments) : undefined;
    if (useless !== undefined) return useless;
    seen.idle = options;
    return undefined;
  }

  #chains({ table, manifest }: Region): SortedRun[][] {
    return chainsOf(manifest.segments, windowLength(table, this.#options.windowMs));
  }

  async #run(region: Region, runs: readonly SortedRun[], rest: (tookMs: number) => Promise<void>): Promise<void> {
    const stop = new AbortController();
    const end = this.#merge(region, runs, async (tookMs) => {
      await rest(tookMs);
      if (stop.signal.aborted || region.isEnded || region.isSealing || this.#options.signal.aborted)
        throw mergeAborted();
    });
    this.#running = { region, stop, end };
    try {
      await end;
    } finally {
      this.#running = undefined;
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
    log.info({ table: table.name, regionId, ...counts, durationMs }, 'compacted');
  }

  async #replace(region: Region, request: Parameters<MetadataService['replaceSegments']>[0]): Promise<void> {
    const { metadata, store } = this.#options;
    try {
      region.replaceManifest(await metadata.replaceSegments(request, ownCall(`compact-${region.regionId}`)));
    } catch (error) {
      // Unless it was refused for good, it may have come through, and then the files are the rows.
      if (REFUSALS.has(AlmanacError.from(error).code)) {
        for (const { path } of request.segments) await store.remove(path).catch(() => undefined);
      }
      await this.#refresh(region).catch(() => undefined);
      throw error;
    }
  }

  /** What is live may not be what was thought to be. */
  async #refresh(region: Region): Promise<void> {
    const { regionId, epoch } = region;
    const manifest = await this.#options.metadata.getManifest({ regionId }, ownCall(`compact-${regionId}`));
    if (manifest.epoch === epoch) region.replaceManifest(manifest);
  }
}

/** Answers by which metadata says that the segments will never be live. */
const REFUSALS: ReadonlySet<string> = new Set(['illegal_state', 'region_not_found']);

/** A run with deletions behind which there is nothing older any more: written anew it has only rows. */
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

/** Whether a segment that is not merged, and is older in the order of versions, has rows of the same times. */
function hasOlder(segments: readonly Segment[], runs: readonly SortedRun[]): boolean {
  const [{ sequenceFrom }] = runs;
  return segments.some((segment) => {
    if (segment.sequenceTo > sequenceFrom) return false;
    return runs.some(({ timeFirst, timeLast }) => segment.timeFirst <= timeLast && segment.timeLast >= timeFirst);
  });
}

function mergeAborted(): AlmanacError {
  return new AlmanacError('cancelled', 'the merge of segments was given up');
}

function isMergeAborted(error: unknown): boolean {
  return error instanceof AlmanacError && error.code === 'cancelled';
}
