import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

import { MAIN_THREAD, ThreadSessions, type InspectedThread } from './thread-sessions.js';
import type { V8HeapProfile } from './v8-profile.js';

/** Average distance of samples in allocated bytes. */
export const HEAP_SAMPLE_BYTES = 512 * 1024;

/** What a heap profile of a process consists of. */
export interface HeapSamples {
  readonly takenMs: number;
  readonly threads: readonly { readonly name: string; readonly profile: V8HeapProfile }[];
  /** Memory of the process that no JavaScript object takes, by name, in bytes. */
  readonly native: Readonly<Record<string, number>>;
}

/** Samples the allocations of all JavaScript threads of this process. */
export class HeapSampler {
  readonly #clock: Clock;
  #sessions: Promise<ThreadSessions> | undefined = undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isActive(): boolean {
    return this.#sessions !== undefined;
  }

  /** Starts sampling; objects that exist already are not seen. */
  async activate(): Promise<void> {
    this.#sessions ??= ThreadSessions.open(this.#clock, (thread) => void startSampling(thread));
    try {
      const { threads } = await this.#sessions;
      await Promise.all(threads.map(startSampling));
    } catch (error) {
      this.#sessions = undefined;
      throw error;
    }
  }

  async deactivate(): Promise<void> {
    const sessions = await this.#sessions;
    this.#sessions = undefined;
    // Disconnecting ends the sampling.
    sessions?.close();
  }

  /** Returns the objects in use. @throws `invalid_arguments` if sampling is not active. */
  async take(): Promise<HeapSamples> {
    const sessions = await this.#sessions;
    if (sessions === undefined) throw new AlmanacError('invalid_arguments', 'Memory profiling is not enabled');
    const threads = await Promise.all(
      sessions.threads.map(async (thread) => {
        const taken = await thread
          .post<{ profile: V8HeapProfile }>('HeapProfiler.getSamplingProfile')
          // A worker that has just started, or that ended, has no profile.
          .catch(() => undefined);
        return taken === undefined ? [] : [{ name: thread.name, profile: taken.profile }];
      }),
    );
    const { rss, heapTotal, external, arrayBuffers } = process.memoryUsage();
    const native = {
      '(array buffers)': arrayBuffers,
      '(other memory of JavaScript objects)': Math.max(0, external - arrayBuffers),
      '(native memory: engine, code, threads, allocator)': Math.max(0, rss - heapTotal - external),
    };
    return { takenMs: this.#clock.nowMs(), threads: threads.flat(), native };
  }
}

async function startSampling(thread: InspectedThread): Promise<void> {
  try {
    await thread.post('HeapProfiler.startSampling', { samplingInterval: HEAP_SAMPLE_BYTES });
  } catch (error) {
    // A worker may end just then.
    if (thread.name === MAIN_THREAD) throw error;
  }
}
