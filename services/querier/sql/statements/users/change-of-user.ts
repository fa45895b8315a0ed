import type { ChangeUserResponse } from '#shared/contracts/gen/metadata';
import { requireEverywhere } from '#shared/contracts/rights';

import { command, type Statement, type StatementContext } from '../../statement.js';

/** Requires an administrator of everything: one of a single database could grant itself the others. */
export function requireUserAdmin({ call }: StatementContext): void {
  requireEverywhere(call, 'admin');
}

/** Creates a statement of administrators that changes a user. */
export function changeOfUser(run: (context: StatementContext) => Promise<ChangeUserResponse>): Statement {
  const statement = command((context) => {
    requireUserAdmin(context);
    return appliedChange(context, run);
  });
  return { ...statement, check: checkUserAdmin };
}

/** Checks the rights of all statements of a request before the first one runs. */
export function checkUserAdmin(context: StatementContext): Promise<void> {
  requireUserAdmin(context);
  return Promise.resolve();
}

/** Makes a change, and waits until this process has it. @returns the number of changed users. */
export async function appliedChange(
  context: StatementContext,
  run: (context: StatementContext) => Promise<ChangeUserResponse>,
): Promise<number> {
  const { changed, catalogVersion } = await run(context);
  await context.deps.catalog.reached(catalogVersion, context.call);
  return changed ? 1 : 0;
}
