import { expect } from 'chai';

import { SqlBench } from '#test/support/sql-bench';

/** 2023-11-14T22:13:20.123Z */
const NOW = 1_700_000_000_123;

describe('TQL parameters', () => {
  let bench: SqlBench;
  before(async () => {
    bench = await SqlBench.open();
    await bench.all('CREATE TABLE t (x DOUBLE, ts TIMESTAMP TIME INDEX); INSERT INTO t VALUES (1, 1)');
  });
  after(() => bench.close());

  const times = async (parameters: string, zone = ''): Promise<unknown[]> => {
    return (await bench.rows(`TQL EVAL (${parameters}) 1`, { timezone: zone })).map(([time]) => time);
  };
  const gives = (parameters: string, expected: number[], zone = ''): void => {
    it(`reads (${parameters})${zone}`, async () => expect(await times(parameters, zone)).to.deep.equal(expected));
  };

  gives('0, 10, 5', [0, 5000, 10_000]);
  gives('-1.5, +0.5, 1', [-1500, -500, 500]);
  gives("'1.5', '2.5', '0.5'", [1500, 2000, 2500]);
  gives("'2023-11-14T22:13:20Z', '2023-11-14T22:13:21.5Z', '1s'", [1_700_000_000_000, 1_700_000_001_000]);
  gives("'2023-11-15 06:13:20', '2023-11-14T22:13:20Z', '1d'", [1_700_000_000_000], '+08:00');
  gives("now() - interval '2' hours, now(), '1h'", [NOW - 7_200_000, NOW - 3_600_000, NOW]);
  gives("now() - now(), now() - (now() - '10 seconds'::interval), '10s'", [0, 10_000]);
  gives("'1970-01-01T00:00:00'::timestamp, '1970-01-01T00:00:00'::timestamp + '10 seconds'::interval, '6s'", [0, 6000]);
  gives(
    "date_trunc('day', now()), date_trunc('day', now()) + interval '1 day', '1d'",
    [1_699_920_000_000, 1_700_006_400_000],
  );
  gives("date '1970-01-02', timestamp_ns '1970-01-02 00:00:00', '1w'", [86_400_000]);
  gives("1 + 1, 2 * 2, interval '1 second', '1h30m'", [2000, 3000, 4000]);
  gives("0, 90, '1m' || '30s'", [0, 90_000]);

  const fails = (parameters: string, number: number, message: string | RegExp): void => {
    it(`refuses (${parameters})`, async () => {
      const error = await bench.error(`TQL EVAL (${parameters}) 1`);
      expect(error.number, error.message).to.equal(number);
      if (typeof message === 'string') expect(error.message).to.equal(message);
      else expect(error.message).to.match(message);
    });
  };
  const computed = 'Invalid TQL syntax: Failed to evaluate TQL expression: ';
  fails("'yesterday', 1, 1", 2000, 'Invalid TQL syntax: start "yesterday" is not a time');
  fails("0, '2024-02-30', 1", 2000, 'Invalid TQL syntax: end "2024-02-30" is not a time');
  fails("0, 1, 'soon'", 2000, 'Invalid TQL syntax: step "soon" is not a duration');
  fails('0, 1, now()', 2000, /^Invalid TQL syntax: step \d+ms is not a duration$/);
  fails('0, 1, 0', 1004, 'step must be at least 1ms and at most 292 years, got 0');
  fails("0, 1, 1, '-1s'", 2000, 'Invalid TQL syntax: lookback "-1s" is not a duration');
  fails('0, 1, 1e300', 1004, 'step must be at least 1ms and at most 292 years, got 1e+300');
  fails('0, 1e18, 1', 1004, 'end 1000000000000000000 is out of range');
  fails('10, 5, 1', 1004, 'end timestamp must not be before start time');
  fails('NULL, 1, 1', 2000, `${computed}NULL has no value`);
  fails("interval '1 month', 1, 1", 2000, /interval '1 month' is of type IntervalMonthDayNano/);
  fails('true, 1, 1', 2000, `${computed}true is of type Boolean, expected a time, a number or an interval`);
  fails('(SELECT max(ts) FROM t), 1, 1', 2000, 'Invalid TQL syntax: (SELECT max(ts) FROM t) is not a constant');
  fails('x, 1, 1', 3000, 'Failed to plan SQL: No field named x.');
  fails("read_text('/etc/passwd'), 1, 1", 3000, /read_text/);
  fails('0, 11001, 1', 2000, /^exceeded maximum resolution of 11,000 points per timeseries/);
});
