import { PIPELINES_SECTION } from './pipelines/config.js';
import { JAEGER_SECTION } from './query/jaeger/index.js';
import { TEMPO_SECTION } from './query/tempo/index.js';
import { LOKI_QUERY_SECTION } from './query/loki/index.js';
import { PROTOCOLS } from './protocols/registry.js';

/** Sections of the gateway besides those of protocols: of query APIs that can be disabled, and of pipelines. */
export const API_SECTIONS = [JAEGER_SECTION, TEMPO_SECTION, LOKI_QUERY_SECTION, PIPELINES_SECTION];

/** Sections that the gateway adds to the configuration. */
export const GATEWAY_SECTIONS = [...PROTOCOLS.map(({ config }) => config), ...API_SECTIONS];
