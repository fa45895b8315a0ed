import { SpanKind, SpanStatusCode, trace, context } from '@opentelemetry/api';
import { OTLPTraceExporter as JsonTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtoTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const GZIP = 'gzip' as never;
const START_MS = 1_700_000_000_123;

describe('trace exporters of OpenTelemetry', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  for (const [form, Exporter, options] of [
    ['JSON', JsonTraceExporter, {}],
    ['protobuf', ProtoTraceExporter, { compression: GZIP }],
  ] as const) {
    it(`send spans in ${form}`, async () => {
      const service = `shop-${form.toLowerCase()}`;
      const exporter = new Exporter({ url: `${almanac.url}/v1/otlp/v1/traces`, ...options });
      const resource = resourceFromAttributes({ 'service.name': service });
      const provider = new NodeTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(exporter)] });
      const tracer = provider.getTracer('tracer', '1.0');
      const attributes = { 'http.response.status_code': 500, tags: ['a', 'b'], ratio: 0.5, ok: true };
      const parent = tracer.startSpan('GET /orders', { kind: SpanKind.SERVER, startTime: START_MS, attributes });
      const child = tracer.startSpan('query', { startTime: START_MS + 1 }, trace.setSpan(context.active(), parent));
      child.addEvent('retry', { attempt: 2 }, START_MS + 2);
      child.end(START_MS + 3);
      parent.setStatus({ code: SpanStatusCode.ERROR, message: 'failed' });
      parent.end(START_MS + 5);
      await provider.shutdown();

      const { traceId, spanId } = parent.spanContext();
      const { rows, text } = await almanac.sql(
        'SELECT CAST(epoch_ns("timestamp") AS VARCHAR), duration_nano, parent_span_id, trace_id, span_kind, span_name, ' +
          'span_status_code, span_status_message, "span_attributes.http.response.status_code", "span_attributes.tags", ' +
          `"span_attributes.ratio", "span_attributes.ok", span_events FROM opentelemetry_traces WHERE service_name = '${service}' ` +
          'ORDER BY "timestamp"',
      );
      expect(rows, text).to.have.length(2);
      const time = (ms: number): string => String(BigInt(ms) * 1_000_000n);
      expect(rows[0]).to.deep.equal([
        ...[time(START_MS), 5_000_000, null, traceId, 'SPAN_KIND_SERVER', 'GET /orders', 'STATUS_CODE_ERROR', 'failed'],
        ...[500, ['a', 'b'], 0.5, true, []],
      ]);
      const own = [
        time(START_MS + 1),
        2_000_000,
        spanId,
        traceId,
        'SPAN_KIND_INTERNAL',
        'query',
        'STATUS_CODE_UNSET',
        '',
      ];
      expect(rows[1].slice(0, 8)).to.deep.equal(own);
      const event = { name: 'retry', time: '2023-11-14 22:13:20.125+0000', attributes: { attempt: 2 } };
      expect(rows[1][12]).to.deep.equal([event]);
      const operations = await almanac.sql(
        `SELECT span_name, span_kind FROM opentelemetry_traces_operations WHERE service_name = '${service}' ORDER BY span_name`,
      );
      expect(operations.rows, operations.text).to.deep.equal([
        ['GET /orders', 'SPAN_KIND_SERVER'],
        ['query', 'SPAN_KIND_INTERNAL'],
      ]);
    });
  }

  it('send fractions after whole numbers, which JavaScript does not distinguish', async () => {
    const exporter = new JsonTraceExporter({ url: `${almanac.url}/v1/otlp/v1/traces` });
    const resource = resourceFromAttributes({ 'service.name': 'fractions' });
    for (const load of [1, 0.5, 2, 0.25]) {
      const provider = new NodeTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(exporter)] });
      provider.getTracer('tracer').startSpan('measure', { attributes: { load } }).end();
      await provider.forceFlush();
      if (load === 0.5) await almanac.flush('opentelemetry_traces');
    }
    const { rows, text } = await almanac.sql(
      `SELECT "span_attributes.load" FROM opentelemetry_traces WHERE service_name = 'fractions' ORDER BY 1`,
    );
    expect(rows, text).to.deep.equal([[0.25], [0.5], [1], [2]]);
  });
});
