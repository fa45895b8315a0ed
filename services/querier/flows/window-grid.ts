import { UNIT_NS, type TimeUnit } from '#shared/schema/data-type';

import type { FlowWindow } from '../sql/flow/window.js';
import { floorDivide } from '../sql/syntax/literals.js';

/** Consecutive windows: the numbers of the first and the last one. */
export interface WindowRun {
  readonly first: bigint;
  readonly last: bigint;
}

const MONTHS_PER_YEAR = 12n;
const NS_PER_MS = 1_000_000n;
/** Greatest distance from 1970 that a `Date` can represent, in milliseconds. */
const DATE_MS_MAX = 8_640_000_000_000_000n;

/** The windows of a time index, numbered in order. Times are values of the index, in its unit. */
export class WindowGrid {
  readonly #window: FlowWindow;
  readonly #unit: TimeUnit;

  constructor(window: FlowWindow, unit: TimeUnit) {
    this.#window = window;
    this.#unit = unit;
  }

  /** Returns SQL of the number of the window in which a time is. @param time SQL of a timestamp column. */
  numberSql(time: string): string {
    if (this.#window.kind === 'months') {
      const months = `(extract('year' FROM ${time}) * 12 + extract('month' FROM ${time}) - 1)`;
      return `floor(${months} / ${this.#window.months})::BIGINT`;
    }
    // The engine has no count of seconds that is an integer.
    const unit = this.#unit === 's' ? 'ms' : this.#unit;
    const step = this.#window.stepNs / UNIT_NS[unit];
    const since = `(epoch_${unit}(${time}) - ${this.#window.originNs / UNIT_NS[unit]})`;
    return `((${since} - ((${since} % ${step}) + ${step}) % ${step}) // ${step})::BIGINT`;
  }

  /** Returns the number of the window in which a time is. */
  numberOf(time: bigint): bigint {
    const ns = time * UNIT_NS[this.#unit];
    if (this.#window.kind === 'fixed') return floorDivide(ns - this.#window.originNs, this.#window.stepNs);
    const date = new Date(Number(clamped(floorDivide(ns, NS_PER_MS))));
    const months = BigInt(date.getUTCFullYear()) * MONTHS_PER_YEAR + BigInt(date.getUTCMonth());
    return floorDivide(months, BigInt(this.#window.months));
  }

  /** Returns how many windows fit into a duration. */
  countWithin(durationNs: bigint): bigint {
    return this.#window.kind === 'fixed' ? durationNs / this.#window.stepNs : 0n;
  }

  /** Returns the first time of a window. */
  startOf(number: bigint): bigint {
    const unitNs = UNIT_NS[this.#unit];
    if (this.#window.kind === 'fixed') return (this.#window.originNs + number * this.#window.stepNs) / unitNs;
    const months = number * BigInt(this.#window.months);
    const year = floorDivide(months, MONTHS_PER_YEAR);
    const date = new Date(0);
    date.setUTCFullYear(Number(year), Number(months - year * MONTHS_PER_YEAR), 1);
    return (BigInt(date.getTime()) * NS_PER_MS) / unitNs;
  }
}

function clamped(ms: bigint): bigint {
  if (ms > DATE_MS_MAX) return DATE_MS_MAX;
  return ms < -DATE_MS_MAX ? -DATE_MS_MAX : ms;
}

/**
 * Joins runs with at most `gap` windows between them; beyond a number of runs also those that are nearest to each other.
 * Returns them in order.
 */
export function joinRuns(runs: readonly WindowRun[], max: number, gap = 0n): WindowRun[] {
  const sorted = [...runs].sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
  const joined = joinWithin(sorted, gap + 1n);
  if (joined.length <= max) return joined;
  const gaps = joined.slice(1).map(({ first }, i) => first - joined[i].last);
  const widest = [...gaps].sort((a, b) => (a < b ? 1 : a > b ? -1 : 0));
  return joinWithin(joined, widest[max - 1]);
}

/** @param distance between the last window of a run and the first of the next at which they become one. */
function joinWithin(sorted: readonly WindowRun[], distance: bigint): WindowRun[] {
  const joined: { first: bigint; last: bigint }[] = [];
  for (const { first, last } of sorted) {
    const before = joined.at(-1);
    if (before === undefined || first - before.last > distance) joined.push({ first, last });
    else if (last > before.last) before.last = last;
  }
  return joined;
}

/**
 * Puts runs into groups.
 *
 * @param runs in order.
 * @param gap number of windows that may be between two runs of a group.
 * @param factor how many times as many windows as in its runs a group may reach over.
 */
export function groupRuns(runs: readonly WindowRun[], gap: bigint, factor: bigint): WindowRun[][] {
  const groups: WindowRun[][] = [];
  let count = 0n;
  for (const run of runs) {
    const group = groups.at(-1);
    const length = run.last - run.first + 1n;
    if (group !== undefined && run.first - group[group.length - 1].last - 1n <= gap) {
      if (run.last - group[0].first + 1n <= factor * (count + length)) {
        group.push(run);
        count += length;
        continue;
      }
    }
    groups.push([run]);
    count = length;
  }
  return groups;
}
