import type { Call } from '#shared/contracts/call';
import type { QuerierService } from '#shared/contracts/gen/querier';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';

import { databaseOfQuery, DEFAULT_DATABASE } from '../../protocols/common/database.js';
import { INFLUX_HEADERS } from '../../protocols/lineproto/ping.js';
import { repliesV1 } from '../../protocols/lineproto/replies.js';
import type { Handler } from '../../request-context.js';
import { formOf, isForm } from '../prom-form.js';
import { queryRoute, type QueryDeps } from '../query-route.js';
import { sqlTimeoutMs } from '../sql.js';
import { allSqlRows } from '../sql-rows.js';
import { readStatements } from './influxql.js';
import type { InfluxSeries, InfluxSession, InfluxStatement } from './session.js';
import { readStatement } from './statements.js';

/** Dependencies of the routes for clients of InfluxDB. */
export interface InfluxDeps extends QueryDeps {
  readonly catalog: Catalog;
}

/** The result of one statement, in the members of InfluxDB. */
interface InfluxResult {
  readonly statement_id: number;
  readonly messages?: readonly { readonly level: string; readonly text: string }[] | undefined;
  readonly series?: readonly InfluxSeries[] | undefined;
  readonly error?: string;
}

interface InfluxRequest {
  readonly statements: readonly InfluxStatement[];
  readonly database: string;
  readonly isPretty: boolean;
}

/** `GET|POST /query` of InfluxDB 1.x: statements about databases, retention policies and schemas. */
export function influxQueryHandler(deps: InfluxDeps): Handler {
  return queryRoute<InfluxRequest>(
    {
      timeoutMs: sqlTimeoutMs,
      hasBody: isForm,
      parameters(context, body) {
        const form = formOf(context, body).withUrlFirst();
        const query = form.value('q');
        if (query.trim() === '') throw new AlmanacError('invalid_arguments', 'missing required parameter "q"');
        return {
          statements: statementsOf(query),
          database: databaseOfQuery(context, form.value('db')),
          isPretty: form.value('pretty') === 'true',
        };
      },
      async run(request, call, context) {
        const results = await runAll(request, call, { deps, isGet: context.request.method !== 'POST' });
        const text = JSON.stringify({ results }, undefined, request.isPretty ? 4 : undefined);
        const headers = { ...INFLUX_HEADERS, 'content-type': 'application/json', 'request-id': context.requestId };
        return { text: `${text}\n`, headers };
      },
      isTimed: false,
      failure: (context, error) => repliesV1.failure(error, context),
    },
    deps,
  );
}

function statementsOf(query: string): InfluxStatement[] {
  try {
    return readStatements(query, readStatement);
  } catch (thrown) {
    const { code, publicMessage } = AlmanacError.from(thrown);
    throw new AlmanacError(code, `error parsing query: ${publicMessage}`, { cause: thrown });
  }
}

/** Runs statements in order; none after one that fails. @throws errors that are not the statement's. */
async function runAll(
  { statements, database }: InfluxRequest,
  call: Call,
  { deps, isGet }: { readonly deps: InfluxDeps; readonly isGet: boolean },
): Promise<InfluxResult[]> {
  const { catalog, querier } = deps;
  const session = { catalog, database, call, nowMs: deps.nowMs(), execute: executor(querier, call) };
  const results: InfluxResult[] = [];
  let hasFailed = false;
  for (const [index, statement] of statements.entries()) {
    if (hasFailed) {
      results.push({ statement_id: index, error: 'not executed' });
      continue;
    }
    const messages = isGet && !statement.isReadOnly ? [deprecation(statement)] : undefined;
    try {
      const series = await statement.run(session);
      results.push({ statement_id: index, messages, series: series.length === 0 ? undefined : series });
    } catch (thrown) {
      const error = AlmanacError.from(thrown);
      if (error.httpStatus >= 500 || error.retry || error.code === 'cancelled') throw error;
      // Telegraf goes on after 403, and would repeat `CREATE DATABASE` after any other refusal.
      if (error.httpStatus === 403 && index === 0) throw error;
      hasFailed = true;
      results.push({ statement_id: index, messages, error: error.publicMessage });
    }
  }
  return results;
}

function executor(querier: QuerierService, call: Call): InfluxSession['execute'] {
  return (sql, database = DEFAULT_DATABASE) => allSqlRows(querier, { sql, database }, call);
}

function deprecation({ words }: InfluxStatement): { level: string; text: string } {
  return {
    level: 'warning',
    text: `deprecated use of '${words}' in a read only context, please use a POST request instead`,
  };
}
