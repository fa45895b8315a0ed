import type { Config } from '#shared/config/schema';
import type { AlmanacError } from '#shared/errors/almanac-error';
import { metricNames } from '#shared/schema/metric-table';

import type { HttpReply } from '../../../reply.js';
import type { RequestContext } from '../../../request-context.js';
import { DatabaseCaches, type CacheMemory } from '../../common/cache-memory.js';
import { ENCODINGS } from '../../common/encodings.js';
import { labelRules } from '../../common/metric-labels.js';
import { MetricRows } from '../../common/metric-rows.js';
import { metricWrite, type MetricWrite } from '../../common/metric-write.js';
import type { RejectedRows } from '../../common/rejected-rows.js';
import { refusePipeline } from '../../common/pipeline.js';
import {
  ingestRoute,
  type DecodeInput,
  type Decoding,
  type IngestOptions,
  type IngestOutcome,
  type IngestReplies,
  type IngestRoute,
} from '../../protocol.js';
import { checkContentType, isJsonRequest } from '../body-form.js';
import { OTLP_METRICS_DOC } from '../doc.js';
import type { JsonWorker } from '../json-worker.js';
import { otlpReplies } from '../replies.js';
import { OtlpMetricsDecoder } from './decode.js';
import { OtlpMetricsCache } from './metrics-cache.js';
import { metricTranslation, type MetricTranslation } from './options.js';

interface MetricsOptions extends IngestOptions, MetricWrite {
  readonly isJson: boolean;
  readonly translation: MetricTranslation;
  readonly replies: MetricsReplies;
}

const REPLIES = otlpReplies('rejectedDataPoints');

/** Replies to one request; remembers the metadata that it stored. */
class MetricsReplies implements IngestReplies {
  decoder: OtlpMetricsDecoder | undefined = undefined;

  success(outcome: IngestOutcome, context: RequestContext): HttpReply {
    const metadata = outcome.additional.filter(({ kind }) => kind === 'metadata');
    if (metadata.every(({ failure }) => failure === undefined)) this.decoder?.metadataKept();
    return REPLIES.success(outcome, context);
  }

  rejected(rejected: RejectedRows, context: RequestContext): HttpReply {
    return REPLIES.rejected(rejected, context);
  }

  failure(error: AlmanacError, context: RequestContext): HttpReply {
    return REPLIES.failure(error, context);
  }
}

/** Opens `POST /v1/metrics`. */
export function metricsRoute(config: Config, memory: CacheMemory, json: JsonWorker): IngestRoute {
  const names = metricNames(config);
  const rules = labelRules({ isLossy: false, isLegacy: false }, names);
  const caches = new DatabaseCaches(memory, (it) => new OtlpMetricsCache(it));
  const options = (context: RequestContext): MetricsOptions => {
    checkContentType(context);
    refusePipeline(context);
    return {
      ...metricWrite(context, config, names),
      isJson: isJsonRequest(context),
      translation: metricTranslation(context),
      replies: new MetricsReplies(),
    };
  };
  const decode = ({ bytes, nowNs, batches }: DecodeInput, request: MetricsOptions): Decoding => {
    const { write, defaultTable, translation, replies } = request;
    const cache = caches.of(`${write.database}\n${defaultTable}`);
    const rows = new MetricRows({ names, write, defaultTable, nowMs: Number(nowNs / 1_000_000n) }, batches);
    replies.decoder = new OtlpMetricsDecoder(bytes, rows, { cache, rules, defaultTable, translation });
    return replies.decoder;
  };
  return ingestRoute({
    path: '/v1/metrics',
    encodings: ENCODINGS,
    partialSuccess: true,
    options,
    convert: (bytes, { isJson }) => (isJson ? json.convert(bytes, 'metrics') : bytes),
    decode,
    replies: REPLIES,
    doc: OTLP_METRICS_DOC,
  });
}
