import { SeverityNumber } from '@opentelemetry/api-logs';
import { OTLPLogExporter as JsonLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPLogExporter as ProtoLogExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { OTLPMetricExporter as JsonMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtoMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { AggregationType, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const GZIP = 'gzip' as never;

describe('exporters of OpenTelemetry', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  for (const [form, Metrics, Logs, options] of [
    ['JSON', JsonMetricExporter, JsonLogExporter, {}],
    ['protobuf', ProtoMetricExporter, ProtoLogExporter, { compression: GZIP }],
  ] as const) {
    const service = `shop-${form.toLowerCase()}`;
    const resource = resourceFromAttributes({ 'service.name': service, 'service.instance.id': 'a1' });

    it(`send metrics of all kinds in ${form}`, async () => {
      const exporter = new Metrics({ url: `${almanac.url}/v1/otlp/v1/metrics`, ...options });
      const provider = new MeterProvider({
        resource,
        readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
        views: [{ instrumentName: 'size', aggregation: { type: AggregationType.EXPONENTIAL_HISTOGRAM } }],
      });
      const meter = provider.getMeter('meter');
      meter.createCounter('http.requests').add(3, { 'http.method': 'GET' });
      meter.createGauge('temperature', { unit: 'Cel' }).record(21.5);
      const histogram = meter.createHistogram('latency', { unit: 'ms', advice: { explicitBucketBoundaries: [5, 10] } });
      for (const value of [1, 7, 20]) histogram.record(value);
      for (const value of [3, 3, 100]) meter.createHistogram('size').record(value);
      await provider.shutdown();

      expect(await valueOf(`http_requests_total{job="${service}",http_method="GET",instance="a1"}`)).to.equal('3');
      expect(await valueOf(`temperature_celsius{job="${service}"}`)).to.equal('21.5');
      expect(await valueOf(`latency_milliseconds_bucket{job="${service}",le="10"}`)).to.equal('2');
      expect(await valueOf(`latency_milliseconds_bucket{job="${service}",le="+Inf"}`)).to.equal('3');
      expect(await valueOf(`latency_milliseconds_sum{job="${service}"}`)).to.equal('28');
      expect(await valueOf(`histogram_count(size{job="${service}"})`)).to.equal('3');
      expect(await valueOf(`histogram_sum(size{job="${service}"})`)).to.equal('106');
      const median = Number(await valueOf(`histogram_quantile(0.5, size{job="${service}"})`));
      expect(median).to.be.closeTo(3, 0.07);
    });

    it(`send logs in ${form}`, async () => {
      const exporter = new Logs({ url: `${almanac.url}/v1/otlp/v1/logs`, ...options });
      const provider = new LoggerProvider({ resource, processors: [new BatchLogRecordProcessor({ exporter })] });
      const attributes = { 'user.id': 7, tags: ['a', 'b'], ratio: 0.5, ok: true };
      const logger = provider.getLogger(service, '1.0');
      const timestamp = new Date(1_700_000_000_123);
      logger.emit({
        timestamp,
        severityNumber: SeverityNumber.WARN,
        severityText: 'WARN',
        body: 'it "works"',
        attributes,
      });
      logger.emit({ timestamp: new Date(1_700_000_000_124), body: { nested: [1, 'two'] } });
      await provider.shutdown();

      const { rows, text } = await almanac.sql(
        'SELECT CAST(epoch_ns("timestamp") AS VARCHAR), severity_number, severity_text, body, log_attributes, resource_attributes ' +
          `FROM opentelemetry_logs WHERE scope_name = '${service}' ORDER BY "timestamp"`,
      );
      expect(rows, text).to.have.length(2);
      expect(rows[0].slice(0, 5)).to.deep.equal(['1700000000123000000', 13, 'WARN', 'it "works"', attributes]);
      expect(rows[0][5]).to.include({ 'service.name': service });
      expect(JSON.parse(String(rows[1][3]))).to.deep.equal({ nested: [1, 'two'] });
    });
  }

  async function valueOf(query: string): Promise<string | undefined> {
    const { text } = await almanac.get(`/v1/prometheus/api/v1/query?query=${encodeURIComponent(query)}`);
    const { data } = JSON.parse(text) as { data: { result: { value: [number, string] }[] } };
    expect(data.result, text).to.have.length(1);
    return data.result[0].value[1];
  }
});
