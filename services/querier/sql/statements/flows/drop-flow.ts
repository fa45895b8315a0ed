import { requireAccess } from '#shared/contracts/rights';

import { withCatalogName } from '../../flow/text.js';
import { command, type StatementKind } from '../../statement.js';

/** `DROP FLOW [IF EXISTS] f`; the sink stays. */
export const dropFlowStatement: StatementKind = {
  name: 'DROP FLOW',

  matches: (cursor) => cursor.sees('DROP', 'FLOW'),

  parse(cursor) {
    cursor.expect('DROP', 'FLOW');
    const ifExists = cursor.accept('IF', 'EXISTS');
    const { name } = cursor.objectName('flow name');
    cursor.expectEnd();
    return command(async ({ deps, call }) => {
      const { flows } = await deps.metadata.listFlows({}, call);
      const flow = flows.find(({ spec }) => spec?.name === name);
      if (flow?.spec !== undefined) requireAccess(call, 'write', flow.spec.sinkDatabase);
      await withCatalogName(deps.names.systemSource().catalogName, () => {
        return deps.metadata.dropFlow({ name, ifExists }, call);
      });
      deps.flows.wake();
      return 0;
    });
  },
};
