import type { Clock } from '#shared/clock/clock';
import type { Config } from '#shared/config/schema';
import { metricNames } from '#shared/schema/metric-table';

import type { Answer } from '../../answer.js';
import type { RequestContext } from '../../request-context.js';
import { SeriesCaches } from '../common/series-caches.js';
import type { SeriesMemory } from '../common/series-memory.js';
import { ingest, type DecodeInput, type Decoding, type PackedInput, type Protocol } from '../protocol.js';
import { Helper } from './worker/decode-worker.js';
import { KnownRows } from './worker/known-rows.js';
import { DecoderV1 } from './decode-v1.js';
import { DecoderV2 } from './decode-v2.js';
import { labelRules } from './labels.js';
import { remoteWriteOptions, type RemoteWriteOptions } from './options.js';
import { RemoteWriteReply } from './reply.js';
import { MetricRows } from '../common/metric-rows.js';
import { SeriesCache } from './series-cache.js';

/** Prometheus remote write 1.0 and 2.0 (spec: docs/protocols/prometheus-remote-write.md). */
export function remoteWrite(config: Config, memory: SeriesMemory, clock: Clock): Protocol {
  const names = metricNames(config);
  const rules = labelRules(config.prom_store, names);
  const caches = new SeriesCaches(memory, (it) => new SeriesCache(it, rules));
  const helper = new Helper(memory, clock);
  const cacheOf = ({ write, defaultTable }: RemoteWriteOptions): SeriesCache =>
    caches.of(`${write.database}\n${defaultTable}`);

  const decode = ({ bytes, nowNs, batches }: DecodeInput, options: RemoteWriteOptions): Decoding => {
    const { write, defaultTable, version, reply } = options;
    const rows = new MetricRows({ names, write, defaultTable, nowMs: Number(nowNs / 1_000_000n) }, batches);
    const decoderOptions = { cache: cacheOf(options), rules, defaultTable };
    const decoder =
      version === 1 ? new DecoderV1(bytes, rows, decoderOptions) : new DecoderV2(bytes, rows, decoderOptions);
    reply.decoded = () => ({ ...countsOf(rows), metadataKept: () => decoder.metadataKept() });
    return decoder;
  };

  const decodeAside = (input: PackedInput, options: RemoteWriteOptions): Promise<Decoding | undefined> | undefined => {
    const { write, defaultTable, version, reply } = options;
    const cache = cacheOf(options);
    if (version !== 1 || input.encoding !== 'snappy' || !helper.isFor(cache, input.packed, input.plainBytesMax)) return;
    return helper.read(cache, input.packed).then((matched) => {
      if (matched === undefined) return undefined;
      const rows = new MetricRows(
        { names, write, defaultTable, nowMs: Number(input.nowNs / 1_000_000n) },
        input.batches,
      );
      reply.decoded = () => ({ ...countsOf(rows), metadataKept: () => undefined });
      return new KnownRows(cache.numbered, matched, rows);
    });
  };

  const parts = {
    encodings: ['snappy', 'zstd'],
    impliedEncoding: 'snappy',
    partialSuccess: true,
    options: remoteWriteOptions(config, names),
    decode,
    decodeAside,
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
