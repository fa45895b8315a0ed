import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { PickOptions } from '#services/ingester/compaction/pick';
import { BUSY } from '#services/ingester/settings';
import { openEngine, type DuckDBInstance } from '#shared/duckdb/engine';
import { Metrics } from '#shared/telemetry/metrics';

import type { Settings, World } from '../nodes/world.js';
import { Disk } from '../world/disk.js';
import { Network } from '../world/network.js';
import { Sandboxes } from '../world/sandboxes.js';
import { Scheduler } from '../world/scheduler.js';
import { SeedRun, type SimulationKind, type SeedOutcome } from './seed-run.js';

/** Memory is the fastest disk: what a crash loses is simulated. */
const MEMORY_FOLDER = '/dev/shm';

/** Runs seeds one after the other; engine instances are reused. */
export class ClusterSimulation {
  readonly #form: SimulationKind;
  readonly #folder: string;
  readonly #sandboxes: Sandboxes;
  readonly #metrics = new Metrics({ unprefixedProcess: false, ofProcess: false });
  #engine: DuckDBInstance | undefined;

  constructor(form: SimulationKind) {
    this.#form = form;
    this.#folder = mkdtempSync(join(existsSync(MEMORY_FOLDER) ? MEMORY_FOLDER : tmpdir(), 'almanac-simulation-'));
    this.#sandboxes = new Sandboxes(this.#folder);
  }

  /** @throws `SeedFailure`. */
  async run(seed: number): Promise<SeedOutcome> {
    const folder = `${this.#folder}/${seed}`;
    mkdirSync(`${folder}/store`, { recursive: true });
    this.#engine ??= await openEngine({ threads: 1, memoryBytes: 1 << 28, spillFolder: '' });
    const scheduler = new Scheduler(seed);
    const world: World = {
      scheduler,
      network: new Network(scheduler),
      disk: new Disk(scheduler, (path) => path.startsWith(`${folder}/slots`) || path.startsWith(`${folder}/identity`)),
      settings: drawSettings(scheduler),
      folder,
      engine: this.#engine,
      sandboxes: this.#sandboxes,
      metrics: this.#metrics,
    };
    // It would end a real process.
    const onUnhandled = (cause: unknown): void => {
      scheduler.fail(new Error(`unhandled error: ${String(cause)}`, { cause }));
    };
    process.on('unhandledRejection', onUnhandled);
    try {
      return await new SeedRun(seed, world, this.#form).run();
    } finally {
      process.off('unhandledRejection', onUnhandled);
      await this.#sandboxes.giveAllBack();
      rmSync(folder, { recursive: true, force: true });
    }
  }

  close(): void {
    this.#sandboxes.close();
    this.#engine?.closeSync();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A run larger than all others together stays, and newer ones are merged without it. */
const BUSY_WITH_NEWEST: PickOptions = { runsMin: 3, ratio: 0.6, runsMax: 12 };

function drawSettings({ random }: Scheduler): Settings {
  return {
    regions: random.pick([1, 2, 2, 3]),
    leaseMs: 2_000,
    retryWindowMs: random.pick([500, 30_000]),
    walFileBytes: random.pick([600, 2_000, 1 << 20]),
    flushBytes: random.pick([300, 1_000, 1 << 20]),
    flushIntervalMs: random.pick([50, 500, 600_000]),
    windowMs: random.pick([30_000, 86_400_000]),
    gcGraceMs: 15_000,
    compaction: {
      isAutomatic: random.pick([true, true, false]),
      intervalMs: 300,
      quietMs: random.pick([500, 600_000]),
      busy: random.pick([BUSY, BUSY_WITH_NEWEST]),
      segmentRows: random.pick([3, 1 << 20]),
    },
  };
}
