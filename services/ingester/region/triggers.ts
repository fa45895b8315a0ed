import type { Clock } from '#shared/clock/clock';
import type { MemoryBudget } from '#shared/limits/memory-budget';

import { SEGMENT_ROWS } from '../flush/flush.js';
import type { Wal } from '../wal/wal.js';
import type { Flusher } from './flusher.js';
import type { Region } from './region.js';
import type { Regions } from './regions.js';
import { regionsPinning } from './delete-log-files.js';

/** Limits at which regions are flushed. */
export interface TriggerOptions {
  readonly flusher: Flusher;
  readonly regions: Regions;
  readonly memory: MemoryBudget;
  readonly clock: Clock;
  /** Returns the log once recovery has opened it. */
  readonly wal: () => Wal | undefined;
  /** Size of a region's rows in the engine at which they are flushed. */
  readonly flushBytes: number;
  readonly flushIntervalMs: number;
  readonly walBytesMax: number;
}

/**
 * Rows of a region at which they are flushed, whatever their size: 12 segments (`SEGMENT_ROWS`). With more, samples of
 * metrics, which are narrow, take more memory without larger files.
 */
const FLUSH_ROWS = 12 * SEGMENT_ROWS;
/** Share of the memory budget above which the largest regions are flushed early. */
const MEMORY_PRESSURE = 0.6;
/** Fewer bytes are not worth a segment of their own yet; they wait for several intervals. */
const SMALL_BYTES = 1 << 20;
const SMALL_PATIENCE = 6;

/** Decides when regions are flushed: by size at once; by age, memory and log size at each tick. */
export class Triggers {
  readonly #options: TriggerOptions;

  constructor(options: TriggerOptions) {
    this.#options = options;
  }

  onPut(region: Region): void {
    const { flusher, flushBytes } = this.#options;
    const { engineBytes, rowCount } = region.open;
    if (engineBytes >= flushBytes || rowCount >= FLUSH_ROWS) flusher.start(region);
    else if (region.frozen.length > 0) flusher.resume(region);
  }

  tick(): void {
    const { flusher, regions, clock } = this.#options;
    for (const region of regions.open) {
      if (region.open.rowCount > 0 && this.#isOld(region, clock.nowMs())) flusher.start(region);
    }
    this.#relieveMemory();
    this.#relieveLog();
  }

  #isOld({ open }: Region, nowMs: number): boolean {
    const ageMs = nowMs - open.openedMs;
    const patience = open.engineBytes < SMALL_BYTES ? SMALL_PATIENCE : 1;
    return ageMs >= this.#options.flushIntervalMs * patience;
  }

  /** Starts with the largest regions and flushes as many as release the excess. */
  #relieveMemory(): void {
    const { flusher, regions, memory } = this.#options;
    let excess = memory.usedBytes - memory.limitBytes * MEMORY_PRESSURE;
    if (excess < 0 || flusher.busy > 1) return;
    for (const region of [...regions.open].sort((a, b) => b.open.heldBytes - a.open.heldBytes)) {
      const { heldBytes } = region.open;
      if (heldBytes === 0 || excess < 0) return;
      flusher.start(region);
      excess -= heldBytes;
    }
  }

  #relieveLog(): void {
    const { flusher, regions, walBytesMax } = this.#options;
    const wal = this.#options.wal();
    if (wal === undefined || wal.bytes <= walBytesMax) return;
    const [oldest] = wal.files;
    for (const region of regionsPinning(oldest, regions)) {
      if (region.frozen.length === 0) flusher.start(region);
    }
  }
}
