import { metricNames } from '#shared/schema/metric-table';

import { textReply, type HttpReply } from '../../reply.js';
import type { RequestContext } from '../../request-context.js';
import { DatabaseCaches } from '../common/cache-memory.js';
import { labelRules, type LabelRules } from '../common/metric-labels.js';
import { MetricRows } from '../common/metric-rows.js';
import type { OpenPipeline } from '../common/pipeline/open.js';
import { PipelineSink, sinkDecoding } from '../common/pipeline/sink.js';
import { TagSeriesCache } from '../common/tag-series.js';
import {
  ingestRoute,
  type DecodeInput,
  type Decoding,
  type EncodedInput,
  type ProtocolDeps,
  type ProtocolRoutes,
} from '../protocol.js';
import { SampleItemDecoder } from './decode-items.js';
import { DecoderV1 } from './decode-v1.js';
import { DecoderV2 } from './decode-v2.js';
import { remoteWriteOptions, type RemoteWriteOptions } from './options.js';
import { REMOTE_WRITE_DOC, REMOTE_WRITE_PROBE_DOC } from './doc.js';
import { RemoteWriteCache } from './remote-write-cache.js';
import { RemoteWriteReplies } from './replies.js';
import { DecodeWorker } from './worker/decode-worker.js';
import { MatchedRowsDecoding } from './worker/matched-rows.js';

/** Opens the routes of remote write. */
export function remoteWriteRoutes(
  validation: Pick<LabelRules, 'isLossy' | 'isLegacy'>,
  { config, memory, clock, pipelines }: ProtocolDeps,
): ProtocolRoutes {
  const names = metricNames(config);
  const rules = labelRules(validation, names);
  const caches = new DatabaseCaches(memory, (it) => new RemoteWriteCache(it, rules));
  const worker = new DecodeWorker(memory, clock);
  const cacheOf = ({ write, defaultTable }: RemoteWriteOptions): RemoteWriteCache =>
    caches.of(`${write.database}\n${defaultTable}`);
  const rowsOf = ({ nowNs, batches }: EncodedInput | DecodeInput, options: RemoteWriteOptions): MetricRows => {
    const { write, defaultTable } = options;
    return new MetricRows({ names, write, defaultTable, nowMs: Number(nowNs / 1_000_000n) }, batches);
  };

  const itemSeries = new DatabaseCaches(memory, (it) => new TagSeriesCache(it));
  const decodeItems = (
    input: DecodeInput,
    { write, replies }: RemoteWriteOptions,
    pipeline: OpenPipeline,
  ): Decoding => {
    const sink = new PipelineSink(input, { ...pipeline, write }, itemSeries.of(write.database), 'tree');
    const decoder = new SampleItemDecoder(input.bytes, sink, { rules, ...names });
    replies.decoded = { rows: decoder, metadataKept: () => undefined };
    return sinkDecoding(decoder, sink);
  };

  const decode = (input: DecodeInput, options: RemoteWriteOptions): Decoding => {
    const { defaultTable, version, replies } = options;
    if (options.pipeline !== undefined) return decodeItems(input, options, options.pipeline);
    const rows = rowsOf(input, options);
    const Decoder = version === 1 ? DecoderV1 : DecoderV2;
    const decoder = new Decoder(input.bytes, rows, { cache: cacheOf(options), rules, defaultTable });
    replies.decoded = { rows, metadataKept: () => decoder.metadataKept() };
    return decoder;
  };

  const decodeInWorker = (
    input: EncodedInput,
    options: RemoteWriteOptions,
  ): Promise<Decoding | undefined> | undefined => {
    if (options.pipeline !== undefined) return undefined;
    const { bytes, encoding, plainBytesMax } = input;
    const cache = cacheOf(options);
    if (options.version !== 1 || encoding !== 'snappy' || !worker.isWorthwhile(cache, bytes, plainBytesMax)) return;
    return worker.match(cache, bytes, plainBytesMax, (matched) => {
      const rows = rowsOf(input, options);
      // All at once: 100,000 rows take 2 ms.
      rows.addSamples(cache.numbered, matched);
      options.replies.decoded = { rows, metadataKept: () => undefined };
      return new MatchedRowsDecoding(rows);
    });
  };

  const parts = {
    encodings: ['snappy', 'zstd'],
    impliedEncoding: 'snappy',
    partialSuccess: true,
    options: remoteWriteOptions(config, names, pipelines),
    decode,
    decodeInWorker,
    replies: new RemoteWriteReplies(),
    probe: protocolVersion,
    doc: REMOTE_WRITE_DOC,
  } as const;
  return {
    prefixes: ['/v1/prometheus'],
    routes: ['/write', '/api/v1/write'].flatMap((path) => [
      ingestRoute({ path, ...parts }),
      { kind: 'plain', methods: ['GET'], path, reply: isEndpoint, doc: REMOTE_WRITE_PROBE_DOC } as const,
    ]),
  };
}

/** Vector checks the endpoint itself with GET before it writes. */
function isEndpoint(): HttpReply {
  return textReply(200, 'remote write endpoint: send POST\n');
}

/** Replies to vmagent, which probes whether it may send zstd. */
function protocolVersion({ query }: RequestContext): HttpReply | undefined {
  if (!query.has('get_vm_proto_version')) return undefined;
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: '1' };
}
