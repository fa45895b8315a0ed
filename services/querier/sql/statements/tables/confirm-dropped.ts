import { checkCall, type Call } from '#shared/contracts/call';
import type { RegionInfo } from '#shared/contracts/gen/common';
import type { DroppedTable } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { RefusedError } from '#shared/grpc/status';

import type { StatementDeps } from '../../run/statement.js';

/** Longest wait for owners; longer than a lease, after which one that died without a word counts as gone. */
const CONFIRM_MS_MAX = 15_000;
/** Longest wait for one answer, so that a message that got lost is sent again. */
const ANSWER_MS_MAX = 2_000;
/** What is left of the call's time to tell who has not confirmed. */
const LAST_WORD_MS = 200;
const REST_MS = 50;
const REST_MS_MAX = 500;
/** A connection may tell of a refusal that is as old as its rest between two attempts, up to 2.4 s; then the node may be back. */
const REFUSED_MS = 3_000;

type ConfirmDeps = Pick<StatementDeps, 'catalog' | 'ingesters' | 'clock'>;

/** The present grants of tables when they were dropped, by node. */
interface Owned {
  readonly region: RegionInfo;
  readonly tableIds: number[];
}

/**
 * Ends a DROP: resolves when no owner acknowledges batches into the tables any more.
 *
 * Only those who owned the regions when metadata dropped them have to be asked: nothing is granted after that, and a
 * process that starts later does not find the tables. The catalog must be as new as the drop before nodes are called:
 * then whoever answers at a node's address is the node, or the node's life there is over. One that refuses connections
 * has ended as well. One that does not answer and counts as gone is passed over.
 *
 * @param version of the catalog after the drop.
 * @returns the nodes that were passed over.
 * @throws `external` if a node that counts as alive does not confirm in time: the tables are gone all the same.
 */
export async function confirmDropped(
  deps: ConfirmDeps,
  tables: readonly DroppedTable[],
  version: bigint,
  call: Call,
): Promise<number[]> {
  await deps.catalog.reached(version, call);
  const nowMs = deps.clock.nowMs();
  const untilMs = Math.min(nowMs + CONFIRM_MS_MAX, call.deadlineMs - LAST_WORD_MS);
  const outcomes = await Promise.all(
    [...byOwner(tables)].map(async ([nodeId, owned]) => ({ nodeId, outcome: await ask(deps, owned, untilMs, call) })),
  );
  const silent = outcomes.filter(({ outcome }) => outcome === 'silent').map(({ nodeId }) => nodeId);
  if (silent.length > 0) throw notConfirmed(tables, silent);
  return outcomes.filter(({ outcome }) => outcome === 'away').map(({ nodeId }) => nodeId);
}

function byOwner(tables: readonly DroppedTable[]): Map<number, Owned> {
  const owners = new Map<number, Owned>();
  for (const { tableId, regions } of tables) {
    for (const region of regions) {
      if (region.nodeId === 0) continue;
      const owned = owners.get(region.nodeId) ?? { region, tableIds: [] };
      owners.set(region.nodeId, owned);
      if (owned.tableIds.at(-1) !== tableId) owned.tableIds.push(tableId);
    }
  }
  return owners;
}

/** Asks one owner until it is known what became of it. */
async function ask(
  { ingesters, clock }: ConfirmDeps,
  { region, tableIds }: Owned,
  untilMs: number,
  call: Call,
): Promise<'confirmed' | 'ended' | 'away' | 'silent'> {
  let refusedSinceMs = Infinity;
  for (let restMs = REST_MS; ; restMs = Math.min(2 * restMs, REST_MS_MAX)) {
    const deadlineMs = Math.min(clock.nowMs() + ANSWER_MS_MAX, untilMs);
    try {
      await ingesters.ownerOf(region).dropTables({ tableIds }, { ...call, deadlineMs });
      return 'confirmed';
    } catch (error) {
      checkCall(call);
      const isAway = ingesters.isAway(region.nodeId);
      const isRefused = error instanceof RefusedError;
      refusedSinceMs = isRefused ? Math.min(refusedSinceMs, clock.nowMs()) : Infinity;
      if (isRefused && (isAway || clock.nowMs() - refusedSinceMs >= REFUSED_MS)) return 'ended';
      if (isAway) return 'away';
      if (!AlmanacError.from(error).retry) return 'silent';
    }
    if (clock.nowMs() + restMs >= untilMs) return 'silent';
    await clock.sleep(restMs, call.signal);
  }
}

function notConfirmed(tables: readonly DroppedTable[], nodeIds: readonly number[]): AlmanacError {
  const nodes = `${nodeIds.length === 1 ? 'node' : 'nodes'} ${nodeIds.join(', ')}`;
  const what = tables.length === 1 ? `table "${tables[0].name}" was` : `${tables.length} tables were`;
  const text = `${what} dropped, but ${nodes} did not confirm it in time: rows that are written soon may go the same way`;
  return new AlmanacError('external', text);
}
