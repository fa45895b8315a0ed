import { PIPELINES_SECTION } from './pipelines/config.js';
import { JAEGER_SECTION } from './query/jaeger/index.js';
import { PROTOCOLS } from './protocols/registry.js';

/** Sections that the gateway adds to the configuration: one of each protocol, and of each API that can be disabled. */
export const GATEWAY_SECTIONS = [...PROTOCOLS.map(({ config }) => config), JAEGER_SECTION, PIPELINES_SECTION];
