import type { Call } from '#shared/contracts/call';
import type { QueryConnection, ResultSet } from '#shared/duckdb/query-connection';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';

import type { BindRequest } from '../../snapshot/binding.js';
import type { Snapshot, Snapshots } from '../../snapshot/snapshots.js';

/** A query that runs over the state of the last read, while newer rows are requested from the owners. */
export interface EarlyRun {
  readonly guess: Snapshot;
  readonly result: Promise<ResultSet>;
  /** Cancels the run and releases its snapshot, which turned out to be outdated. */
  end(): Promise<void>;
}

/** A query that may begin early. */
export interface EarlyQuery {
  readonly snapshots: Snapshots;
  readonly requests: readonly BindRequest[];
  readonly connection: QueryConnection;
  readonly call: Call;
  readonly sqlOf: (snapshot: Snapshot) => Promise<string>;
}

/** Starts a query if its tables were quiet at their last read: a scan of the owners takes as long as a small query. */
export async function beginEarly(query: EarlyQuery): Promise<EarlyRun | undefined> {
  const { snapshots, requests, connection, call, sqlOf } = query;
  const guess = requests.length === 0 ? undefined : await snapshots.guess(requests, call);
  if (guess === undefined) return undefined;
  const own = new AbortController();
  const giveUp = (): void => own.abort(call.signal.reason);
  if (call.signal.aborted) giveUp();
  call.signal.addEventListener('abort', giveUp, { once: true });
  const run = async (): Promise<ResultSet> => {
    try {
      return await connection.run(await sqlOf(guess), own.signal);
    } finally {
      call.signal.removeEventListener('abort', giveUp);
    }
  };
  const result = run();
  // Whether its failure matters is only known later.
  result.catch(() => undefined);
  return {
    guess,
    result,
    async end() {
      own.abort();
      await result.catch(() => undefined);
      guess.release();
    },
  };
}

/** Wraps a slot so that it is released only once the early run has ended, because that uses it. */
export function slotAfter(early: EarlyRun | undefined, slot: AdmissionSlot): AdmissionSlot {
  if (early === undefined) return slot;
  return {
    async releaseWhile(work) {
      const working = work();
      await Promise.race([working, early.result.catch(() => undefined)]);
      return slot.releaseWhile(() => working);
    },
  };
}

/** Waits for the real snapshot; the early run continues only if both are equal. */
export async function takenAfter(early: EarlyRun | undefined, taking: Promise<Snapshot>): Promise<Snapshot> {
  let snapshot: Snapshot | undefined;
  try {
    snapshot = await taking;
    return snapshot;
  } finally {
    if (early !== undefined && snapshot !== early.guess) await early.end();
  }
}
