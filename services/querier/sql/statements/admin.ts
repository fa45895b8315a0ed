import type { Table } from '#shared/contracts/gen/common';
import { requireEverywhere } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';

import { flushFlow } from '../flow/flush-flow.js';
import { Cursor } from '../syntax/cursor.js';
import { atAllOwners } from '../run/owners.js';
import { lexSql } from '../syntax/lex.js';
import { outputTable } from '../run/table-output.js';
import type { StatementContext, StatementKind } from '../statement.js';

/** `ADMIN flush_table('t')`: returns one row with one column named like the statement. */
export const admin: StatementKind = {
  name: 'ADMIN',

  matches: (cursor) => cursor.sees('ADMIN'),

  parse(cursor) {
    const text = cursor.tokens.source.slice(cursor.tokens.start(cursor.from), cursor.tokens.end(cursor.to - 1));
    cursor.expect('ADMIN');
    const name = cursor.name('function name').toLowerCase();
    const run = FUNCTIONS.get(name);
    if (run === undefined) {
      throw new AlmanacError('invalid_arguments', `Admin function not found: ${name.slice(0, 60)}`);
    }
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
    args.push(cursor.seesInteger() ? String(cursor.integer('argument')) : cursor.text('argument', true));
    if (!cursor.acceptSymbol(',') && !cursor.seesSymbol(')')) throw cursor.unexpected(', or )');
  }
  cursor.expectEnd();
  return args;
}

type AdminFunction = (args: readonly string[], context: StatementContext) => Promise<number>;

const FUNCTIONS: ReadonlyMap<string, AdminFunction> = new Map([
  ['flush_table', flushTable],
  ['compact_table', compactTable],
  ['flush_flow', flushFlow],
  ['abandon_slot', abandonSlot],
  ['move_region', moveRegion],
]);

/** Flushes all rows that were acknowledged before the statement to segments. */
async function flushTable(args: readonly string[], context: StatementContext): Promise<number> {
  const { deps, call } = context;
  const table = await tableOf('flush_table', args, context);
  await atAllOwners(deps, table, call, (owner, regionIds) => {
    return owner.flushTable({ tableId: table.tableId, regionIds }, call);
  });
  return 0;
}

/**
 * Merges the segments of a table as far as possible: at least those that `compact_table('t', strategy, options)` of other
 * products would.
 */
async function compactTable(args: readonly string[], context: StatementContext): Promise<number> {
  const { deps, call } = context;
  const [name, strategy, options] = args;
  if (args.length > 3) {
    throw new AlmanacError('invalid_arguments', `compact_table takes 1 to 3 arguments, got ${args.length}`);
  }
  if (strategy !== undefined) checkCompaction(strategy, options);
  const table = await tableOf('compact_table', args.length === 0 ? [] : [name], context);
  await atAllOwners(deps, table, call, (owner, regionIds) => {
    return owner.compactTable({ tableId: table.tableId, regionIds }, call);
  });
  return 0;
}

const STRATEGIES = ['regular', 'swcs', 'strict_window'];
const COMPACTION_OPTIONS: Readonly<Partial<Record<string, RegExp>>> = {
  window: /^\d{1,12}$/,
  parallelism: /^\d{1,4}$/,
  start_time: /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/,
  end_time: /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/,
};

/** @param options a time window in seconds, or `key=value,..`. @throws `invalid_arguments`. */
function checkCompaction(strategy: string, options = ''): void {
  if (!STRATEGIES.includes(strategy.toLowerCase())) {
    const text = `unknown compaction '${strategy.slice(0, 60)}': use one of ${STRATEGIES.join(', ')}`;
    throw new AlmanacError('invalid_arguments', text);
  }
  if (options === '' || /^\d{1,12}$/.test(options)) return;
  for (const option of options.split(',')) {
    const [key, value = ''] = option.split('=', 2).map((part) => part.trim());
    if (COMPACTION_OPTIONS[key]?.test(value) === true) continue;
    const known = Object.keys(COMPACTION_OPTIONS).join(', ');
    const text = `invalid compaction option '${option.slice(0, 100)}': use key=value with ${known}`;
    throw new AlmanacError('invalid_arguments', text);
  }
}

async function tableOf(
  statement: string,
  args: readonly string[],
  { deps, session, call }: StatementContext,
): Promise<Table> {
  expectCount(statement, args, ['the table']);
  const tokens = lexSql(args[0]);
  const cursor = new Cursor(tokens, 0, tokens.count);
  const { catalog, schema, name } = cursor.objectName('table name');
  cursor.expectEnd();
  return deps.names.get(deps.names.databaseOf(catalog, schema, session.database), name, call, 'write');
}

/** Abandons the log of an ingester that will not return. @returns the number of regions that get another owner. */
async function abandonSlot(args: readonly string[], { deps, call }: StatementContext): Promise<number> {
  expectCount('abandon_slot', args, ['the node id']);
  requireEverywhere(call, 'admin');
  const nodeId = idOf('node id', args[0]);
  const { regionIds } = await deps.metadata.abandonNode({ nodeId }, call);
  return regionIds.length;
}

/** Requests that a region moves to another ingester, which happens soon after. */
async function moveRegion(args: readonly string[], { deps, call }: StatementContext): Promise<number> {
  expectCount('move_region', args, ['the region id', 'the node id']);
  requireEverywhere(call, 'admin');
  const [regionId, toNodeId] = [idOf('region id', args[0]), idOf('node id', args[1])];
  await deps.metadata.moveRegion({ regionId, toNodeId }, call);
  return 0;
}

function expectCount(name: string, args: readonly string[], wanted: readonly string[]): void {
  if (args.length === wanted.length) return;
  const noun = wanted.length === 1 ? 'argument' : 'arguments';
  const text = `${name} takes ${wanted.length} ${noun}, ${wanted.join(' and ')}, got ${args.length}`;
  throw new AlmanacError('invalid_arguments', text);
}

const ID_MAX = 2 ** 32 - 1;

function idOf(what: string, text: string): number {
  const id = /^[0-9]{1,10}$/.test(text) ? Number(text) : 0;
  if (id >= 1 && id <= ID_MAX) return id;
  throw new AlmanacError('invalid_arguments', `${what} "${text.slice(0, 60)}" is not a number from 1 to ${ID_MAX}`);
}
