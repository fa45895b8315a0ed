import { systemClock, type Clock } from '#shared/clock/clock';

const LOOK_MS = 10;

/** Real time, but by each look much later: all work in slices is due for a turn whenever it looks. */
export class HurriedClock implements Clock {
  yields = 0;
  /** Called at each turn. */
  onYield: () => void = () => undefined;
  #nowMs = 0;

  nowMs(): number {
    return systemClock.nowMs();
  }

  nowNs(): bigint {
    return systemClock.nowNs();
  }

  monotonicMs(): number {
    return (this.#nowMs += LOOK_MS);
  }

  after(delayMs: number, run: () => void): { cancel(): void } {
    return systemClock.after(delayMs, run);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(delayMs, signal);
  }

  async yield(): Promise<void> {
    this.yields++;
    this.onYield();
    await systemClock.yield();
  }
}
