import type { Call } from '#shared/contracts/call';
import type { PromText, QuerierService, SqlParseRequest } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';
import { resultFormatNamed } from '#shared/formats/registry';
import { UNCOUNTED_SLOT } from '#shared/limits/bounded-queue';
import { parseZone } from '#shared/time/zone';

import { formatSql } from '../sql/layout/format-sql.js';
import type { StatementContext, StatementDeps } from '../sql/statement.js';
import type { ParsedStatement } from '../sql/statements/registry.js';
import type { Cursor } from '../sql/syntax/cursor.js';
import { lexSql } from '../sql/syntax/lex.js';
import { namesInQuery } from '../sql/syntax/query-names.js';
import { splitStatements } from '../sql/syntax/split.js';
import { withPosition } from '../sql/syntax/text-place.js';
import { numbered, parseSqlText } from './sql.js';

/** Longer texts are refused: they are laid out at once, and what checks them holds no admission slot. */
const TEXT_CHARS_MAX = 256 * 1024;
/** Kinds whose name is not that of the documentation. */
const KINDS: Readonly<Record<string, string>> = {
  SELECT: 'Query',
  DESCRIBE: 'DescribeTable',
  SET: 'SetVariables',
  TRUNCATE: 'TruncateTable',
  'COMMENT ON': 'Comment',
  'COPY TO': 'Copy',
  'COPY FROM': 'Copy',
  'COPY DATABASE TO': 'Copy',
  'COPY DATABASE FROM': 'Copy',
};

/** Implements Querier.SqlParse: checks statements without running them, and returns their kinds, or lays them out. */
export function sqlParse(deps: StatementDeps): QuerierService['sqlParse'] {
  return async function* (request, call) {
    try {
      yield await reply(request, call, deps);
    } catch (error) {
      throw withPosition(error, request.sql);
    }
  };
}

async function reply({ sql, database, kind }: SqlParseRequest, call: Call, deps: StatementDeps): Promise<PromText> {
  if (sql.length > TEXT_CHARS_MAX) {
    const text = `SQL text is ${sql.length} characters long, the limit is ${TEXT_CHARS_MAX}`;
    throw new AlmanacError('invalid_arguments', text);
  }
  const statements = parseSqlText(sql);
  const context = contextOf(database, call, deps);
  for (const [i, { statement }] of statements.entries()) {
    await numbered(i, async () => statement.check?.(context));
  }
  const value = kind === 'format' ? formatSql(sql) : await trees(statements, splitStatements(lexSql(sql)), deps);
  return { text: Buffer.from(JSON.stringify(value)) };
}

function contextOf(database: string, call: Call, deps: StatementDeps): StatementContext {
  return {
    deps,
    session: { database: database === '' ? 'public' : database, zone: parseZone('') },
    call,
    slot: UNCOUNTED_SLOT,
    format: resultFormatNamed(''),
    limit: undefined,
    nowNs: deps.clock.nowNs(),
  };
}

/** Returns an object for each statement, whose only key is its kind. */
async function trees(
  statements: readonly ParsedStatement[],
  cursors: readonly Cursor[],
  { connections, planner }: StatementDeps,
): Promise<unknown[]> {
  const all: unknown[] = [];
  for (const [i, { name }] of statements.entries()) {
    const kind = KINDS[name] ?? pascalCase(name);
    const query = cursors[i];
    const names =
      name === 'SELECT' ? namesInQuery(await connections.use((connection) => planner.tree(query, connection))) : {};
    all.push({ [kind]: { kind, ...names } });
  }
  return all;
}

/** `CREATE TABLE` becomes `CreateTable`. */
function pascalCase(name: string): string {
  return name.replaceAll(/(\w)(\w*) ?/g, (_word, first: string, rest: string) => first + rest.toLowerCase());
}
