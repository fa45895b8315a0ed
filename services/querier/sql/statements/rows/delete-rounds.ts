import { AlmanacError } from '#shared/errors/almanac-error';
import type { Deleted } from '#shared/write/row-sink';

/** Consecutive rounds without a deletion. */
const VAIN_ROUNDS_MAX = 20;
const REST_MS = 20;

/** Result of one round: rows are read, and then deleted. */
export interface DeleteRound extends Deleted {
  /** Whether the condition depends on nothing but the row itself, so that deletions do not change its value for others. */
  readonly isOfRowsAlone: boolean;
}

/**
 * Deletes in rounds until no row of a round was rewritten while it was read.
 *
 * @param rest waits for the given number of milliseconds.
 * @returns the number of deleted rows.
 * @throws `region_busy` if rows keep being written, or if some were deleted and the condition would now match others.
 */
export async function deleteInRounds(
  round: () => Promise<DeleteRound>,
  rest: (forMs: number) => Promise<void>,
): Promise<number> {
  let rowCount = 0;
  let vainRounds = 0;
  for (;;) {
    const deleted = await round();
    rowCount += deleted.rowCount;
    if (!deleted.isOutrun) return rowCount;
    vainRounds = deleted.rowCount > 0 ? 0 : vainRounds + 1;
    if (vainRounds === VAIN_ROUNDS_MAX || (rowCount > 0 && !deleted.isOfRowsAlone)) {
      const text = `rows are written or flushed while they are deleted; ${rowCount} rows were deleted`;
      throw new AlmanacError('region_busy', text, { retryAfterSeconds: 1 });
    }
    await rest(REST_MS * (vainRounds + 1));
  }
}
