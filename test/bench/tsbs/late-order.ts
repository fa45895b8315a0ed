import { SeededRandom } from './seeded-random.js';

export interface Lateness {
  /** Fraction of rows that are late. */
  readonly late: number;
  /** Share of rows that come once more, of 1. */
  readonly repeated: number;
  /** Number of rows by which a row is late, one of these. */
  readonly delays: readonly number[];
  readonly seed: number;
}

/**
 * The order in which rows `[0, rows)` come if some are late and some come twice: numbers of rows. The second of two is
 * late. All that is late at the end comes then, in order.
 */
export function lateOrder(rows: number, { late, repeated, delays, seed }: Lateness): Uint32Array {
  const random = new SeededRandom(seed);
  const due = new Map<number, number[]>();
  const order: number[] = [];
  const delay = (row: number): void => {
    const at = Math.min(rows, row + random.pick(delays));
    const others = due.get(at);
    if (others === undefined) due.set(at, [row]);
    else others.push(row);
  };
  for (let row = 0; row < rows; row++) {
    order.push(...(due.get(row) ?? []));
    due.delete(row);
    if (random.fraction() < late) delay(row);
    else order.push(row);
    if (random.fraction() < repeated) delay(row);
  }
  const rest = (due.get(rows) ?? []).sort((a, b) => a - b);
  return Uint32Array.from([...order, ...rest]);
}
