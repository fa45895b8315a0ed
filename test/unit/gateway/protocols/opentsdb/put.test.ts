import { gzipSync } from 'node:zlib';

import { expect } from 'chai';
import fc from 'fast-check';

import { CacheMemory } from '#services/gateway/protocols/common/cache-memory';
import { TagSeriesCache } from '#services/gateway/protocols/common/tag-series';
import { OpentsdbDecoder } from '#services/gateway/protocols/opentsdb/decode';
import { AlmanacError } from '#shared/errors/almanac-error';
import { BatchSet } from '#shared/rowbatch/builder';
import { rowsOf } from '#test/support/batch-rows';
import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';

const PATH = '/v1/tsdbput/api/put';
const RUNS = 2_000;
const COLUMNS = { time: 'almanac_timestamp', value: 'almanac_value' };
const POINT_ERRORS = {
  error: {
    code: 400,
    message: 'One or more data points had errors',
    details: 'Please see the TSD logs or append "details" to the put request',
  },
};

describe('OpenTSDB put', () => {
  let rig: GatewayRig;

  before(async () => {
    rig = await startGatewayRig();
  });

  after(() => rig.gateway.stop());

  beforeEach(() => {
    rig.tables.rows.length = 0;
  });

  async function post(
    body: unknown,
    parameters = '',
    headers: Readonly<Record<string, string>> = {},
    path = PATH,
  ): Promise<[status: number, answer: unknown]> {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    const sent = isRaw ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body);
    const response = await fetch(`${rig.url}${path}?${parameters}`, { method: 'POST', body: sent, headers });
    const text = await response.text();
    return [response.status, text === '' ? '' : (JSON.parse(text) as unknown)];
  }

  function stored(): unknown[] {
    return rig.tables.rows.map(({ table, tags, fields, timeNs }) => [table, tags, fields['almanac_value'][1], timeNs]);
  }

  it('stores one point, with scalars as texts', async () => {
    const point = {
      metric: 'm',
      timestamp: 1700000000,
      value: '1.5',
      tags: { h: 'a', n: 7, b: true, empty: '', none: null },
    };
    expect(await post(point)).to.deep.equal([204, '']);
    expect(stored()).to.deep.equal([['m', { h: 'a', n: '7', b: 'true' }, 1.5, 1700000000000n]]);
  });

  it('stores a list of points, also compressed and by the name of the product', async () => {
    const points = [
      { metric: 'm', timestamp: 4294967295, value: 18 },
      { metric: 'sys.cpu', timestamp: 4294967296, value: -2e3, tags: { host: 'é' } },
    ];
    const reply = await post(
      gzipSync(JSON.stringify(points)),
      'sync&summary',
      { 'content-encoding': 'gzip' },
      '/v1/opentsdb/api/put/',
    );
    expect(reply).to.deep.equal([200, { success: 2, failed: 0 }]);
    expect(stored()).to.deep.equal([
      ['m', {}, 18, 4294967295000n],
      ['sys.cpu', { host: 'é' }, -2000, 4294967296n],
    ]);
    expect(await post(points, 'details')).to.deep.equal([200, { success: 2, failed: 0, errors: [] }]);
  });

  it('stores good points, and reports the others as they were sent', async () => {
    const good = '{"metric":"m","timestamp":1700000000123,"value":2,"tags":{"h":"a"}}';
    const bad: readonly (readonly [string, string])[] = [
      ['{"metric":"","timestamp":1,"value":1}', 'Metric name was empty'],
      ['{"metric":"m","timestamp":0,"value":1}', 'Invalid timestamp'],
      ['{"metric":"m","timestamp":1.5,"value":1}', 'Invalid timestamp'],
      ['{"metric":"m","timestamp":9007199254740993,"value":1}', 'Invalid timestamp'],
      ['{"metric":"m","timestamp":1}', 'Empty value'],
      ['{"metric":"m","timestamp":1,"value":"NaN"}', 'Unable to parse value to a number'],
      ['{"metric":"m","timestamp":1,"value":1e999}', 'Unable to parse value to a number'],
      ['{"metric":"m","timestamp":1,"value":1,"tags":[]}', 'Tags must be an object'],
      ['{"metric":"m","timestamp":1,"value":1,"tags":{"a":{}}}', 'Value of tag "a" is not a text, number or boolean'],
      [
        '{"metric":"m","timestamp":1,"value":1,"tags":{"almanac_value":"x"}}',
        'Tag name "almanac_value" is the name of a column',
      ],
      ['{"metric":"a\\u0000b","timestamp":1,"value":1}', 'Invalid table name: a?b'],
      ['7', 'Datapoint is not an object'],
    ];
    const body = `[${[good, ...bad.map(([sent]) => sent)].join(',')}]`;
    const response = await fetch(`${rig.url}${PATH}?details`, { method: 'POST', body });
    expect(response.status).to.equal(400);
    // Numbers beyond those of a double are shown as null, as JSON has no infinity.
    const errors = bad.map(
      ([sent, error]) => `{"datapoint":${sent.replace('1e999', 'null')},"error":${JSON.stringify(error)}}`,
    );
    expect(await response.text()).to.equal(`{"success":1,"failed":${bad.length},"errors":[${errors.join(',')}]}`);
    expect(stored()).to.deep.equal([['m', { h: 'a' }, 2, 1700000000123n]]);
    expect(await post(body, 'summary')).to.deep.equal([400, { success: 1, failed: bad.length }]);
    expect(await post(body)).to.deep.equal([400, POINT_ERRORS]);
  });

  describe('refuses', () => {
    const cases: readonly (readonly [
      string,
      string | Uint8Array,
      Readonly<Record<string, string>>,
      number,
      RegExp,
      string?,
    ])[] = [
      ['text that is not JSON', '{"metric":', {}, 400, /JSON is not valid/],
      ['an empty body', '', {}, 400, /JSON is not valid/],
      ['a body of another shape', '"x"', {}, 400, /Unable to parse the given JSON/],
      ['an empty list', '[]', {}, 400, /No datapoints found in content/],
      ['deep JSON', '['.repeat(10_000), {}, 400, /levels/],
      ['an encoding', '{}', { 'content-encoding': 'snappy' }, 415, /content encoding "snappy"/],
      ['a body that is not gzip', '{}', { 'content-encoding': 'gzip' }, 400, /not valid gzip/],
      ['an unknown database', '{}', {}, 400, /Database not found: none/, 'db=none'],
      [
        'an expanding body',
        gzipSync(Buffer.alloc(70 * 1024 * 1024)),
        { 'content-encoding': 'gzip' },
        413,
        /larger than the limit/,
      ],
      [
        'too many metrics',
        JSON.stringify(Array.from({ length: 10_001 }, (_, i) => ({ metric: `m${i}`, timestamp: 1, value: 1 }))),
        {},
        413,
        /more than 10000 tables/,
      ],
    ];
    for (const [name, body, headers, status, message, parameters] of cases) {
      it(name, async () => {
        const [given, answer] = await post(body, parameters, headers);
        const { error } = answer as { error: { code: number; message: string } };
        expect([given, error.code]).to.deep.equal([status, status]);
        expect(error.message).to.match(message);
        expect(rig.tables.rows).to.deep.equal([]);
      });
    }
  });

  const series = new TagSeriesCache(new CacheMemory(100_000));

  function decoded(body: string): { rows: unknown[]; rejectedCount: number } {
    const batches = new BatchSet();
    const decoder = new OpentsdbDecoder(Buffer.from(body), batches, COLUMNS, series);
    while (!decoder.decode(150)) continue;
    const rows = rowsOf(batches).map(({ table, tags, fields, timeNs }) => [
      table,
      tags,
      fields['almanac_value'][1],
      timeNs,
    ]);
    return { rows, rejectedCount: decoder.rejected.malformedCount };
  }

  const point = fc.record({
    metric: fc.constantFrom('a', 'b.c', 'ü'),
    timestamp: fc.oneof(fc.integer({ min: 1, max: 2 ** 32 - 1 }), fc.integer({ min: 2 ** 32, max: 9_999_999_999_999 })),
    value: fc.double({ noNaN: true, noDefaultInfinity: true }),
    tags: fc.dictionary(fc.constantFrom('h', 'x y', 'zone'), fc.string({ minLength: 1, maxLength: 6 }), {
      noNullPrototype: true,
    }),
  });

  it('stores random points', () => {
    fc.assert(
      fc.property(fc.array(point, { minLength: 1, maxLength: 10 }), (points) => {
        const expected = [...new Set(points.map(({ metric }) => metric))].flatMap((metric) =>
          points
            .filter((it) => it.metric === metric)
            .map(({ timestamp, value, tags }) => [
              metric,
              tags,
              value + 0,
              BigInt(timestamp > 4294967295 ? timestamp : timestamp * 1000),
            ]),
        );
        expect(decoded(JSON.stringify(points))).to.deep.equal({ rows: expected, rejectedCount: 0 });
      }),
      { numRuns: RUNS },
    );
  });

  it('refuses damaged bodies with an error of the client, or stores what is whole', () => {
    const whole =
      '[{"metric":"m","timestamp":1700000000,"value":1.5,"tags":{"host":"a"}},{"metric":"n","timestamp":2,"value":"3"}]';
    const damage = fc.record({ at: fc.nat(whole.length - 1), removed: fc.nat(3), added: fc.string({ maxLength: 3 }) });
    let refused = 0;
    fc.assert(
      fc.property(damage, ({ at, removed, added }) => {
        try {
          const { rows, rejectedCount } = decoded(whole.slice(0, at) + added + whole.slice(at + removed));
          if (rows.length + rejectedCount < 2) refused++;
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
});
