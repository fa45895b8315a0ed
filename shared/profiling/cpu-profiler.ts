import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import { readTextFile } from '#shared/fs/text-file';

import { MAIN_THREAD, ThreadSessions, type InspectedThread } from './thread-sessions.js';
import type { V8CpuProfile } from './v8-profile.js';

/** What a CPU profile of a process consists of. */
export interface CpuSamples {
  readonly startedMs: number;
  readonly durationMs: number;
  /** Microseconds between samples. */
  readonly intervalMicros: number;
  readonly threads: readonly ThreadSamples[];
  /** CPU time of the process in nanoseconds, on all threads, native ones included. */
  readonly processNanos: number;
}

/** The samples of one JavaScript thread. */
export interface ThreadSamples {
  readonly name: string;
  readonly profile: V8CpuProfile;
  /**
   * CPU time of the thread in nanoseconds, if the system reports it. Samples measure elapsed time, which is more when
   * other processes took the processor meanwhile, or calls waited for a disk: all samples are reduced by the same part then.
   */
  readonly cpuNanos?: number | undefined;
}

/** How a CPU profile is taken. */
export interface CpuProfileOptions {
  readonly seconds: number;
  /** Samples per second. */
  readonly frequency: number;
}

/** Takes CPU profiles of all JavaScript threads of this process, one at a time. */
export class CpuProfiler {
  readonly #clock: Clock;
  #isRunning = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Samples until the time is over.
   *
   * @throws `illegal_state` if a profile is being taken; the reason of the signal when it aborts.
   */
  async take({ seconds, frequency }: CpuProfileOptions, signal: AbortSignal): Promise<CpuSamples> {
    if (this.#isRunning) {
      throw new AlmanacError('illegal_state', 'a CPU profile of this process is being taken already');
    }
    this.#isRunning = true;
    try {
      return await this.#take(seconds * 1000, Math.round(1e6 / frequency), signal);
    } finally {
      this.#isRunning = false;
    }
  }

  async #take(durationMs: number, interval: number, signal: AbortSignal): Promise<CpuSamples> {
    const sessions = await ThreadSessions.open(this.#clock);
    try {
      const threads = await startedThreads(sessions, interval);
      const startedMs = this.#clock.nowMs();
      const began = { cpu: process.cpuUsage(), main: mainThreadNanos(), ms: this.#clock.monotonicMs() };
      await this.#clock.sleep(durationMs, signal);
      if (signal.aborted) throw AlmanacError.from(signal.reason);
      const { user, system } = process.cpuUsage(began.cpu);
      const ended = mainThreadNanos();
      const mainNanos = began.main === undefined || ended === undefined ? undefined : ended - began.main;
      const tookMs = this.#clock.monotonicMs() - began.ms;
      const profiles = await Promise.all(
        threads.map(async (thread): Promise<ThreadSamples[]> => {
          // A worker that ended meanwhile took its samples along.
          const stopped = await thread.post<{ profile: V8CpuProfile }>('Profiler.stop').catch(() => undefined);
          if (stopped === undefined) return [];
          const cpuNanos = thread.name === MAIN_THREAD ? mainNanos : undefined;
          return [{ name: thread.name, profile: stopped.profile, cpuNanos }];
        }),
      );
      const taken = { startedMs, durationMs: tookMs, intervalMicros: interval, processNanos: (user + system) * 1000 };
      return { ...taken, threads: profiles.flat() };
    } finally {
      sessions.close();
    }
  }
}

/** Returns the threads that are sampled from now on: not those that end just then. */
async function startedThreads({ threads }: ThreadSessions, interval: number): Promise<readonly InspectedThread[]> {
  const started = await Promise.all(
    threads.map(async (thread) => {
      try {
        await thread.post('Profiler.enable');
        await thread.post('Profiler.setSamplingInterval', { interval });
        await thread.post('Profiler.start');
        return [thread];
      } catch (error) {
        if (thread.name === MAIN_THREAD) throw error;
        return [];
      }
    }),
  );
  return started.flat();
}

/** Returns the CPU time of the main thread in nanoseconds: on Linux only. */
function mainThreadNanos(): number | undefined {
  // Time on a processor, time waiting for one, and the number of turns.
  const text = readTextFile(`/proc/self/task/${process.pid}/schedstat`);
  const nanos = Number(text?.split(' ')[0]);
  return nanos > 0 ? nanos : undefined;
}
