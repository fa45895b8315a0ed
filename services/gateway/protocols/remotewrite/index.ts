import type { Config } from '#shared/config/schema';
import { metricNames } from '#shared/schema/metric-table';

import type { Answer } from '../../answer.js';
import type { RequestContext } from '../../request-context.js';
import { SeriesCaches } from '../common/series-caches.js';
import type { SeriesMemory } from '../common/series-memory.js';
import { ingest, type DecodeInput, type Decoding, type Protocol } from '../protocol.js';
import { DecoderV1 } from './decode-v1.js';
import { DecoderV2 } from './decode-v2.js';
import { labelRules } from './labels.js';
import { remoteWriteOptions, type RemoteWriteOptions } from './options.js';
import { RemoteWriteReply } from './reply.js';
import { MetricRows } from './rows.js';
import { SeriesCache } from './series-cache.js';

/** Prometheus remote write 1.0 and 2.0 (spec: docs/protocols/prometheus-remote-write.md). */
export function remoteWrite(config: Config, memory: SeriesMemory): Protocol {
  const names = metricNames(config);
  const rules = labelRules(config.prom_store, names);
  const caches = new SeriesCaches(memory, (it) => new SeriesCache(it, rules));

  const decode = ({ bytes, nowNs, batches }: DecodeInput, options: RemoteWriteOptions): Decoding => {
    const { write, defaultTable, version, reply } = options;
    const rows = new MetricRows({ names, write, defaultTable, nowMs: Number(nowNs / 1_000_000n) }, batches);
    const decoderOptions = { cache: caches.of(`${write.database}\n${defaultTable}`), rules, defaultTable };
    const decoder =
      version === 1 ? new DecoderV1(bytes, rows, decoderOptions) : new DecoderV2(bytes, rows, decoderOptions);
    reply.decoded = () => ({ ...countsOf(rows), metadataKept: () => decoder.metadataKept() });
    return decoder;
  };

  const parts = {
    encodings: ['snappy', 'zstd'],
    impliedEncoding: 'snappy',
    partialSuccess: true,
    options: remoteWriteOptions(config, names),
    decode,
    reply: new RemoteWriteReply(),
    answer: protocolVersion,
  } as const;
  return {
    name: 'prometheus',
    prefixes: ['/v1/prometheus'],
    routes: [ingest({ path: '/write', ...parts }), ingest({ path: '/api/v1/write', ...parts })],
  };
}

function countsOf({ sampleCount, histogramCount }: MetricRows): { sampleCount: number; histogramCount: number } {
  return { sampleCount, histogramCount };
}

/** vmagent asks so whether it may send zstd. */
function protocolVersion({ query }: RequestContext): Answer | undefined {
  if (!query.has('get_vm_proto_version')) return undefined;
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: '1' };
}
