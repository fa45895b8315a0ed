import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const START_S = 1_700_000_040;
const RANGE = `time >= ${START_S}000ms and time < ${START_S + 60}000ms`;

interface Series {
  readonly name: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly columns: readonly string[];
  readonly values: readonly (readonly unknown[])[];
}

/** Ten points of each of two hosts, four seconds apart; the second host lacks those from 16 to 24 s. */
function lines(): string {
  return Array.from({ length: 10 }, (_none, i) => i)
    .flatMap((i) => [
      `cpu,host=a,az=x usage=${i},idle=${100 - i}i,on=${i % 2 === 0},note="n${i}" ${START_S + 4 * i}`,
      ...(i >= 4 && i < 7 ? [] : [`cpu,host=b usage=${10 * i} ${START_S + 4 * i}`]),
    ])
    .join('\n');
}

describe('SELECT of InfluxQL', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
    await almanac.written(`${lines()}\nother usage=1 ${START_S}`, 'precision=s');
  });

  after(() => almanac.stop());

  async function result(q: string, epoch = 's'): Promise<{ series?: Series[]; error?: string }> {
    const body = new URLSearchParams({ q, db: 'public', epoch }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const { status, text } = await almanac.post('/v1/influxdb/query', body, headers);
    expect(status, text).to.equal(200);
    return (JSON.parse(text) as { results: { series?: Series[]; error?: string }[] }).results[0];
  }

  /** Returns names, tags, columns, and values whose times are seconds since the start. */
  async function select(q: string): Promise<unknown[]> {
    const { series = [], error } = await result(q);
    expect(error, q).to.equal(undefined);
    return series.map(({ name, tags, columns, values }) => {
      expect(name).to.be.oneOf(['cpu', 'other']);
      const rows = values.map(([time, ...others]) => [Number(time) - START_S, ...others]);
      return [...(tags === undefined ? [] : [tags]), columns.slice(1), ...rows];
    });
  }

  it('reads the database that is named before a measurement', async () => {
    await almanac.rows('CREATE DATABASE elsewhere');
    expect((await almanac.write(`cpu,host=c usage=77 ${START_S}`, 'precision=s&db=elsewhere')).status).to.equal(204);
    for (const source of ['elsewhere..cpu', '"elsewhere"."autogen"."cpu"', 'elsewhere..cpu, elsewhere..other']) {
      expect(await select(`SELECT usage FROM ${source}`), source).to.deep.equal([[['usage'], [0, 77]]]);
    }
    expect((await result('SELECT usage FROM nowhere..cpu')).error).to.equal('database not found: nowhere');
    expect(await select('SELECT usage FROM autogen.cpu LIMIT 1')).to.deep.equal([[['usage'], [0, 0]]]);
    const { series = [] } = await result('SHOW FIELD KEYS FROM elsewhere..cpu');
    expect(series.map(({ values }) => values)).to.deep.equal([[['usage', 'float']]]);
  });

  it('takes the time as a field that is always there, and tables without numbers as empty', async () => {
    expect(await select("SELECT time, usage FROM cpu WHERE host = 'a' LIMIT 1")).to.deep.equal([[['usage'], [0, 0]]]);
    await almanac.written(`words text="a" ${START_S}`, 'precision=s');
    expect(await select(`SELECT mean(*) FROM /^(words|other)$/ WHERE ${RANGE} GROUP BY time(1m)`)).to.deep.equal([
      [['mean_usage'], [0, 1]],
    ]);
  });

  it('compares whole numbers that doubles cannot hold', async () => {
    await almanac.written(
      `exact n=9007199254740992i ${START_S}\nexact n=9007199254740993i ${START_S + 1}`,
      'precision=s',
    );
    const { series = [] } = await result('SELECT n FROM exact WHERE n = 9007199254740993');
    expect(series.map(({ values }) => values.map(([time]) => time))).to.deep.equal([[START_S + 1]]);
    const digits = '9'.repeat(400);
    for (const query of [`SELECT n FROM exact WHERE n < ${digits}`, `SELECT n + ${digits} FROM exact`]) {
      const { status, text } = await almanac.get(`/v1/influxdb/query?db=public&q=${encodeURIComponent(query)}`);
      expect(status, text).to.equal(400);
      expect(text).to.contain('expected number');
    }
  });

  it('refuses long arithmetic and words that are no units', async () => {
    for (const [q, error] of [
      [`SELECT usage${'+1'.repeat(10_000)} FROM cpu`, 'error parsing query: a statement has at most 200 operators'],
      ['SELECT 1constructor FROM cpu', 'error parsing query: found FROM, expected number at line 1, char 21'],
    ] as const) {
      const body = new URLSearchParams({ q, db: 'public' }).toString();
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const { status, text } = await almanac.post('/v1/influxdb/query', body, headers);
      expect([status, JSON.parse(text)]).to.deep.equal([400, { error }]);
    }
  });

  const A = { host: 'a' };
  const B = { host: 'b' };
  /** Each query, and the series of its result. */
  const QUERIES: readonly (readonly [query: string, ...series: readonly unknown[]])[] = [
    // Rows
    ["SELECT usage FROM cpu WHERE host = 'a' LIMIT 2", [['usage'], [0, 0], [4, 1]]],
    ['SELECT "usage" FROM "cpu" WHERE "host" = \'a\' LIMIT 1 OFFSET 2', [['usage'], [8, 2]]],
    ["select usage from cpu where host = 'a' order by time desc limit 2", [['usage'], [36, 9], [32, 8]]],
    [
      'SELECT * FROM cpu WHERE idle = 99',
      [
        ['az', 'host', 'idle', 'note', 'on', 'usage'],
        [4, 'x', 'a', 99, 'n1', false, 1],
      ],
    ],
    [
      "SELECT /^u|id/, host FROM cpu WHERE note = 'n3'",
      [
        ['idle', 'usage', 'host'],
        [12, 97, 3, 'a'],
      ],
    ],
    [
      'SELECT usage * 2 + 1 AS x, usage / 0, -usage FROM cpu WHERE idle < 92',
      [
        ['x', 'usage', 'usage_1'],
        [36, 19, 0, -9],
      ],
    ],
    [
      'SELECT usage, nothing FROM cpu WHERE "on" = true AND usage >= 8',
      [
        ['usage', 'nothing'],
        [32, 8, null],
      ],
    ],
    ['SELECT note FROM cpu WHERE note =~ /^n[12]$/ AND "on" != true', [['note'], [4, 'n1']]],
    ["SELECT usage FROM cpu WHERE host = 'a' AND (usage < 1 OR usage > 8)", [['usage'], [0, 0], [36, 9]]],
    ["SELECT usage FROM cpu WHERE az = '' AND usage > 80", [['usage'], [36, 90]]],
    ["SELECT usage FROM cpu WHERE az != 'x' AND usage > 80", [['usage'], [36, 90]]],
    [`SELECT idle FROM cpu WHERE time > ${START_S + 32}s`, [['idle'], [36, 91]]],
    ["SELECT usage FROM cpu WHERE host = 'a' GROUP BY host LIMIT 1", [A, ['usage'], [0, 0]]],
    [
      'SELECT usage FROM cpu GROUP BY "host" ORDER BY time DESC LIMIT 1',
      [A, ['usage'], [36, 9]],
      [B, ['usage'], [36, 90]],
    ],
    [
      "SELECT difference(usage) FROM cpu WHERE host = 'b' AND usage < 80",
      [['difference'], [4, 10], [8, 10], [12, 10], [28, 40]],
    ],
    // Aggregates
    [
      'SELECT count(usage), mean(usage) FROM cpu',
      [
        ['count', 'mean'],
        [-START_S, 17, 345 / 17],
      ],
    ],
    [
      `SELECT sum(usage), min(usage), max(usage), spread(usage), median(usage) FROM cpu WHERE ${RANGE} AND host = 'a'`,
      [
        ['sum', 'min', 'max', 'spread', 'median'],
        [0, 45, 0, 9, 9, 4.5],
      ],
    ],
    ['SELECT max(usage) FROM cpu', [['max'], [36, 90]]],
    ['SELECT min(idle) FROM cpu', [['min'], [36, 91]]],
    ['SELECT first(usage) FROM cpu WHERE usage > 5 GROUP BY host', [A, ['first'], [24, 6]], [B, ['first'], [4, 10]]],
    ['SELECT last(note) FROM cpu', [['last'], [36, 'n9']]],
    ["SELECT percentile(usage, 90) FROM cpu WHERE host = 'a'", [['percentile'], [-START_S, 8]]],
    ["SELECT stddev(usage) FROM cpu WHERE host = 'a' AND usage < 2", [['stddev'], [-START_S, Math.SQRT1_2]]],
    ['SELECT count(distinct(host)) FROM cpu', [['count'], [-START_S, 2]]],
    ['SELECT mode("on") FROM cpu WHERE idle > 96', [['mode'], [-START_S, true]]],
    [
      "SELECT count(*) FROM cpu WHERE host = 'a'",
      [
        ['count_idle', 'count_usage'],
        [-START_S, 10, 10],
      ],
    ],
    ["SELECT mean(/^usage$/) AS m FROM cpu WHERE host = 'a'", [['m_usage'], [-START_S, 4.5]]],
    [
      "SELECT max(usage) - min(usage) AS d, mean(usage) / 100 FROM cpu WHERE host = 'a'",
      [
        ['d', 'mean'],
        [-START_S, 9, 0.045],
      ],
    ],
    ["SELECT count(usage) FROM cpu WHERE host = 'c'"],
    ['SELECT mean(nothing) FROM cpu'],
    ['SELECT mean(usage) FROM nothing'],
    // Intervals
    [
      `SELECT mean("usage") FROM "autogen"."cpu" WHERE ${RANGE} GROUP BY time(20s), "host" fill(null)`,
      [A, ['mean'], [0, 2], [20, 7], [40, null]],
      [B, ['mean'], [0, 15], [20, 80], [40, null]],
    ],
    [
      `SELECT mean("usage") AS "m" FROM "cpu" WHERE ("host" = 'b') AND ${RANGE} GROUP BY time(8s) fill(none)`,
      [['m'], [0, 5], [8, 25], [24, 70], [32, 85]],
    ],
    [
      `SELECT count("usage") FROM "cpu" WHERE "host" = 'b' AND ${RANGE} GROUP BY time(8s)`,
      [['count'], [0, 2], [8, 2], [16, 0], [24, 1], [32, 2], [40, 0], [48, 0], [56, 0]],
    ],
    [
      `SELECT sum("usage") FROM "cpu" WHERE "host" = 'b' AND ${RANGE} GROUP BY time(8s) fill(previous)`,
      [['sum'], [0, 10], [8, 50], [16, 50], [24, 70], [32, 170], [40, 170], [48, 170], [56, 170]],
    ],
    [
      `SELECT mean("usage") FROM "cpu" WHERE "host" = 'b' AND ${RANGE} GROUP BY time(8s) fill(linear)`,
      [['mean'], [0, 5], [8, 25], [16, 47.5], [24, 70], [32, 85], [40, null], [48, null], [56, null]],
    ],
    [
      `SELECT mean("usage") FROM "cpu" WHERE "host" = 'b' AND ${RANGE} GROUP BY time(20s) fill(-1) ORDER BY time DESC LIMIT 2`,
      [['mean'], [40, -1], [20, 80]],
    ],
    [
      `SELECT max("usage") FROM "cpu" WHERE "host" = 'a' AND ${RANGE} GROUP BY time(20s, 10s) fill(none)`,
      [['max'], [-10, 2], [10, 7], [30, 9]],
    ],
    [
      `SELECT non_negative_derivative(mean("usage"), 1s) FROM "cpu" WHERE "host" = 'b' AND ${RANGE} GROUP BY time(8s)`,
      [['non_negative_derivative'], [8, 2.5], [24, 45 / 16], [32, 15 / 8]],
    ],
    [
      `SELECT cumulative_sum(sum("usage")), moving_average(sum("usage"), 2) FROM "cpu" WHERE "host" = 'a' AND ${RANGE} GROUP BY time(20s)`,
      [
        ['cumulative_sum', 'moving_average'],
        [0, 10, null],
        [20, 45, 22.5],
      ],
    ],
    [
      `SELECT round(mean("usage")) * 2 FROM "cpu" WHERE "host" = 'a' AND time < ${START_S + 36}s AND time >= ${START_S}s GROUP BY time(1m)`,
      [['round'], [0, 8]],
    ],
    [
      `SELECT mean(usage) FROM cpu WHERE ${RANGE} GROUP BY time(1m), * fill(none)`,
      [{ az: '', host: 'b' }, ['mean'], [0, 300 / 7]],
      [{ az: 'x', host: 'a' }, ['mean'], [0, 4.5]],
    ],
    [
      `SELECT mean(usage) FROM cpu WHERE ${RANGE} GROUP BY time(1m), host SLIMIT 1 SOFFSET 1`,
      [B, ['mean'], [0, 300 / 7]],
    ],
    [
      `SELECT mean(usage) FROM /^c/, other WHERE ${RANGE} GROUP BY time(1m)`,
      [['mean'], [0, 345 / 17]],
      [['mean'], [0, 1]],
    ],
  ];

  for (const state of ['from memory', 'from segments'] as const) {
    describe(state, () => {
      before(async () => {
        if (state === 'from segments') await almanac.flush('cpu');
      });

      for (const [query, ...series] of QUERIES) {
        it(query, async () => {
          expect(await select(query)).to.deep.equal(series);
        });
      }
    });
  }

  it('ends intervals now', async () => {
    await almanac.written('recent v=1');
    const { series } = await result('SELECT count(v) FROM recent WHERE time > now() - 1h GROUP BY time(10m)');
    const values = series?.[0].values ?? [];
    expect(values).to.have.length.within(7, 8);
    expect(values.reduce((sum, [, count]) => sum + Number(count), 0)).to.equal(1);
  });

  it('returns times in the unit of epoch, and as RFC 3339 without it', async () => {
    await almanac.written('epochs v=1 1700000000123456789');
    const times: readonly (readonly [string, unknown])[] = [
      ['', '2023-11-14T22:13:20.123456789Z'],
      ['u', 1_700_000_000_123_456],
      ['ms', 1_700_000_000_123],
      ['s', 1_700_000_000],
      ['h', 472_222],
    ];
    for (const [epoch, time] of times) {
      const { series } = await result('SELECT v FROM epochs', epoch);
      expect(series?.[0].values, epoch).to.deep.equal([[time, 1]]);
    }
    const { text } = await almanac.get('/v1/influxdb/query?q=SELECT+v+FROM+epochs&epoch=ns');
    expect(text).to.contain('[1700000000123456789,1]');
    const { status, text: error } = await almanac.get('/v1/influxdb/query?q=SELECT+v+FROM+epochs&epoch=d');
    expect([status, error]).to.deep.equal([
      400,
      '{"error":"invalid epoch \\"d\\": use one of ns, n, u, µ, us, ms, s, m, h"}\n',
    ]);
  });

  it('reads tables of other protocols', async () => {
    await almanac.rows(
      'CREATE TABLE prices (at TIMESTAMP(3) TIME INDEX, item STRING, price DECIMAL(10, 2), tags JSON, PRIMARY KEY (item))',
    );
    await almanac.rows(`INSERT INTO prices VALUES (${START_S}000, 'tea', 2.50, '{"a":1}')`);
    expect((await result('SELECT price * 2, tags FROM prices')).series?.[0].values).to.deep.equal([
      [START_S, 5, '{"a":1}'],
    ]);
    const grouped = await result(`SELECT mean(price) FROM prices WHERE time = ${START_S}s GROUP BY time(1m), item`);
    expect(grouped.series?.[0]).to.deep.include({ tags: { item: 'tea' }, values: [[START_S, 2.5]] });
  });

  const REFUSED: readonly (readonly [query: string, error: string])[] = [
    ['SELECT usage, mean(usage) FROM cpu', 'mixing aggregate and non-aggregate queries is not supported'],
    ['SELECT usage FROM cpu GROUP BY time(1m)', 'GROUP BY requires at least one aggregate function'],
    ['SELECT nothing(usage) FROM cpu', 'undefined function nothing()'],
    ['SELECT mean() FROM cpu', 'invalid number of arguments for mean'],
    ['SELECT mean(1) FROM cpu', 'expected field argument in mean()'],
    ['SELECT percentile(usage) FROM cpu', 'expected number as second argument in percentile()'],
    ['SELECT derivative(usage, 3) FROM cpu', 'expected duration argument in derivative()'],
    [
      'SELECT mean(usage) FROM cpu WHERE time >= 0 AND time < 1800000000s GROUP BY time(1s)',
      'results have more than 500000 values: use a longer interval, a shorter range or LIMIT',
    ],
  ];
  for (const [query, error] of REFUSED) {
    it(`refuses ${query}`, async () => {
      expect(await result(query)).to.include({ error });
    });
  }

  it('limits the values of all statements together', async () => {
    const one = `SELECT count(usage) FROM cpu WHERE ${RANGE} GROUP BY time(500us)`;
    const body = new URLSearchParams({ q: `${one};${one};${one}`, db: 'public', epoch: 's' }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const { text } = await almanac.post('/v1/influxdb/query', body, headers);
    const { results } = JSON.parse(text) as { results: { series?: Series[]; error?: string }[] };
    expect(results.map(({ series, error }) => series?.[0].values.length ?? error)).to.deep.equal([
      120_000,
      120_000,
      'results have more than 500000 values: use a longer interval, a shorter range or LIMIT',
    ]);
  });
});
