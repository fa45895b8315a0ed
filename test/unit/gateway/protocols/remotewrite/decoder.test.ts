import { expect } from 'chai';
import fc from 'fast-check';
import { uncompressSync } from 'snappy';

import { AlmanacError } from '#shared/errors/almanac-error';
import { bodyV1, bodyV2, type Series } from '#test/support/remote-write-messages';
import { bitsOf, one, RemoteWriteRig, row, TIME_MS } from '#test/support/remote-write-rig';

const VECTOR_1 = '2cac0a2a0a0e0a085f5f6e616d655f5f12026d310a060a0161120162121009000000000000f03f10fbd095ffbc31';
const VECTOR_2 = '30bc220022085f5f6e616d655f5f22026d322201612201622a180a0401020304121009000000000000f03f10fbd095ffbc31';

/** A double by its bits, as the last eight bytes of a sample that is 0x5555555555555555 in the body. */
function withBits(body: Buffer, bits: bigint): Buffer {
  const marker = Buffer.alloc(8, 0x55);
  const at = body.indexOf(marker);
  body.writeBigUInt64LE(bits, at);
  return body;
}
const MARKED = Buffer.alloc(8, 0x55).readDoubleLE(0);
const STALE = 0x7ff0000000000002n;

for (const [version, body] of [
  [1, bodyV1],
  [2, bodyV2],
] as const) {
  describe(`remote write ${version}.0`, () => {
    let rig: RemoteWriteRig;

    beforeEach(() => {
      rig = new RemoteWriteRig();
    });

    function decode(series: readonly Series[]): ReturnType<RemoteWriteRig['decode']> {
      return rig.decode(version, body(series));
    }

    it('decodes the vector of the specification', () => {
      const plain = uncompressSync(Buffer.from(version === 1 ? VECTOR_1 : VECTOR_2, 'hex'), { copyOutputData: true });
      const metric = version === 1 ? 'm1' : 'm2';
      expect(rig.decode(version, Buffer.from(plain)).rows).to.deep.equal([row({ __name__: metric, a: 'b' }, 1)]);
    });

    it('decodes the same bytes alike, whatever is cached', () => {
      const series = Array.from({ length: 50 }, (_, i) =>
        one(
          [
            ['__name__', `m${i % 7}`],
            ['i', String(i)],
            ['empty', ''],
          ],
          i / 3,
          TIME_MS + i,
        ),
      );
      const expected = series.map((_, i) => row({ __name__: `m${i % 7}`, i: String(i) }, i / 3, TIME_MS + i));
      for (const order of [series, series, [...series].reverse(), series.slice(20), series]) {
        const wanted = order.map((it) => expected[series.indexOf(it)]);
        expect(decode(order).rows).to.deep.equal(wanted);
      }
    });

    it('refuses a body of the other version, which has no known field', () => {
      const series = [one([['__name__', 'm']])];
      const other = version === 1 ? bodyV2(series) : bodyV1(series);
      const names = ['prometheus.WriteRequest (remote write 1.0)', 'io.prometheus.write.v2.Request (remote write 2.0)'];
      const text = `the body is not a ${names[version - 1]}: it has none of its fields; a sender of ${names[2 - version]} says so`;
      expect(() => rig.decode(version, other)).to.throw(AlmanacError, text);
      expect(rig.decode(version, Buffer.alloc(0)).rows).to.deep.equal([]);
      // Fields that it does not know beside those that it does are left out.
      expect(rig.decode(version, Buffer.concat([other, body(series)])).rows).to.have.length(1);
    });

    it('keeps stale markers and other NaN bit for bit', () => {
      for (const bits of [STALE, 0x7ff8000000000001n, 0xfff0000000000001n, 0x8000000000000000n]) {
        for (let time = 0; time < 2; time++) {
          const { rows } = rig.decode(version, withBits(body([one([['__name__', 'm']], MARKED)]), bits));
          expect(rows[0].bits?.toString(16)).to.equal(bits.toString(16));
        }
      }
    });

    it('accepts times of any length, also before 1970, and missing values', () => {
      for (const time of [0, 1, -1, 127, 128, 2 ** 31, 2 ** 42, -62_135_596_800_000, Number.MAX_SAFE_INTEGER]) {
        expect(decode([one([['__name__', 'm']], 0, time)]).rows, String(time)).to.deep.equal([
          row({ __name__: 'm' }, 0, time),
        ]);
      }
    });

    it('accepts several samples of a series, and the same series twice', () => {
      const labels = [['__name__', 'm']] as const;
      const samples = [1, 2, 3].map((value) => ({ value, timestamp: TIME_MS + value }));
      const expected = samples.map(({ value }) => row({ __name__: 'm' }, value, TIME_MS + value));
      expect(
        decode([
          { labels, samples },
          { labels, samples },
        ]).rows,
      ).to.deep.equal([...expected, ...expected]);
      expect(decode([{ labels, samples }]).rows).to.deep.equal(expected);
    });

    it('drops empty series', () => {
      expect(decode([{ labels: [['__name__', 'm']] }, { labels: [] }])).to.deep.equal({
        rows: [],
        reasons: [],
        rejectedCount: 0,
      });
      expect(rig.decode(version, Buffer.alloc(0)).rows).to.deep.equal([]);
    });

    it('rejects single series and accepts the others', () => {
      const good = one([['__name__', 'good']]);
      const bad: [Series, string][] = [
        [one([['a', 'b']]), 'missing metric name: series {"a":"b"}'],
        [one([['__name__', '']]), 'missing metric name: series {}'],
        [
          one([
            ['__name__', 'm'],
            ['a', '1'],
            ['a', '2'],
          ]),
          'duplicate label "a": series {"__name__":"m","a":"1","a":"2"}',
        ],
        [
          one([
            ['__name__', 'm'],
            ['', '1'],
          ]),
          'label without a name: series {"":"1","__name__":"m"}',
        ],
        [one([['__name__', 'a\nb']]), 'invalid metric name "a\nb": series {"__name__":"a\\nb"}'],
        [
          one([
            ['__name__', 'm'],
            ['greptime_value', '1'],
          ]),
          'label name "greptime_value" is reserved: series {"__name__":"m","greptime_value":"1"}',
        ],
        [
          one([
            ['__name__', 'm'],
            ['__tsid', '1'],
          ]),
          'label name "__tsid" is reserved: series {"__name__":"m","__tsid":"1"}',
        ],
      ];
      for (const [series, reason] of bad) {
        for (let time = 0; time < 2; time++) {
          const { rows, reasons, rejectedCount } = decode([good, series, good]);
          expect(reasons).to.deep.equal([reason]);
          expect(rejectedCount).to.equal(1);
          expect(rows).to.deep.equal([row({ __name__: 'good' }, 1), row({ __name__: 'good' }, 1)]);
        }
      }
    });

    it('keeps letter case and any other character of labels', () => {
      const labels = { __name__: 'Up', Zone: 'a', zone: 'b', 'http.method': 'c', 'é^X': 'd' };
      expect(decode([one(Object.entries(labels))]).rows).to.deep.equal([row(labels, 1)]);
    });

    it('applies labels that name database and table', () => {
      const { rows } = decode([
        one([
          ['__name__', 'm'],
          ['x_greptime_database', 'idc1'],
        ]),
        one([
          ['__name__', 'm'],
          ['__database__', 'a'],
          ['__schema__', 'b'],
          ['__physical_table__', 't'],
        ]),
        one([
          ['__name__', 'm'],
          ['x_greptime_physical_table', 'u'],
        ]),
      ]);
      expect(rows.map(({ database, table, labels }) => [database, table, labels])).to.have.deep.members([
        ['idc1', 'greptime_physical_table', { __name__: 'm' }],
        ['b', 't', { __name__: 'm' }],
        ['public', 'u', { __name__: 'm' }],
      ]);
    });

    it('keeps exemplars, also of series without samples', () => {
      const exemplars = [{ labels: { trace_id: 'x"y' }, value: 2.5, timestamp: TIME_MS }];
      const { rows } = decode([
        {
          labels: [
            ['__name__', 'm'],
            ['A', 'b'],
          ],
          exemplars,
        },
      ]);
      expect(rows).to.deep.equal([
        {
          database: 'public',
          table: 'exemplars',
          labels: { metric: 'm' },
          time: BigInt(TIME_MS),
          bits: bitsOf(2.5),
          fields: { series_labels: '{"A":"b","__name__":"m"}', exemplar_labels: '{"trace_id":"x\\"y"}' },
        },
      ]);
    });

    it('keeps histograms of integers, of floats and with custom buckets', () => {
      const common = { sum: 12.5, timestamp: TIME_MS, zero_threshold: 0.001 };
      const spans = [
        { offset: -2, length: 1 },
        { offset: 3, length: 2 },
      ];
      const integers = {
        count_int: 13,
        zero_count_int: 1,
        schema: 3,
        positive_spans: spans,
        positive_deltas: [2, 1, 1],
      };
      const floats = {
        count_float: 4.5,
        zero_count_float: 0.5,
        negative_spans: [{ offset: 0, length: 2 }],
        negative_counts: [1.5, Number.NaN],
        reset_hint: 3,
      };
      const own = { count_int: 3, schema: -53, custom_values: [0.5, 1], positive_spans: [{ offset: 1, length: 2 }] };
      const { rows, reasons } = decode([
        {
          labels: [['__name__', 'm']],
          samples: [{ value: 1, timestamp: TIME_MS - 1 }],
          histograms: [
            { ...common, ...integers, count_int: 10 },
            { ...common, ...floats, start_timestamp: 17 },
            { sum: 1, timestamp: TIME_MS, ...own, positive_deltas: [1, 1] },
          ],
        },
      ]);
      expect(reasons).to.deep.equal([]);
      expect(rows).to.have.length(4);
      const [, first, second, third] = rows.map(({ histogram }) => histogram);
      expect(first).to.deep.include({ isFloat: false, schema: 3, count: 10, zeroCount: 1, zeroThreshold: 0.001 });
      expect(first).to.deep.include({ positiveSpans: spans, positiveBuckets: [2, 3, 4], sum: 12.5, startMs: 0 });
      expect(second).to.deep.include({ isFloat: true, count: 4.5, resetHint: 3, negativeBuckets: [1.5, Number.NaN] });
      expect(second?.startMs).to.equal(17);
      expect(rows[2].startMs).to.equal(17n);
      expect(third).to.deep.include({ schema: -53, customValues: [0.5, 1], positiveBuckets: [1, 2] });
    });

    it('merges finer buckets of histograms into the finest that are stored', () => {
      const made = (schema: number, members: Record<string, unknown>) => {
        const histogram = { sum: 1, schema, timestamp: TIME_MS, ...members };
        const { rows, reasons } = decode([{ labels: [['__name__', 'm']], histograms: [histogram] }]);
        expect(reasons).to.deep.equal([]);
        return rows[0].histogram;
      };
      // Buckets -1, 0, 1, 2, 3 and 8 of schema 9: two at a time are one of schema 8.
      const spans = [
        { offset: -1, length: 5 },
        { offset: 4, length: 1 },
      ];
      const integers = { count_int: 27, positive_spans: spans, positive_deltas: [1, 1, 1, 1, 1, 7] };
      expect(made(9, integers)).to.deep.include({
        ...{ schema: 8, count: 27, positiveBuckets: [3, 7, 5, 12] },
        positiveSpans: [
          { offset: 0, length: 3 },
          { offset: 1, length: 1 },
        ],
      });
      const floats = { count_float: 6, negative_spans: spans, negative_counts: [1, 1, 1, 1, 1, 1] };
      expect(made(52, floats)).to.deep.include({
        ...{ schema: 8, negativeBuckets: [2, 4] },
        negativeSpans: [{ offset: 0, length: 2 }],
      });
      // The SDK of JavaScript has a single 3 in bucket 1661954 of schema 20: (2.9926.., 3.0007..] of schema 8.
      const one = { count_int: 1, positive_spans: [{ offset: 1_661_954, length: 1 }], positive_deltas: [1] };
      expect(made(20, one)).to.deep.include({ positiveSpans: [{ offset: 406, length: 1 }], positiveBuckets: [1] });
    });

    it('keeps the staleness marker of a histogram', () => {
      const histograms = [{ sum: MARKED, timestamp: TIME_MS }];
      const marked = withBits(body([{ labels: [['__name__', 'm']], histograms }]), STALE);
      expect(rig.decode(version, marked).rows[0].histogram).to.deep.include({ isStale: true, count: 0 });
    });

    it('rejects invalid histograms, with their series', () => {
      const bad: [Record<string, unknown>, string][] = [
        [{ schema: 53 }, 'unsupported histogram schema 53'],
        [{ schema: -5 }, 'unsupported histogram schema -5'],
        [{ schema: 9, positive_deltas: [1] }, 'histogram has 1 positive buckets, its spans need 0'],
        [{ count_int: 1 }, 'histogram has 0 observations in its buckets, its count is 1'],
        [{ count_float: 1, positive_deltas: [1] }, 'histogram mixes counts of integers and of floats'],
        [{ count_int: 1, zero_count_float: 1 }, 'histogram mixes counts of integers and of floats'],
        [{ positive_deltas: [1] }, 'histogram has 1 positive buckets, its spans need 0'],
        [{ positive_spans: [{ offset: 0, length: 2 }], positive_deltas: [1, -2] }, 'histogram has a negative count'],
        [{ custom_values: [1] }, 'histogram with exponential buckets has custom values'],
        [{ schema: -53, custom_values: [1, 1] }, 'custom values of a histogram must be finite and increase'],
        [{ schema: -53, zero_count_int: 1, count_int: 1 }, 'histogram with custom buckets has a zero bucket'],
        [{ schema: -53, positive_spans: [{ offset: 2, length: 0 }] }, 'histogram has a positive bucket out of range'],
        [
          {
            positive_spans: [
              { offset: 0, length: 0 },
              { offset: -1, length: 0 },
            ],
          },
          'histogram has a positive span with a negative offset',
        ],
      ];
      const labels = [['__name__', 'm']] as const;
      for (const [members, reason] of bad) {
        const histogram = { timestamp: TIME_MS, ...members };
        const samples = [{ value: 1, timestamp: TIME_MS }];
        const { rows, reasons } = decode([{ labels, samples, histograms: [histogram] }, one(labels, 2)]);
        expect(reasons).to.deep.equal([`${reason}: series {"__name__":"m"}`]);
        expect(rows).to.deep.equal([row({ __name__: 'm' }, 2)]);
      }
    });

    it('refuses a body that ends too early, at each byte, or reads it as a shorter one', () => {
      const series = [
        one([
          ['__name__', 'm'],
          ['a', 'b'],
        ]),
        { labels: [['__name__', 'h']] as const, histograms: [{ count_int: 1, zero_count_int: 1, timestamp: TIME_MS }] },
      ];
      const whole = body(series);
      decode(series);
      for (let length = 0; length < whole.length; length++) {
        try {
          expect(rig.decode(version, whole.subarray(0, length)).rows.length).to.be.lessThan(2);
        } catch (error) {
          expect(error).to.be.instanceOf(AlmanacError);
          expect((error as AlmanacError).message).to.equal('unexpected EOF');
        }
      }
    });

    it('works with a cleared cache', () => {
      rig = new RemoteWriteRig({ memoryBytes: 3_000 });
      rig.sliceBytes = 64;
      const series = Array.from({ length: 40 }, (_, i) =>
        one(
          [
            ['__name__', 'm'],
            ['i', String(i)],
          ],
          i,
        ),
      );
      const expected = series.map((_, i) => row({ __name__: 'm', i: String(i) }, i));
      for (let time = 0; time < 3; time++) expect(decode(series).rows).to.deep.equal(expected);
      expect(rig.cache.epoch).to.be.greaterThan(3);
    });

    it('reports malformed bytes as an error of the client, whatever they are', () => {
      const valid = body([
        one([
          ['__name__', 'm'],
          ['a', 'b'],
        ]),
        one([['__name__', 'n']]),
      ]);
      const changes = fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 });
      fc.assert(
        fc.property(changes, (bytes) => {
          const changed = Buffer.from(valid);
          for (const [at, byte] of bytes) changed[at] = byte;
          try {
            rig.decode(version, changed);
          } catch (error) {
            expect(error).to.be.instanceOf(AlmanacError);
            expect((error as AlmanacError).httpStatus).to.be.oneOf([400, 413]);
          }
        }),
        { numRuns: 3_000 },
      );
    });
  });
}
