import { refuseReadOnly } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';

import { processId } from '../../run/process-directory.js';
import { command, type StatementContext, type StatementKind } from '../statement.js';

/**
 * `KILL 'address/number'`, `KILL 'ID of a query'` and `KILL [QUERY] number`: ends what runs in any querier with the code
 * 1005.
 */
export const kill: StatementKind = {
  name: 'KILL',

  matches: (cursor) => cursor.sees('KILL'),

  parse(cursor) {
    cursor.expect('KILL');
    const isNumber = cursor.accept('QUERY') || cursor.seesInteger();
    const id = isNumber ? String(cursor.integer('the number of a process')) : cursor.text('the id of a process');
    cursor.expectEnd();
    return command(async (context) => {
      refuseReadOnly(context.call);
      if (!(await end(context, id, isNumber))) {
        throw new AlmanacError('invalid_arguments', `Invalid process id: ${id.slice(0, 200)}`);
      }
      return 1;
    });
  },
};

/** @returns whether there was such a process, as far as the caller may see it. */
async function end({ deps, call }: StatementContext, id: string, isNumber: boolean): Promise<boolean> {
  const number = Number(/^(?:.*\/)?(\d{1,15})$/s.exec(id)?.[1] ?? NaN);
  if (isNumber) return Number.isSafeInteger(number) && number > 0 && deps.processes.kill(number, call);
  const isProcess =
    Number.isSafeInteger(number) && (await deps.processes.list(call)).some((process) => processId(process) === id);
  if (isProcess) return deps.processes.kill(number, call);
  return id !== '' && id !== call.requestId && deps.processes.killQuery(id, call);
}
