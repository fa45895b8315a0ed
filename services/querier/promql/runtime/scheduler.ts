import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';

/** A computation that is divided into units: it pauses after each, and returns its result at the end. */
export type Units<T> = Generator<void, T, void>;

/** Work of a unit, in units of reading one float: some tenths of a millisecond. */
export const UNIT_WORK = 1 << 14;

/**
 * Decides between the units of a query whether to yield to the event loop. Units are synchronous and take some milliseconds
 * at most; functions that loop over units are the only asynchronous ones of an evaluation.
 */
export class Scheduler {
  readonly #slices: Slices;
  readonly #check: () => void;
  #isDue = false;

  /** @param check is called after each yield; an error that it throws ends the query. */
  constructor(clock: Clock, check: () => void) {
    this.#slices = new Slices(clock);
    this.#check = check;
  }

  /** Whether the query has computed long enough to await `yield` before its next unit. */
  get isDue(): boolean {
    return this.#isDue;
  }

  /** Counts work, in units of reading one float. */
  spend(work: number): void {
    if (this.#slices.isOver(work)) this.#isDue = true;
  }

  /** Counts work and returns whether to await `yield`. */
  isOver(work: number): boolean {
    this.spend(work);
    return this.#isDue;
  }

  /** Yields to the event loop. @throws if the query must end. */
  async yield(): Promise<void> {
    await this.#slices.yield();
    this.#isDue = false;
    this.#check();
  }

  /** Runs one unit for each item. @param work of each item besides what `run` counts itself. */
  async each<T>(items: Iterable<T>, work: number, run: (item: T) => void): Promise<void> {
    for (const item of items) {
      if (this.#isDue) await this.yield();
      run(item);
      this.spend(work);
    }
  }

  /** Runs units of consecutive items `[from, to)`. @param work of each item. */
  async ranges(count: number, work: number, run: (from: number, to: number) => void): Promise<void> {
    const most = Math.max(1, Math.floor(UNIT_WORK / work));
    for (let from = 0; from < count; from += most) {
      if (this.#isDue) await this.yield();
      const to = Math.min(count, from + most);
      run(from, to);
      this.spend((to - from) * work);
    }
  }

  /** Runs a computation to its end. */
  async finish<T>(units: Units<T>): Promise<T> {
    for (;;) {
      if (this.#isDue) await this.yield();
      const next = units.next();
      if (next.done === true) return next.value;
    }
  }
}

/** Divides a loop over items into units. @param run processes the items `[from, to)`. @param work of each item. */
export function* inUnits(
  count: number,
  limits: { spend(work: number): void },
  run: (from: number, to: number) => void,
  work = 1,
): Units<void> {
  const most = Math.max(1, Math.floor(UNIT_WORK / work));
  for (let from = 0; from < count; from += most) {
    const to = Math.min(count, from + most);
    run(from, to);
    limits.spend((to - from) * work);
    yield;
  }
}
