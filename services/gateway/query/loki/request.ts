import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { sectionValues, type Config } from '#shared/config/schema';
import { checkCall, type Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';

import { RowBudget, type LogSource } from '../../logql/source/log-rows.js';
import { logTableOf } from '../../logql/source/log-table.js';
import { databaseOfQuery } from '../../protocols/common/database.js';
import { errorHeaders, textReply, type HttpReply } from '../../reply.js';
import type { Handler, RequestContext } from '../../request-context.js';
import { formOf, isForm, type PromForm } from '../prom-form.js';
import { queryRoute, type QueryDeps, type QueryReply } from '../query-route.js';
import { sqlTimeoutMs } from '../sql.js';
import { LOKI_QUERY_SECTION } from './index.js';

/** Dependencies of the query API of Loki. */
export interface LokiDeps extends QueryDeps {
  readonly catalog: Catalog;
  readonly clock: Clock;
}

/** Limits of LogQL queries. */
export interface LokiLimits {
  readonly maxEntries: number;
  readonly maxSeries: number;
  readonly maxLines: number;
  readonly maxTails: number;
}

/** A request of the query API of Loki. */
export interface LokiRequest {
  readonly context: RequestContext;
  readonly form: PromForm;
  readonly call: Call;
  readonly nowNs: bigint;
  readonly limits: LokiLimits;
  readonly database: string;
  /** Returns the table with its reader; undefined before the first line is written. */
  readonly source: () => Promise<LogSource | undefined>;
}

/** Implements a path of the API. */
export type LokiRun = (request: LokiRequest, deps: LokiDeps) => Promise<QueryReply> | QueryReply;

const DEFAULT_TABLE = 'loki_logs';

/** Returns the limits of LogQL queries. */
export function lokiLimits(config: Config): LokiLimits {
  return sectionValues(config, LOKI_QUERY_SECTION);
}

/** Makes the handler of a path. */
export function lokiHandler(run: LokiRun, deps: LokiDeps): Handler {
  return queryRoute<PromForm>(
    {
      timeoutMs: sqlTimeoutMs,
      hasBody: isForm,
      parameters: formOf,
      run: (form, call, context) => run(lokiRequest(context, form, call, deps), deps),
      isTimed: true,
      failure: (_context, error) => lokiFailure(error),
    },
    deps,
  );
}

/** Reads what all paths have in common. */
export function lokiRequest(context: RequestContext, form: PromForm, call: Call, deps: LokiDeps): LokiRequest {
  const limits = lokiLimits(deps.config);
  const database = databaseOfQuery(context, form.value('db'));
  const tableName = logTableName(context, form);
  return {
    context,
    form,
    call,
    nowNs: deps.clock.nowNs(),
    limits,
    database,
    async source() {
      const table = await tableIfExists({ database, tableName, call }, deps.catalog);
      if (table === undefined) return undefined;
      return {
        table: logTableOf(table),
        database,
        querier: deps.querier,
        call,
        budget: new RowBudget(limits.maxLines),
        slices: new Slices(deps.clock, { check: () => checkCall(call) }),
      };
    },
  };
}

/** Returns the name of the table: from a parameter or a header. */
export function logTableName(context: RequestContext, form: PromForm): string {
  const named = form.value('table');
  return named === '' ? (context.productHeader('log-table-name') ?? DEFAULT_TABLE) : named;
}

/** Returns a table; undefined before its first row is written. @throws `database_not_found`. */
export async function tableIfExists(
  { database, tableName, call }: { readonly database: string; readonly tableName: string; readonly call: Call },
  catalog: Catalog,
): Promise<Table | undefined> {
  try {
    return await catalog.table(database, tableName, call);
  } catch (thrown) {
    const error = AlmanacError.from(thrown);
    if (error.code !== 'table_not_found') throw error;
    return undefined;
  }
}

/** Makes an error reply of Loki: a line of text. */
export function lokiFailure(error: AlmanacError): HttpReply {
  return textReply(error.httpStatus, `${error.publicMessage}\n`, errorHeaders(error));
}

/** Makes a reply with the envelope of the API. */
export function lokiData(data: unknown): QueryReply {
  return { json: { status: 'success', data } };
}
