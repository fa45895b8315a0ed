/** Lines of a live tail that are shown in a second; more cannot be read, and drawing them would block the page. */
export const SHOWN_PER_SECOND = 500;

/** Chooses lines of a live tail, evenly over each second, when there are more than can be shown. */
export class TailSampler {
  #secondStartMs = -Infinity;
  #arrived = 0;
  #shown = 0;
  #lastArrived = 0;
  #lastShown = 0;

  /** Lines that arrived in the last whole second. */
  get perSecond(): number {
    return this.#lastArrived;
  }

  /** Whether lines of the last whole second were left out. */
  get isSampling(): boolean {
    return this.#lastShown < this.#lastArrived;
  }

  /** Counts a line that has arrived. @returns whether it is shown. @param nowMs on a clock that never goes backwards. */
  take(nowMs: number): boolean {
    this.advance(nowMs);
    // The rate of the last second says which share of this one can be shown.
    const stride = Math.ceil(this.#lastArrived / SHOWN_PER_SECOND) || 1;
    const isShown = this.#arrived % stride === 0 && this.#shown < SHOWN_PER_SECOND;
    this.#arrived++;
    if (isShown) this.#shown++;
    return isShown;
  }

  /** Begins a new second, when the last one has ended. */
  advance(nowMs: number): void {
    const elapsedMs = nowMs - this.#secondStartMs;
    if (elapsedMs < 1000) return;
    const isNext = elapsedMs < 2000;
    this.#lastArrived = isNext ? this.#arrived : 0;
    this.#lastShown = isNext ? this.#shown : 0;
    this.#secondStartMs = isNext ? this.#secondStartMs + 1000 : nowMs;
    this.#arrived = 0;
    this.#shown = 0;
  }
}
