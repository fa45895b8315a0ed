import { absentParts } from './absent-parts.js';
import type { PromEndpoint } from './endpoint.js';
import { exemplars } from './exemplars.js';
import { labels, labelValues } from './labels.js';
import { metadata } from './metadata.js';
import { formatQuery, syntaxTree } from './parse-query.js';
import { query } from './query.js';
import { queryRange } from './query-range.js';
import { series } from './series.js';
import { statusParts } from './status.js';

/** All paths of Prometheus's HTTP API. */
export const PROM_ENDPOINTS: readonly PromEndpoint[] = [
  query,
  queryRange,
  formatQuery,
  syntaxTree,
  labels,
  labelValues,
  series,
  metadata,
  exemplars,
  ...absentParts,
  ...statusParts,
];
