import { checkCall, type Call } from '#shared/contracts/call';
import type { RegionInfo } from '#shared/contracts/gen/common';
import type { DroppedTable } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { RefusedError } from '#shared/grpc/call-errors';

import type { StatementDeps } from '../../statement.js';

/** Longest wait for owners; longer than a lease, after which a dead node counts as gone. */
const CONFIRM_MS_MAX = 15_000;
/** Longest wait for one reply, so that a lost message is sent again. */
const ANSWER_MS_MAX = 2_000;
/** Part of the call's time that is reserved for naming the nodes that did not confirm. */
const LAST_WORD_MS = 200;
const REST_MS = 50;
const REST_MS_MAX = 500;
/** A connection may report a refusal as old as its pause between attempts, up to 2.4 s; the node may be back since. */
const REFUSED_MS = 3_000;

type ConfirmDeps = Pick<StatementDeps, 'catalog' | 'ingesters' | 'clock'>;

/** The grants of tables at the time when they were dropped, by node. */
interface Owned {
  readonly region: RegionInfo;
  readonly tableIds: number[];
}

/**
 * Completes a DROP: resolves when no owner acknowledges batches into the tables any more.
 *
 * Only the owners at the time of the drop need to confirm: nothing is granted afterwards, and a process that starts later does
 * not find the tables. The catalog must be as new as the drop before nodes are called: then the process at a node's address is
 * the node, or the node has ended. One that refuses connections has ended as well. One that does not reply and counts as gone
 * is skipped.
 *
 * @param version of the catalog after the drop.
 * @returns the nodes that were skipped.
 * @throws `external` if a live node does not confirm in time: the tables are dropped all the same.
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

/** Calls one owner until its outcome is known. */
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
  const text = `${what} dropped, but ${nodes} did not confirm it in time: rows that are written soon may be dropped too`;
  return new AlmanacError('external', text);
}
