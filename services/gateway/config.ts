import { PROTOCOLS } from './protocols/registry.js';

/** Sections that the gateway adds to the configuration: one of each protocol. */
export const GATEWAY_SECTIONS = PROTOCOLS.map(({ config }) => config);
