import type { RouteDoc } from '../../openapi/route-doc.js';
import type { Handler, HttpMethod } from '../../request-context.js';
import { bucketsHandler } from './buckets.js';
import { BUCKETS_DOC, INFLUX_QUERY_DOC } from './doc.js';
import { influxQueryHandler, type InfluxDeps } from './query.js';

/** A path for clients of InfluxDB, below each prefix of line protocol. */
interface InfluxRoute {
  readonly methods: readonly HttpMethod[];
  readonly path: string;
  readonly handler: Handler;
  readonly doc: RouteDoc;
}

/** Returns what clients of InfluxDB call besides writes, `/ping` and `/health`. */
export function influxRoutes(deps: InfluxDeps): readonly InfluxRoute[] {
  return [
    { methods: ['GET', 'POST'], path: '/query', handler: influxQueryHandler(deps), doc: INFLUX_QUERY_DOC },
    { methods: ['GET'], path: '/api/v2/buckets', handler: bucketsHandler(deps), doc: BUCKETS_DOC },
  ];
}
