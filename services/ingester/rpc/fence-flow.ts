import type { FlowOwner } from '#shared/contracts/gen/common';
import type { FenceFlowResponse } from '#shared/contracts/gen/ingester';

import type { Ingester } from '../ingester.js';

/**
 * Ingester.FenceFlow: refuses results of earlier owners of a flow from now on. What was accepted before is visible when it
 * resolves, so that the new owner reads it.
 */
export async function fenceFlow(
  { flowFences, regions }: Pick<Ingester, 'flowFences' | 'regions'>,
  owner: FlowOwner,
): Promise<FenceFlowResponse> {
  flowFences.raise(owner);
  await Promise.allSettled([...regions.open].flatMap(({ pendingBatches }) => [...pendingBatches.values()]));
  return {};
}
