import { PIPELINES_SECTION } from './pipelines/config.js';
import { JAEGER_SECTION } from './query/jaeger/index.js';
import { LOKI_QUERY_SECTION } from './query/loki/index.js';
import { PROTOCOLS } from './protocols/registry.js';

/** Sections that are not those of a protocol. */
export const API_SECTIONS = [JAEGER_SECTION, LOKI_QUERY_SECTION, PIPELINES_SECTION];

/** Sections that the gateway adds to the configuration: one of each protocol, and the others. */
export const GATEWAY_SECTIONS = [...PROTOCOLS.map(({ config }) => config), ...API_SECTIONS];
