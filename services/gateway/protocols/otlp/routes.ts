import { DatabaseCaches } from '../common/cache-memory.js';
import type { ProtocolDeps, ProtocolRoutes } from '../protocol.js';
import { JsonWorker } from './json-worker.js';
import { TagSeriesCache } from '../common/tag-series.js';
import { metricsRoute } from './metrics/route.js';
import { tracesRoute } from './traces/route.js';
import { logsRoute } from './logs/route.js';

/** Opens the routes of OTLP. */
export function otlpRoutes(deps: ProtocolDeps): ProtocolRoutes {
  const { config, memory } = deps;
  const series = new DatabaseCaches(memory, (it) => new TagSeriesCache(it));
  const json = new JsonWorker();
  return {
    prefixes: ['/v1/otlp'],
    routes: [metricsRoute(config, memory, json), tracesRoute(config, series, json), logsRoute(deps, series, json)],
  };
}
