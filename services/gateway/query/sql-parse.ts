import type { Handler } from '../request-context.js';
import { queryRoute, type QueryDeps } from './query-route.js';
import { sqlFailure, sqlParameters, sqlTimeoutMs } from './sql.js';

/** `GET|POST /v1/sql/parse` and `/v1/sql/format`: checks statements without running them, or lays them out. */
export function sqlParseHandler(kind: 'tree' | 'format', deps: QueryDeps): Handler {
  return queryRoute(
    {
      timeoutMs: sqlTimeoutMs,
      hasBody: () => true,
      parameters: sqlParameters,
      async run({ sql, database }, call, context) {
        let text = '';
        for await (const part of deps.querier.sqlParse({ sql, database, kind }, call)) {
          text += Buffer.from(part.text).toString();
        }
        const value: unknown = JSON.parse(text);
        if (kind === 'tree') return { json: value };
        return { json: { formatted: value, execution_time_ms: context.elapsedMs } };
      },
      isTimed: true,
      failure: sqlFailure,
    },
    deps,
  );
}
