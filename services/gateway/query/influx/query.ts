import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { checkCall, type Call } from '#shared/contracts/call';
import type { QuerierService } from '#shared/contracts/gen/querier';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';

import { databaseOfQuery, DEFAULT_DATABASE } from '../../protocols/common/database.js';
import { stringifyJson, type JsonValue } from '../../protocols/common/json.js';
import { INFLUX_HEADERS } from '../../protocols/lineproto/ping.js';
import { repliesV1 } from '../../protocols/lineproto/replies.js';
import type { Handler } from '../../request-context.js';
import { isoTimeText } from '../logs/rows.js';
import { formOf, isForm } from '../prom-form.js';
import { queryRoute, type QueryDeps } from '../query-route.js';
import { sqlTimeoutMs } from '../sql.js';
import { allSqlRows } from '../sql-rows.js';
import { readStatements } from './influxql.js';
import { ResultRoom, type InfluxSeries, type InfluxSession, type InfluxStatement } from './session.js';
import { readStatement } from './statements.js';

/** Dependencies of the routes for clients of InfluxDB. */
export interface InfluxDeps extends QueryDeps {
  readonly catalog: Catalog;
  readonly clock: Clock;
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
  readonly timeOf: InfluxSession['timeOf'];
}

/** `GET|POST /query` of InfluxDB 1.x: `SELECT`, and statements about databases, retention policies and schemas. */
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
          timeOf: timeWriter(form.value('epoch')),
        };
      },
      async run(request, call, context) {
        const results = await runAll(request, call, { deps, isGet: context.request.method !== 'POST' });
        const text = stringifyJson({ results } as unknown as JsonValue, request.isPretty ? 4 : 0);
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
  { statements, database, timeOf }: InfluxRequest,
  call: Call,
  { deps, isGet }: { readonly deps: InfluxDeps; readonly isGet: boolean },
): Promise<InfluxResult[]> {
  const { catalog, querier } = deps;
  const session: InfluxSession = {
    catalog,
    database,
    call,
    nowMs: Math.floor(deps.nowMs()),
    slices: new Slices(deps.clock, { check: () => checkCall(call) }),
    room: new ResultRoom(),
    timeOf,
    execute: executor(querier, call),
  };
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
      // Telegraf continues after 403, and would repeat `CREATE DATABASE` after any other refusal.
      if (error.httpStatus === 403 && index === 0) throw error;
      hasFailed = true;
      results.push({ statement_id: index, messages, error: error.publicMessage });
    }
  }
  return results;
}

/** Returns the writer of times for `epoch`: whole numbers of a unit, else RFC 3339. @throws `invalid_arguments`. */
function timeWriter(epoch: string): InfluxSession['timeOf'] {
  if (epoch === '') return (ns) => isoTimeText(ns).replace(/\.?0+Z$/, 'Z');
  const unitNs = EPOCHS_NS.get(epoch);
  if (unitNs === undefined) {
    const known = [...EPOCHS_NS.keys()].join(', ');
    throw new AlmanacError('invalid_arguments', `invalid epoch "${epoch.slice(0, 20)}": use one of ${known}`);
  }
  return (ns) => {
    const value = (ns - (((ns % unitNs) + unitNs) % unitNs)) / unitNs;
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  };
}

const EPOCHS_NS: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['n', 1n],
  ['u', 1_000n],
  ['µ', 1_000n],
  ['us', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
]);

function executor(querier: QuerierService, call: Call): InfluxSession['execute'] {
  return (sql, database = DEFAULT_DATABASE) => allSqlRows(querier, { sql, database }, call);
}

function deprecation({ words }: InfluxStatement): { level: string; text: string } {
  return {
    level: 'warning',
    text: `deprecated use of '${words}' in a read only context, please use a POST request instead`,
  };
}
