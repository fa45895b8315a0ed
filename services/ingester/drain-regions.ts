import type { Clock } from '#shared/clock/clock';
import type { Membership } from '#shared/discovery/membership';

import type { RunningIngester } from './index.js';

/** Rest between two checks for regions that a draining node still has to hand over. */
const REST_MS = 100;

/**
 * Hands all regions over to other nodes, as long as some node can take them. The rows of the rest stay in the log.
 *
 * @param signal ends it between two rounds; a seal in progress ends when the ingester stops.
 */
export async function drainRegions(
  membership: Pick<Membership, 'reportState'>,
  ingester: Pick<RunningIngester, 'handOver'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const answer = await membership.reportState('draining');
    if (answer?.hasTakers !== true || answer.regionIds.length === 0) return;
    await ingester.handOver(answer.regionIds, 0);
    await clock.sleep(REST_MS, signal);
  }
}
