import type { Clock } from '#shared/clock/clock';
import type { Config } from '#shared/config/schema';

import { SeriesMemory } from './common/series-memory.js';
import { lineproto } from './lineproto/index.js';
import type { Protocol } from './protocol.js';
import { remoteWrite } from './remotewrite/index.js';

/** Protocols that the configuration turns on. @param cacheBytes what they may remember of their clients together. */
export function protocols(config: Config, cacheBytes: number, clock: Clock): readonly Protocol[] {
  const memory = new SeriesMemory(cacheBytes);
  return [
    ...(config.influxdb.enable ? [lineproto(config, memory)] : []),
    ...(config.prom_store.enable ? [remoteWrite(config, memory, clock)] : []),
  ];
}
