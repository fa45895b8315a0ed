import { checkCall } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { StatementContext } from '../statement.js';
import { withCatalogName } from './text.js';

const FIRST_REST_MS = 10;
const REST_MS_MAX = 100;

/**
 * `flush_flow('f')`: runs a flow over all rows that were acknowledged before the statement.
 *
 * @returns the number of rows that the run wrote to the sink or deleted from it.
 * @throws the error of the run; `flow_not_found`.
 */
export async function flushFlow(args: readonly string[], { deps, call }: StatementContext): Promise<number> {
  if (args.length !== 1) {
    throw new AlmanacError('invalid_arguments', 'flush_flow takes one argument: the name of the flow');
  }
  const { catalogName } = deps.names.systemSource();
  return withCatalogName(catalogName, async () => {
    const { flowId, ticket } = await deps.metadata.requestFlowFlush({ name: args[0] }, call);
    deps.flows.wake();
    for (let restMs = FIRST_REST_MS; ; restMs = Math.min(restMs * 2, REST_MS_MAX)) {
      const flow = await deps.metadata.getFlow({ flowId }, call);
      if (flow.flushDone >= ticket) {
        if (flow.flushError === '') return Number(flow.flushRows);
        throw new AlmanacError('execute_query', `flow "${args[0]}" failed: ${flow.flushError}`);
      }
      await deps.clock.sleep(restMs, call.signal);
      checkCall(call);
    }
  });
}
