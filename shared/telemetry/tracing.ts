import type { Context, Span as ApiSpan, Tracer } from '@opentelemetry/api';
import type { BatchSpanProcessor } from '@opentelemetry/sdk-trace-node';

import { AlmanacError } from '#shared/errors/almanac-error';

/** One timed part of a request. */
export interface TraceSpan {
  /** The span's place in its trace, as the header `traceparent` of W3C carries it. */
  readonly traceparent: string;
  /** Starts a part of this part. */
  child(name: string, attributes?: SpanAttributes): TraceSpan;
  set(attributes: SpanAttributes): void;
  rename(name: string): void;
  /** Ends it; must be called once. @param error why it failed. */
  end(error?: unknown): void;
}

/** Facts of a span, by the names of OpenTelemetry's conventions where there are any. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Whether a span is of a caller or of one that serves it. */
export type SpanKind = 'server' | 'client' | 'internal';

/** Options of `Tracing`. */
export interface TracingOptions {
  /** URL to which spans are sent by OTLP over HTTP. */
  readonly endpoint: string;
  /** Sent with each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Share of traces that begin here and are recorded, 0 to 1. */
  readonly sampleRatio: number;
  /** Describes this process: `service.name` and others. */
  readonly resource: SpanAttributes;
  /** Called when spans could not be sent. */
  readonly onFailure: (error: unknown) => void;
}

/** Spans that are sent at once, and that wait for that; more are dropped. */
const BATCH_MAX = 512;
const QUEUE_MAX = 8_192;
const BATCH_DELAY_MS = 1_000;
const EXPORT_MS_MAX = 5_000;
/** A parent that is not recorded: the gateway that receives spans makes none for them. */
const NOT_RECORDED = '00-00000000000000000000000000000001-0000000000000001-00';
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** What is loaded when tracing is turned on: 30 ms, which no start should take. */
type Sdk = Awaited<ReturnType<typeof loadSdk>>;

interface Running {
  readonly sdk: Sdk;
  readonly tracer: Tracer;
  readonly processor: BatchSpanProcessor;
}

/** The spans of this process, which can be turned on and off while it runs. */
export class Tracing {
  readonly #options: TracingOptions;
  #running: Running | undefined = undefined;

  constructor(options: TracingOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#running !== undefined;
  }

  /** @throws `external` if the endpoint is no URL. */
  async enable(): Promise<void> {
    if (this.#running !== undefined) return;
    const { endpoint, headers, sampleRatio, resource, onFailure } = this.#options;
    if (!URL.canParse(endpoint)) throw new AlmanacError('external', `logging.otlp_endpoint "${endpoint}" is no URL`);
    const sdk = await loadSdk();
    // Another request may have turned it on meanwhile.
    if (this.isOn) return;
    const exporter = new sdk.OTLPTraceExporter({
      url: endpoint,
      headers: { ...headers, traceparent: NOT_RECORDED },
      timeoutMillis: EXPORT_MS_MAX,
    });
    const send = exporter.export.bind(exporter);
    exporter.export = (spans, done) =>
      send(spans, (result) => {
        if (result.error !== undefined) onFailure(result.error);
        done(result);
      });
    const processor = new sdk.BatchSpanProcessor(exporter, {
      maxExportBatchSize: BATCH_MAX,
      maxQueueSize: QUEUE_MAX,
      scheduledDelayMillis: BATCH_DELAY_MS,
      exportTimeoutMillis: EXPORT_MS_MAX,
    });
    const provider = new sdk.NodeTracerProvider({
      resource: sdk.resourceFromAttributes(resource),
      sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(sampleRatio) }),
      spanProcessors: [processor],
    });
    this.#running = { sdk, tracer: provider.getTracer('almanac'), processor };
  }

  /** Sends what is left and stops. */
  async disable(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.processor.shutdown().catch((error: unknown) => this.#options.onFailure(error));
  }

  /**
   * Starts a span that is no part of another one of this process; undefined if none is recorded.
   *
   * @param traceparent of the caller; a malformed one begins a new trace.
   */
  start(
    name: string,
    kind: SpanKind,
    traceparent: string | undefined,
    attributes: SpanAttributes,
  ): TraceSpan | undefined {
    if (this.#running === undefined) return undefined;
    const span = startSpan(this.#running, name, {
      kind,
      parent: contextOf(this.#running.sdk, traceparent),
      attributes,
    });
    return span.isRecorded ? span : undefined;
  }
}

async function loadSdk() {
  const { ROOT_CONTEXT, SpanKind: Kinds, SpanStatusCode, trace } = await import('@opentelemetry/api');
  const { NodeTracerProvider, BatchSpanProcessor, ...samplers } = await import('@opentelemetry/sdk-trace-node');
  const { ParentBasedSampler, TraceIdRatioBasedSampler } = samplers;
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
  const { resourceFromAttributes } = await import('@opentelemetry/resources');
  const recording = { NodeTracerProvider, BatchSpanProcessor, ParentBasedSampler, TraceIdRatioBasedSampler };
  return { ROOT_CONTEXT, Kinds, SpanStatusCode, trace, ...recording, OTLPTraceExporter, resourceFromAttributes };
}

function contextOf({ ROOT_CONTEXT, trace }: Sdk, traceparent: string | undefined): Context {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true });
}

interface SpanStart {
  readonly kind: SpanKind;
  readonly parent: Context;
  readonly attributes: SpanAttributes;
}

function startSpan(running: Running, name: string, { kind, parent, attributes }: SpanStart): RecordedSpan {
  const { sdk, tracer } = running;
  const kinds = { server: sdk.Kinds.SERVER, client: sdk.Kinds.CLIENT, internal: sdk.Kinds.INTERNAL };
  const span = tracer.startSpan(name, { kind: kinds[kind], attributes }, parent);
  return new RecordedSpan(running, span, sdk.trace.setSpan(parent, span));
}

class RecordedSpan implements TraceSpan {
  readonly #running: Running;
  readonly #span: ApiSpan;
  readonly #context: Context;

  constructor(running: Running, span: ApiSpan, context: Context) {
    this.#running = running;
    this.#span = span;
    this.#context = context;
  }

  get isRecorded(): boolean {
    return this.#span.isRecording();
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.#span.spanContext();
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }

  child(name: string, attributes: SpanAttributes = {}): TraceSpan {
    return startSpan(this.#running, name, { kind: 'internal', parent: this.#context, attributes });
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes);
  }

  rename(name: string): void {
    this.#span.updateName(name);
  }

  end(error?: unknown): void {
    if (error !== undefined) {
      const { code, publicMessage } = AlmanacError.from(error);
      this.#span.setAttribute('error.type', code);
      this.#span.setStatus({ code: this.#running.sdk.SpanStatusCode.ERROR, message: publicMessage });
    }
    this.#span.end();
  }
}
