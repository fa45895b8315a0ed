import { lineproto } from './lineproto/index.js';
import type { Protocol } from './protocol.js';
import { remoteWrite } from './remotewrite/index.js';

/** All protocols that take rows. */
export const PROTOCOLS: readonly Protocol[] = [
  lineproto, // InfluxDB line protocol
  remoteWrite, // Prometheus remote write
];
