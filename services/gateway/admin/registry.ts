import { config } from './config.js';
import type { AdminEndpoint } from './endpoint.js';
import { health, healthText, healthTextForPrometheus, healthUnderApi } from './health.js';
import { home } from './home.js';
import { metrics } from './metrics.js';
import { ready, readyText, readyTextForPrometheus } from './ready.js';
import { status } from './status.js';

export const ADMIN_ENDPOINTS: readonly AdminEndpoint[] = [
  home,
  health,
  healthUnderApi,
  healthText,
  healthTextForPrometheus,
  ready,
  readyText,
  readyTextForPrometheus,
  status,
  metrics,
  config,
];
