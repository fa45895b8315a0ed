import { Worker } from 'node:worker_threads';

import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { ProfileJob, ProfileReply } from './profile-thread.js';

/** Longest time for one job. */
const JOB_MS_MAX = 60_000;
/** Memory for the objects of one job, in MiB. */
const JOB_MEMORY_MIB_MAX = 512;

/** Jobs that run or wait; each holds a profile in memory. */
const JOBS_MAX = 8;
const RETRY_SECONDS = 5;

/** Works on profiles in threads of their own: a map to the sources alone takes a third of a second, and files may be hostile. */
export class ProfileWorker {
  readonly #clock: Clock;
  /** Ends with the last job: one at a time runs, so that few are in memory. */
  #last: Promise<unknown> = Promise.resolve();
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws `rate_limited` if too many jobs wait. */
  checkRoom(): void {
    if (this.#count < JOBS_MAX) return;
    throw new AlmanacError('rate_limited', `${JOBS_MAX} profiles are being processed: try again later`, {
      retryAfterSeconds: RETRY_SECONDS,
    });
  }

  /**
   * @throws `invalid_arguments` or `unsupported` for a profile that cannot be read; `resources_exhausted`;
   *   `rate_limited` if too many jobs wait.
   */
  async run(job: ProfileJob): Promise<Buffer> {
    this.checkRoom();
    this.#count++;
    const done = this.#last.then(() => this.#run(job)).finally(() => this.#count--);
    // Without the result, which would stay in memory until the next one.
    this.#last = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  }

  async #run(job: ProfileJob): Promise<Buffer> {
    const worker = new Worker(new URL('./profile-thread.js', import.meta.url), {
      workerData: job,
      resourceLimits: { maxOldGenerationSizeMb: JOB_MEMORY_MIB_MAX },
    });
    const timer = this.#clock.after(JOB_MS_MAX, () => void worker.terminate());
    const reply = await new Promise<ProfileReply | undefined>((resolve) => {
      worker.on('message', (message: ProfileReply) => resolve(message));
      // After an error the thread exits.
      worker.on('error', () => undefined);
      worker.on('exit', () => resolve(undefined));
    });
    timer.cancel();
    // A thread that is still ending would be profiled by the next job.
    await worker.terminate();
    if (reply === undefined) throw new AlmanacError('resources_exhausted', 'the profile needs too much time or memory');
    if ('code' in reply) throw new AlmanacError(reply.code, reply.message);
    return Buffer.from(reply.bytes.buffer, reply.bytes.byteOffset, reply.bytes.length);
  }
}
