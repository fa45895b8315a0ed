import type { Clock } from '#shared/clock/clock';
import type { Membership } from '#shared/discovery/membership';

import type { RunningIngester } from './index.js';

/** Rest between two questions whether a draining node still has regions to give away. */
const REST_MS = 100;

/**
 * Gives all regions to others, as long as there are any that can take them. The rest stays in the log.
 *
 * @param signal ends it, between two rounds; a seal under way ends when the ingester stops.
 */
export async function giveAllAway(
  membership: Pick<Membership, 'reportState'>,
  ingester: Pick<RunningIngester, 'giveAway'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const answer = await membership.reportState('draining');
    if (answer?.hasTakers !== true || answer.regionIds.length === 0) return;
    await ingester.giveAway(answer.regionIds, 0);
    await clock.sleep(REST_MS, signal);
  }
}
