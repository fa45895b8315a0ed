import { configEndpoint } from './config.js';
import type { AdminEndpoint } from './endpoint.js';
import { healthEndpoints } from './health.js';
import { homeEndpoint } from './home.js';
import { metricsEndpoint } from './metrics.js';
import { readyEndpoints } from './ready.js';
import { statusEndpoint } from './status.js';

/** All paths of the administration. */
export const ADMIN_ENDPOINTS: readonly AdminEndpoint[] = [
  homeEndpoint,
  ...healthEndpoints,
  ...readyEndpoints,
  statusEndpoint,
  metricsEndpoint,
  configEndpoint,
];
