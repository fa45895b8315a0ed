import type { Config } from '#shared/config/schema';

import { lineproto } from './lineproto/index.js';
import type { Protocol } from './protocol.js';

/** Protocols that the configuration turns on. @param cacheBytes what they may remember of their clients. */
export function protocols(config: Config, cacheBytes: number): readonly Protocol[] {
  return config.influxdb.enable ? [lineproto(config, { cacheBytes })] : [];
}
