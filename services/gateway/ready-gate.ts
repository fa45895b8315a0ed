import type { Clock } from '#shared/clock/clock';
import { checkCall, type Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';

/** Whether a node can serve requests, and if not, what it waits for. */
export interface Readiness {
  /** Stays true while the node drains: it still serves requests. */
  readonly ready: boolean;
  /** Whether the node is about to exit. */
  readonly isDraining?: boolean;
  /** Steps of the start that are not done, such as `wal replay`. */
  readonly waiting: readonly string[];
  /** Share of the start that is done, 0 to 1. */
  readonly progress: number;
}

/** A start takes about a second: requests that come shortly before its end are not refused. */
const READY_WAIT_MS = 2_000;
const READY_POLL_MS = 20;
/** More waiting requests would use up the limit of requests, for those too that need no data. */
const WAITING_REQUESTS_MAX = 128;

/** Lets requests for data pass once the node is ready. */
export class ReadyGate {
  readonly #readiness: () => Readiness;
  readonly #clock: Clock;
  #isDraining = false;
  #waitingCount = 0;

  constructor(readiness: () => Readiness, clock: Clock) {
    this.#readiness = readiness;
    this.#clock = clock;
  }

  get readiness(): Readiness {
    return this.#readiness();
  }

  /** Whether the process is about to exit: every response closes its connection. */
  get isDraining(): boolean {
    return this.#isDraining || this.readiness.isDraining === true;
  }

  drain(): void {
    this.#isDraining = true;
  }

  /** Resolves when the node is ready; waits up to two seconds. @throws `region_not_ready` afterwards. */
  async check(call: Call): Promise<void> {
    if (this.#isServing) return;
    if (this.#waitingCount < WAITING_REQUESTS_MAX) {
      this.#waitingCount++;
      await this.#wait(call).finally(() => this.#waitingCount--);
    }
    if (!this.#isServing) throw starting(this.readiness);
  }

  get #isServing(): boolean {
    return this.#isDraining || this.readiness.ready;
  }

  async #wait(call: Call): Promise<void> {
    const clock = this.#clock;
    const untilMs = Math.min(call.deadlineMs, clock.nowMs() + READY_WAIT_MS);
    while (!this.#isServing && clock.nowMs() < untilMs) {
      await clock.sleep(READY_POLL_MS, call.signal);
      checkCall(call);
    }
  }
}

function starting({ waiting }: Readiness): AlmanacError {
  const text = `the server is starting${waiting.length === 0 ? '' : `, waiting for ${waiting.join(', ')}`}`;
  return new AlmanacError('region_not_ready', text, { retryAfterSeconds: 1 });
}
