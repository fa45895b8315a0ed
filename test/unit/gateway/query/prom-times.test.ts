import { expect } from 'chai';

import {
  compactDurationText,
  MAX_TIME_MS,
  MIN_TIME_MS,
  parseDuration,
  parseLimit,
  parseTime,
} from '#services/gateway/query/prom-times';

describe("times and durations of Prometheus's HTTP API", () => {
  it('reads seconds with a fraction', () => {
    const times = {
      '1435781451.781': 1_435_781_451_781,
      '1e9': 1e12,
      '-1.5': -1500,
      '0.0006': 1,
      '+3': 3000,
      '.5': 500,
    };
    for (const [text, ms] of Object.entries(times)) expect(parseTime(text), text).to.equal(ms);
    // What clients write for all time.
    expect(parseTime('9223372036854775.807')).to.equal(MAX_TIME_MS);
    expect(parseTime('-9223309901257974')).to.equal(MIN_TIME_MS);
    for (const text of ['1e30', '-1e30', '9223372036854778']) {
      expect(() => parseTime(text), text).to.throw(`cannot parse "${text}" to a valid timestamp`);
    }
  });

  it('reads RFC 3339', () => {
    const times = {
      '2015-07-01T20:10:51.781Z': 1_435_781_451_781,
      '2015-07-01T22:10:51.781+02:00': 1_435_781_451_781,
      '2015-07-01T16:40:51.7819999-03:30': 1_435_781_451_781,
      '1970-01-01T00:00:00Z': 0,
      '0001-01-01T00:00:00Z': -62_135_596_800_000,
      '-292273086-05-16T16:47:06Z': MIN_TIME_MS,
      '292277025-08-18T07:12:54.999999999Z': MAX_TIME_MS,
    };
    for (const [text, ms] of Object.entries(times)) expect(parseTime(text), text).to.equal(ms);
  });

  it('refuses invalid times', () => {
    const texts = [
      '',
      'abc',
      'NaN',
      'Inf',
      '0x10',
      '1 ',
      '2015-02-29T00:00:00Z',
      '2015-07-01',
      '2015-07-01T24:00:00Z',
      '1_000',
    ];
    for (const text of texts) {
      expect(() => parseTime(text), text).to.throw(`cannot parse ${JSON.stringify(text)} to a valid timestamp`);
    }
  });

  it('reads durations', () => {
    const durations = {
      '15': 15_000,
      '0.5': 500,
      '1h30m': 5_400_000,
      '1d12h': 129_600_000,
      '1y': 31_536_000_000,
      '0': 0,
    };
    for (const [text, ms] of Object.entries({ ...durations, '5ms': 5, '-1': -1000 })) {
      expect(parseDuration(text), text).to.equal(ms);
    }
    for (const text of ['', '1.5h', '30m1h', '5', '-5m', '1h1h', 'm'].filter((it) => it !== '5')) {
      expect(() => parseDuration(text), text).to.throw(`cannot parse ${JSON.stringify(text)} to a valid duration`);
    }
    expect(() => parseDuration('1e300')).to.throw('It overflows int64');
  });

  it('prints durations', () => {
    expect([300_000, 120_000, 5_400_000, 1, 0].map(compactDurationText)).to.deep.equal([
      '5m',
      '2m',
      '1h30m',
      '1ms',
      '0s',
    ]);
  });

  it('reads limits', () => {
    expect(['', '0', '7', '+7', '99999999999'].map(parseLimit)).to.deep.equal([0, 0, 7, 7, 2 ** 32 - 1]);
    expect(() => parseLimit('1.5')).to.throw('strconv.Atoi: parsing "1.5": invalid syntax');
    expect(() => parseLimit('9'.repeat(30))).to.throw('value out of range');
    expect(() => parseLimit('-1')).to.throw('limit must be non-negative');
  });
});
