import { configEndpoint } from './config.js';
import { cpuProfileEndpoint } from './debug/cpu-profile.js';
import { heapProfileEndpoints } from './debug/heap-profile.js';
import { logLevelEndpoint } from './debug/log-level.js';
import { symbolEndpoint } from './debug/symbol.js';
import { traceEndpoint } from './debug/trace.js';
import type { AdminEndpoint } from './endpoint.js';
import { healthEndpoints } from './health.js';
import { homeEndpoint } from './home.js';
import { metricsEndpoint } from './metrics.js';
import { readyEndpoints } from './ready.js';
import { statusEndpoint } from './status.js';
import { whoamiEndpoint } from './whoami.js';

/** All paths of the administration. */
export const ADMIN_ENDPOINTS: readonly AdminEndpoint[] = [
  homeEndpoint,
  ...healthEndpoints,
  ...readyEndpoints,
  statusEndpoint,
  whoamiEndpoint,
  metricsEndpoint,
  configEndpoint,
  logLevelEndpoint,
  traceEndpoint,
  cpuProfileEndpoint,
  ...heapProfileEndpoints,
  symbolEndpoint,
];
