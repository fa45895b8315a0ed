import { mayAccess } from '#shared/contracts/rights';
import type { FlowSpec } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';

import { createFlowSql, specOf } from '../../flow/text.js';
import { answerQuery } from '../../run/run-query.js';
import { outputTable, parseFilter } from '../../run/table-output.js';
import { lexSql } from '../../syntax/lex.js';
import type { StatementContext, StatementKind } from '../../statement.js';

/** `SHOW FLOWS [FROM|IN db]`: the names of flows, which belong to no database. */
export const showFlows: StatementKind = {
  name: 'SHOW FLOWS',

  matches: (cursor) => cursor.sees('SHOW', 'FLOWS'),

  parse(cursor) {
    cursor.expect('SHOW', 'FLOWS');
    if (cursor.accept('FROM') || cursor.accept('IN')) cursor.name('database name');
    const filter = parseFilter(cursor);
    return {
      isQuery: false,
      async *run(context) {
        const specs = await readableFlows(context);
        const columns = [{ name: 'Flows', type: 'String' as const }];
        yield* outputTable(context, { columns, rows: specs.map(({ name }) => [name]) }, filter);
      },
    };
  },
};

const STATUS =
  'SELECT flow_id, flow_name, start_time, last_execution_time, uptime_seconds, state_size ' +
  'FROM information_schema.flow_statistics ORDER BY flow_name';

/** `SHOW FLOW STATUS`. */
export const showFlowStatus: StatementKind = {
  name: 'SHOW FLOW STATUS',

  matches: (cursor) => cursor.sees('SHOW', 'FLOW', 'STATUS'),

  parse(cursor) {
    cursor.expect('SHOW', 'FLOW', 'STATUS');
    cursor.expectEnd();
    const tokens = lexSql(STATUS);
    return { isQuery: true, run: (context) => answerQuery(context, { tokens, from: 0, to: tokens.count }) };
  },
};

/** `SHOW CREATE FLOW f`. */
export const showCreateFlow: StatementKind = {
  name: 'SHOW CREATE FLOW',

  matches: (cursor) => cursor.sees('SHOW', 'CREATE', 'FLOW'),

  parse(cursor) {
    cursor.expect('SHOW', 'CREATE', 'FLOW');
    const { name } = cursor.objectName('flow name');
    cursor.expectEnd();
    return {
      isQuery: false,
      async *run(context) {
        const spec = (await readableFlows(context)).find((it) => it.name === name);
        if (spec === undefined) {
          const { catalogName } = context.deps.names.systemSource();
          throw new AlmanacError('flow_not_found', `Flow not found: ${catalogName}.${name}`);
        }
        const columns = [
          { name: 'Flow', type: 'String' as const },
          { name: 'Create Flow', type: 'String' as const },
        ];
        yield* outputTable(context, { columns, rows: [[name, createFlowSql(spec)]] });
      },
    };
  },
};

/** Returns the flows whose definition the caller may read, by name. */
async function readableFlows({ deps, call }: StatementContext): Promise<FlowSpec[]> {
  const { flows } = await deps.metadata.listFlows({}, call);
  return flows.map(specOf).filter(({ database }) => mayAccess(call.rights, 'read', database));
}
