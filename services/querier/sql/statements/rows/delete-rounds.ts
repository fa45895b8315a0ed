import { AlmanacError } from '#shared/errors/almanac-error';
import type { Deleted } from '#shared/write/row-sink';

/** Rounds one after the other in which nothing was deleted. */
const VAIN_ROUNDS_MAX = 20;
const REST_MS = 20;

/** One reading of the rows that are to be deleted, and their deletion. */
export interface DeleteRound extends Deleted {
  /** Whether the condition is true or false of a row whatever other rows there are, also when some were deleted. */
  readonly isOfRowsAlone: boolean;
}

/**
 * Deletes until no row of a round was written anew while it was read.
 *
 * @param rest waits for so many milliseconds.
 * @returns how many rows were deleted.
 * @throws `region_busy` if rows are written all the while, or some were deleted and the condition would mean others now.
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
      const text = `rows are written or flushed while they are deleted; ${rowCount} were deleted`;
      throw new AlmanacError('region_busy', text, { retryAfterSeconds: 1 });
    }
    await rest(REST_MS * (vainRounds + 1));
  }
}
