import { SeededRandom } from '#test/bench/tsbs/seeded-random';

/** Owner of an event: if it is dead, the event does not happen; if it is paused, it happens later. */
export interface Owner {
  readonly isDead: boolean;
  /** End of its pause; 0 if it runs. */
  readonly pausedUntilMs: number;
}

/** A scheduled event. */
export interface Entry {
  cancel(): void;
}

interface Event {
  atMs: number;
  order: number;
  readonly owner: Owner | undefined;
  run: (() => void) | undefined;
}

/**
 * Virtual time: it jumps from event to event, but only after everything that an event caused has settled, including
 * work of the engine.
 */
export class Scheduler {
  readonly random: SeededRandom;
  readonly #heap: Event[] = [];
  #nowMs = 0;
  #order = 0;
  #real = 0;
  #rested: (() => void) | undefined;
  #failure: Error | undefined;
  readonly #trace: string[] = [];

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
  }

  /** Virtual milliseconds since the start of the simulation, with fractions. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** The first failure. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  get trace(): readonly string[] {
    return this.#trace;
  }

  fail(error: Error): void {
    this.#failure ??= error;
  }

  /** Adds a line to the trace. */
  note(text: string): void {
    this.#trace.push(`${this.#nowMs.toFixed(1).padStart(9)} ${text}`);
  }

  after(delayMs: number, owner: Owner | undefined, run: () => void): Entry {
    const event: Event = { atMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, owner, run };
    this.#push(event);
    return { cancel: () => (event.run = undefined) };
  }

  /** Resolves after a time; never if its owner dies before. */
  pass(delayMs: number, owner?: Owner): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, owner, resolve));
  }

  /**
   * Lets the engine work, which takes real time. The result arrives as an event after a virtual time of its own, so
   * that event order does not depend on the machine.
   */
  work<T>(owner: Owner | undefined, real: Promise<T>): Promise<T> {
    this.#real++;
    const ended = (): void => {
      this.#real--;
      if (this.#real === 0) this.#rested?.();
    };
    real.then(ended, ended);
    const delayMs = this.random.fraction() ** 4 * 20;
    return new Promise((resolve) => this.after(delayMs, owner, () => resolve(real)));
  }

  /** Runs events in their order until `isOver` returns true after one of them, time is over, or something failed. */
  async run(isOver: () => boolean, untilMs: number): Promise<void> {
    while (this.#failure === undefined && !isOver()) {
      const event = this.#pop();
      if (event === undefined || event.atMs > untilMs) {
        if (event !== undefined) this.#push(event);
        this.#nowMs = untilMs;
        return;
      }
      this.#nowMs = event.atMs;
      if (event.run === undefined || event.owner?.isDead === true) continue;
      const resumeMs = event.owner?.pausedUntilMs ?? 0;
      if (resumeMs > this.#nowMs) {
        event.atMs = resumeMs;
        this.#push(event);
        continue;
      }
      event.run();
      await this.#rest();
    }
  }

  /** Resolves when everything has settled. */
  async #rest(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#real === 0) return;
      await new Promise<void>((resolve) => (this.#rested = resolve));
      this.#rested = undefined;
    }
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent])) break;
      heap[at] = heap[parent];
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const first = heap.at(0);
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++;
      if (!isBefore(heap[child], last)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs === b.atMs ? a.order < b.order : a.atMs < b.atMs;
}
