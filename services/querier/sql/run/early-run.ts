import type { Call } from '#shared/contracts/call';
import type { QueryConnection, ResultSet } from '#shared/duckdb/query-connection';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';

import type { BindRequest, Snapshot, Snapshots } from '../../snapshot/binding.js';

/** A query that runs over what its tables were at the last read, while their owners are asked what is new. */
export interface EarlyRun {
  readonly guess: Snapshot;
  readonly result: Promise<ResultSet>;
  /** Ends it and lets go of the guess, which was wrong. */
  end(): Promise<void>;
}

export interface EarlyQuery {
  readonly snapshots: Snapshots;
  readonly requests: readonly BindRequest[];
  readonly connection: QueryConnection;
  readonly call: Call;
  readonly sqlOf: (snapshot: Snapshot) => string;
}

/** Begins a query, if its tables were quiet at their last read: asking the owners takes as long as a small query. */
export async function beginEarly(query: EarlyQuery): Promise<EarlyRun | undefined> {
  const { snapshots, requests, connection, call, sqlOf } = query;
  const guess = requests.length === 0 ? undefined : await snapshots.guess(requests);
  if (guess === undefined) return undefined;
  const own = new AbortController();
  const giveUp = (): void => own.abort(call.signal.reason);
  if (call.signal.aborted) giveUp();
  call.signal.addEventListener('abort', giveUp, { once: true });
  const run = async (): Promise<ResultSet> => {
    try {
      return await connection.run(sqlOf(guess), own.signal);
    } finally {
      call.signal.removeEventListener('abort', giveUp);
    }
  };
  const result = run();
  // Whether its failure counts is known later.
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

/** The slot, given away only once what runs early has ended: that is what it is for. */
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

/** The snapshot that is being taken; what runs early goes on only if that has proved right. */
export async function takenAfter(early: EarlyRun | undefined, taking: Promise<Snapshot>): Promise<Snapshot> {
  let snapshot: Snapshot | undefined;
  try {
    snapshot = await taking;
    return snapshot;
  } finally {
    if (early !== undefined && snapshot !== early.guess) await early.end();
  }
}
