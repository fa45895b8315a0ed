import { expect } from 'chai';
import fc from 'fast-check';

import { CacheMemory } from '#services/gateway/protocols/common/cache-memory';
import { labelRules } from '#services/gateway/protocols/common/metric-labels';
import { MetricRows } from '#services/gateway/protocols/common/metric-rows';
import { TagSeriesCache } from '#services/gateway/protocols/common/tag-series';
import { protobufOfJson, REQUEST_FORMS } from '#services/gateway/protocols/otlp/json-form';
import { LogDecoder } from '#services/gateway/protocols/otlp/logs/decode';
import { OtlpMetricsDecoder } from '#services/gateway/protocols/otlp/metrics/decode';
import { OtlpMetricsCache } from '#services/gateway/protocols/otlp/metrics/metrics-cache';
import { STRATEGIES } from '#services/gateway/protocols/otlp/metrics/translation';
import { AlmanacError } from '#shared/errors/almanac-error';
import { BatchSet } from '#shared/rowbatch/builder';
import { metricNames } from '#shared/schema/metric-table';
import { rowsOf, type PlainRow } from '#test/support/batch-rows';

const RUNS = 2_000;
const NAMES = metricNames({ naming: 'almanac', defaultColumnPrefix: '' });
const RULES = labelRules({ isLossy: false, isLegacy: false }, NAMES);
const WRITE = {
  database: 'public',
  create: true,
  timeIndex: { name: NAMES.timeColumn, type: 'TimestampMillisecond' },
  tableOptions: {},
  timeType: 'TimestampMillisecond',
};

const word = fc.constantFrom('a', 'b.c', 'zone', 'http.method', 'ü', 'x y');
const text = fc.oneof(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }), fc.constantFrom('v', 'w'));
const attributes = fc.dictionary(word, text, { maxKeys: 4, noNullPrototype: true });
const time = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n });

type Attributes = Readonly<Record<string, string>>;

function keyValues(values: Attributes): unknown[] {
  return Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }));
}

function protobuf(signal: 'metrics' | 'logs', request: unknown): Buffer {
  return protobufOfJson(Buffer.from(JSON.stringify(request)), REQUEST_FORMS[signal]());
}

interface DecodedMetrics {
  readonly rows: readonly (readonly [labels: Record<string, string>, value: unknown, timeMs: bigint])[];
  readonly rejectedCount: number;
}

class MetricsRig {
  readonly #cache = new OtlpMetricsCache(new CacheMemory(200_000));

  decode(bytes: Buffer): DecodedMetrics {
    const batches = new BatchSet();
    const rows = new MetricRows({ names: NAMES, write: WRITE, defaultTable: 'p', nowMs: 1 }, batches);
    const strategy = STRATEGIES.get('NoTranslation') ?? { isEscaped: false, hasSuffixes: false };
    const translation = { strategy, isPromoted: () => true, promotesScope: false, key: '' };
    const decoder = new OtlpMetricsDecoder(bytes, rows, {
      cache: this.#cache,
      rules: RULES,
      defaultTable: 'p',
      translation,
    });
    while (!decoder.decode(20)) continue;
    decoder.metadataKept();
    const stored = rowsOf(batches)
      .filter(({ table }) => table === 'p')
      .map(({ tags, fields, timeNs }) => [tags, Object.values(fields).at(0)?.[1], timeNs] as const);
    return { rows: stored, rejectedCount: decoder.rejected.malformedCount };
  }
}

function decodeLogs(bytes: Buffer, series: TagSeriesCache): PlainRow[] {
  const batches = new BatchSet();
  const decoder = new LogDecoder(bytes, batches, { table: 'logs', nowNs: 5n, series, extracted: undefined });
  while (!decoder.decode(20)) continue;
  return rowsOf(batches);
}

describe('OTLP decoders', () => {
  it('store random points under their attributes and those of their resource', () => {
    const point = fc.record({ own: attributes, value: fc.double({ noNaN: true }), time });
    const metric = fc.record({ name: fc.constantFrom('m', 'n'), points: fc.array(point, { maxLength: 4 }) });
    const resources = fc.array(fc.record({ own: attributes, metrics: fc.array(metric, { maxLength: 3 }) }), {
      maxLength: 3,
    });
    const rig = new MetricsRig();
    fc.assert(
      fc.property(resources, (given) => {
        const request = {
          resourceMetrics: given.map(({ own, metrics }) => ({
            resource: { attributes: keyValues(own) },
            scopeMetrics: [
              {
                metrics: metrics.map(({ name, points }) => ({
                  name,
                  gauge: {
                    dataPoints: points.map((it) => ({
                      attributes: keyValues(it.own),
                      asDouble: Number.isFinite(it.value) ? it.value : String(it.value),
                      timeUnixNano: String(it.time),
                    })),
                  },
                })),
              },
            ],
          })),
        };
        const expected = given.flatMap(({ own, metrics }) =>
          metrics.flatMap(({ name, points }) =>
            points.map((it) => [{ ...own, ...it.own, __name__: name }, it.value + 0, it.time / 1_000_000n]),
          ),
        );
        const { rows, rejectedCount } = rig.decode(protobuf('metrics', request));
        expect(rejectedCount).to.equal(0);
        expect(rows).to.deep.equal(expected);
      }),
      { numRuns: RUNS },
    );
  });

  it('store random records with their attributes', () => {
    const record = fc.record({ own: attributes, body: text, time, severity: fc.integer({ min: 0, max: 24 }) });
    const scopes = fc.array(
      fc.record({ name: fc.constantFrom('', 'lib'), records: fc.array(record, { maxLength: 5 }) }),
      { maxLength: 3 },
    );
    const series = new TagSeriesCache(new CacheMemory(100_000));
    fc.assert(
      fc.property(attributes, scopes, (resource, given) => {
        const request = {
          resourceLogs: [
            {
              resource: { attributes: keyValues(resource) },
              scopeLogs: given.map(({ name, records }) => ({
                scope: { name },
                logRecords: records.map((it) => ({
                  attributes: keyValues(it.own),
                  body: { stringValue: it.body },
                  timeUnixNano: String(it.time),
                  severityNumber: it.severity,
                })),
              })),
            },
          ],
        };
        const rows = decodeLogs(protobuf('logs', request), series).map(({ tags, fields, timeNs }) => [
          tags,
          fields['body'][1],
          JSON.parse(String(fields['log_attributes'][1])) as unknown,
          JSON.parse(String(fields['resource_attributes'][1])) as unknown,
          fields['severity_number'][1],
          timeNs,
        ]);
        const expected = given.flatMap(({ name, records }) =>
          records.map((it) => [
            name === '' ? {} : { scope_name: name },
            it.body,
            it.own,
            resource,
            it.severity,
            it.time,
          ]),
        );
        expect(rows).to.deep.equal(expected);
      }),
      { numRuns: RUNS },
    );
  });

  const WHOLE = {
    metrics: protobuf('metrics', {
      resourceMetrics: [
        {
          resource: { attributes: keyValues({ 'service.name': 'shop', zone: 'a' }) },
          scopeMetrics: [
            {
              scope: { name: 'lib' },
              metrics: [
                {
                  name: 'g',
                  unit: 'By',
                  gauge: { dataPoints: [{ asInt: 1, timeUnixNano: '5000000', attributes: keyValues({ a: 'b' }) }] },
                },
                {
                  name: 'h',
                  histogram: {
                    dataPoints: [
                      { count: 2, sum: 1.5, bucketCounts: [1, 1], explicitBounds: [1], timeUnixNano: '7000000' },
                    ],
                  },
                },
                {
                  name: 's',
                  summary: {
                    dataPoints: [
                      { count: 2, sum: 1, quantileValues: [{ quantile: 0.5, value: 1 }], timeUnixNano: '7000000' },
                    ],
                  },
                },
                {
                  name: 'e',
                  exponentialHistogram: {
                    dataPoints: [
                      {
                        count: 3,
                        scale: 2,
                        positive: { offset: -1, bucketCounts: [1, 0, 2] },
                        timeUnixNano: '7000000',
                      },
                    ],
                  },
                },
              ],
            },
          ],
        },
      ],
    }),
    logs: protobuf('logs', {
      resourceLogs: [
        {
          resource: { attributes: keyValues({ 'service.name': 'shop' }) },
          scopeLogs: [
            {
              scope: { name: 'lib', version: '1' },
              logRecords: [
                {
                  timeUnixNano: '5',
                  body: { kvlistValue: { values: keyValues({ a: 'b' }) } },
                  traceId: '00ff',
                  severityText: 'INFO',
                },
                {
                  timeUnixNano: '6',
                  body: { stringValue: 'text' },
                  attributes: keyValues({ a: 'b', ü: 'é' }),
                  flags: 1,
                },
              ],
            },
          ],
        },
      ],
    }),
  };
  const corruption = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    removed: fc.integer({ min: 0, max: 3 }),
    added: fc.uint8Array({ maxLength: 4 }),
    isCut: fc.boolean(),
  });

  for (const signal of ['metrics', 'logs'] as const) {
    it(`refuse damaged ${signal} with an error of the client, or decode them`, () => {
      const rig = new MetricsRig();
      const series = new TagSeriesCache(new CacheMemory(100_000));
      const whole = WHOLE[signal];
      let refused = 0;
      fc.assert(
        fc.property(corruption, ({ at, removed, added, isCut }) => {
          const position = Math.floor(at * whole.length);
          const rest = isCut ? Buffer.alloc(0) : whole.subarray(position + removed);
          const damaged = Buffer.concat([whole.subarray(0, position), added, rest]);
          try {
            if (signal === 'metrics') rig.decode(damaged);
            else decodeLogs(damaged, series);
          } catch (error) {
            refused++;
            expect(error).to.be.instanceOf(AlmanacError);
            expect((error as AlmanacError).httpStatus).to.be.within(400, 499);
          }
        }),
        { numRuns: RUNS },
      );
      expect(refused).to.be.greaterThan(RUNS / 4);
    });
  }
});
