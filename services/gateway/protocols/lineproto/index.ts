import type { Config } from '#shared/config/schema';

import { SeriesCaches } from '../common/series-caches.js';
import type { SeriesMemory } from '../common/series-memory.js';
import { ingest, type DecodeInput, type Decoding, type Protocol } from '../protocol.js';
import { LineDecoder } from './decode.js';
import { lineprotoOptions, type LineprotoOptions } from './options.js';
import { health, ping } from './ping.js';
import { replyV1, replyV2 } from './reply.js';
import { SeriesCache } from './series-cache.js';

/** Line protocol of InfluxDB 1.x and 2.x (spec: docs/protocols/lineproto.md). */
export function lineproto(config: Config, memory: SeriesMemory): Protocol {
  const caches = new SeriesCaches(memory, (it) => new SeriesCache(it));
  const decode = ({ bytes, nowNs, batches, fieldTypes }: DecodeInput, options: LineprotoOptions): Decoding => {
    const { precision, write } = options;
    return new LineDecoder(bytes, { precision, nowNs, fieldTypes }, caches.of(write.database), batches);
  };
  const encodings = ['gzip', 'deflate', 'br'] as const;
  const [optionsV1, optionsV2] = [lineprotoOptions('v1', config), lineprotoOptions('v2', config)];
  return {
    name: 'lineproto',
    prefixes: ['/v1/lineproto', '/v1/influxdb'],
    routes: [
      ingest({ path: '/write', encodings, partialSuccess: true, options: optionsV1, decode, reply: replyV1 }),
      ingest({ path: '/api/v2/write', encodings, partialSuccess: false, options: optionsV2, decode, reply: replyV2 }),
      { kind: 'plain', method: 'GET', path: '/ping', answer: ping },
      { kind: 'plain', method: 'GET', path: '/health', answer: health },
    ],
  };
}
