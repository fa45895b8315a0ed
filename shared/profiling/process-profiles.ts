import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem } from '#shared/fs/file-system';
import type { Logger } from '#shared/telemetry/log';

import { CpuProfiler, type CpuProfileOptions } from './cpu-profiler.js';
import { HeapSampler } from './heap-sampler.js';
import { ProfileWorker } from './profile-worker.js';

/** What is sampled of the memory of a process. */
export interface HeapSamplingState {
  readonly active: boolean;
  /** Whether a profile is written at each new peak of memory. */
  readonly gdump: boolean;
}

/** Collaborators of a `ProcessProfiles`. */
export interface ProcessProfilesDeps {
  readonly clock: Clock;
  readonly fs: FileSystem;
  readonly log: Logger;
  /** Folder for profiles at peaks of memory; created with the first. */
  readonly folder: string;
}

/** Time between two looks at the memory of the process. */
const LOOK_MS = 1_000;
/** Growth since the last peak that makes a new one. */
const PEAK_GROWTH = 1.1;
/** Profiles of peaks that are kept. */
const PEAKS_MAX = 20;
const PEAK_FILE = /^heap-.*\.pb\.gz$/;

/** The profiles of this process. */
export class ProcessProfiles {
  readonly #deps: ProcessProfilesDeps;
  readonly #cpu: CpuProfiler;
  readonly #heap: HeapSampler;
  readonly #worker: ProfileWorker;
  /** Ends the watch for peaks. */
  #watch: AbortController | undefined = undefined;

  constructor(deps: ProcessProfilesDeps) {
    this.#deps = deps;
    this.#cpu = new CpuProfiler(deps.clock);
    this.#heap = new HeapSampler(deps.clock);
    this.#worker = new ProfileWorker(deps.clock);
  }

  get heapSampling(): HeapSamplingState {
    return { active: this.#heap.isActive, gdump: this.#watch !== undefined };
  }

  /** Takes a CPU profile. @returns pprof, gzipped. @throws as `CpuProfiler.take` does. */
  async cpu(options: CpuProfileOptions, signal: AbortSignal): Promise<Buffer> {
    return this.#worker.run({ kind: 'cpu', samples: await this.#cpu.take(options, signal) });
  }

  /** Takes a profile of the memory in use. @returns pprof, gzipped. @throws `invalid_arguments` if sampling is off. */
  async heap(): Promise<Buffer> {
    return this.#worker.run({ kind: 'heap', samples: await this.#heap.take() });
  }

  /**
   * Changes what is sampled.
   *
   * @param change as in `SetHeapSamplingRequest`.
   * @throws `invalid_arguments` for another change, and for peaks while sampling is off.
   */
  async changeHeapSampling(change: string): Promise<HeapSamplingState> {
    switch (change) {
      case 'activate':
        await this.#heap.activate();
        break;
      case 'deactivate':
        this.#endWatch();
        await this.#heap.deactivate();
        break;
      case 'activate_gdump':
        if (!this.#heap.isActive) throw new AlmanacError('invalid_arguments', 'Memory profiling is not enabled');
        this.#watch ??= this.#watchPeaks();
        break;
      case 'deactivate_gdump':
        this.#endWatch();
        break;
      default:
        throw new AlmanacError('invalid_arguments', `unknown change "${change}" of the sampling of allocations`);
    }
    return this.heapSampling;
  }

  #endWatch(): void {
    this.#watch?.abort();
    this.#watch = undefined;
  }

  #watchPeaks(): AbortController {
    const control = new AbortController();
    void this.#dumpPeaks(control.signal);
    return control;
  }

  async #dumpPeaks(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    let peakBytes = 0;
    for (; !signal.aborted; await clock.sleep(LOOK_MS, signal)) {
      const bytes = process.memoryUsage.rss();
      if (bytes < peakBytes * PEAK_GROWTH) continue;
      peakBytes = bytes;
      try {
        log.info({ path: await this.#writePeak(), bytes }, 'memory has a new peak: heap profile written');
      } catch (error) {
        log.warn({ error }, 'memory has a new peak: heap profile not written');
      }
    }
  }

  /** @returns the path of the file. */
  async #writePeak(): Promise<string> {
    const { clock, fs, folder } = this.#deps;
    const profile = await this.heap();
    await fs.makeFolder(folder);
    const time = new Date(clock.nowMs()).toISOString().replace(/[:.]/g, '-');
    const path = `${folder}/heap-${time}-${process.pid}.pb.gz`;
    // Under another name at first, so that no reader takes an incomplete profile.
    const file = await fs.open(`${path}.new`, 'append');
    try {
      await file.append([profile]);
    } finally {
      await file.close();
    }
    await fs.rename(`${path}.new`, path);
    const names = (await fs.list(folder)).filter((name) => PEAK_FILE.test(name)).sort();
    for (const name of names.slice(0, -PEAKS_MAX)) await fs.remove(`${folder}/${name}`);
    return path;
  }
}
