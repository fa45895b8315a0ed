import { AlmanacError } from '#shared/errors/almanac-error';

import { Cursor } from '../cursor.js';
import { atAllOwners } from '../owners.js';
import { lex } from '../lex.js';
import { outputTable } from '../table-output.js';
import type { StatementContext, StatementKind } from './statement.js';

/** `ADMIN flush_table('t')`: one row, one column named like the statement. */
export const admin: StatementKind = {
  name: 'ADMIN',

  matches: (cursor) => cursor.sees('ADMIN'),

  parse(cursor) {
    const text = cursor.tokens.source.slice(cursor.tokens.start(cursor.from), cursor.tokens.end(cursor.to - 1));
    cursor.expect('ADMIN');
    const name = cursor.name('function name').toLowerCase();
    const run = FUNCTIONS.get(name);
    if (run === undefined)
      throw new AlmanacError('invalid_arguments', `Admin function not found: ${name.slice(0, 60)}`);
    const args = parseArguments(cursor);
    return {
      isQuery: false,
      async *run(context) {
        const value = await run(args, context);
        yield* outputTable(context, { columns: [{ name: text, type: 'Int64' }], rows: [[value]] });
      },
    };
  },
};

function parseArguments(cursor: Cursor): string[] {
  const args: string[] = [];
  cursor.expectSymbol('(');
  while (!cursor.acceptSymbol(')')) {
    args.push(cursor.text('argument', true));
    if (!cursor.acceptSymbol(',') && !cursor.seesSymbol(')')) throw cursor.unexpected(', or )');
  }
  cursor.expectEnd();
  return args;
}

type AdminFunction = (args: readonly string[], context: StatementContext) => Promise<number>;

const FUNCTIONS: ReadonlyMap<string, AdminFunction> = new Map([['flush_table', flushTable]]);

/** Makes all rows that were acknowledged before the statement durable as segments. */
async function flushTable(args: readonly string[], { deps, session, call }: StatementContext): Promise<number> {
  if (args.length !== 1)
    throw new AlmanacError('invalid_arguments', `flush_table takes 1 argument, the table, got ${args.length}`);
  const tokens = lex(args[0]);
  const cursor = new Cursor(tokens, 0, tokens.count);
  const { catalog, schema, name } = cursor.objectName('table name');
  cursor.expectEnd();
  const table = await deps.names.get(deps.names.databaseOf(catalog, schema, session.database), name, call);
  await atAllOwners(deps, table, call, (owner, regionIds) => {
    return owner.flushTable({ tableId: table.tableId, regionIds }, call);
  });
  return 0;
}
