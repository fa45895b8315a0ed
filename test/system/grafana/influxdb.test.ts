import { expect } from 'chai';

import { describeCalls, grafanaHeaders, type RecordedCall } from '#test/support/recorded-calls';

const DB = 'db=telegraf&epoch=ms';

interface Body {
  readonly results: readonly {
    readonly statement_id: number;
    readonly series?: readonly object[];
    readonly error?: string;
  }[];
}

type Holds = NonNullable<RecordedCall['holds']>;

const are =
  (...results: readonly (readonly object[])[]): Holds =>
  (reply) => {
    const expected = results.map((series, i) => ({ statement_id: i, ...(series.length === 0 ? {} : { series }) }));
    expect((reply.json() as Body).results).to.deep.equal(expected);
  };

const byPost = (q: string): Pick<RecordedCall, 'path' | 'form'> => ({
  path: `/query?${DB}`,
  form: new URLSearchParams({ q }).toString(),
});
const byGet = (q: string): Pick<RecordedCall, 'path'> => ({
  path: `/query?${DB}&${new URLSearchParams({ q }).toString()}`,
});

const MEASUREMENTS = [{ name: 'measurements', columns: ['name'], values: [['cpu'], ['disk']] }];
const values = (name: string, ...pairs: readonly string[][]): object => ({
  name,
  columns: ['key', 'value'],
  values: pairs,
});

const CALLS: readonly RecordedCall[] = [
  { purpose: 'saves and tests the data source by POST', ...byPost('SHOW measurements'), holds: are(MEASUREMENTS) },
  { purpose: 'saves and tests the data source by GET', ...byGet('SHOW measurements'), holds: are(MEASUREMENTS) },
  {
    purpose: 'counts no measurements in an empty database',
    path: '/query?db=public&epoch=ms',
    form: 'q=SHOW+measurements',
    holds: are([]),
  },
  {
    purpose: 'finds measurements by a part of their names',
    ...byPost('SHOW MEASUREMENTS WITH MEASUREMENT =~ /(?i)CP/ LIMIT 100'),
    holds: are([{ name: 'measurements', columns: ['name'], values: [['cpu']] }]),
  },
  {
    purpose: 'finds measurements of a tag',
    ...byPost(`SHOW MEASUREMENTS WHERE "az" = 'x' LIMIT 100`),
    holds: are([{ name: 'measurements', columns: ['name'], values: [['cpu']] }]),
  },
  {
    purpose: 'lists tag keys',
    ...byPost('SHOW TAG KEYS FROM "cpu"'),
    holds: are([{ name: 'cpu', columns: ['tagKey'], values: [['az'], ['host']] }]),
  },
  {
    purpose: 'lists tag keys of other tags',
    ...byPost(`SHOW TAG KEYS FROM "cpu" WHERE "host" = 'c'`),
    holds: are([{ name: 'cpu', columns: ['tagKey'], values: [['host']] }]),
  },
  {
    purpose: 'lists values of a tag',
    ...byPost('SHOW TAG VALUES FROM "cpu" WITH KEY = "host"'),
    holds: are([values('cpu', ['host', 'a'], ['host', 'b'], ['host', 'c'])]),
  },
  {
    purpose: 'lists values of a tag of all measurements',
    ...byGet('SHOW TAG VALUES WITH KEY = "host"'),
    holds: are([values('cpu', ['host', 'a'], ['host', 'b'], ['host', 'c']), values('disk', ['host', 'a'])]),
  },
  {
    purpose: 'lists values of a tag for values of another',
    ...byPost(`SHOW TAG VALUES FROM "cpu" WITH KEY = "host" WHERE "az"::tag = 'x' AND "host" =~ /^[ab]$/`),
    holds: are([values('cpu', ['host', 'a'], ['host', 'b'])]),
  },
  {
    purpose: 'lists values of a tag in the chosen time',
    ...byPost('SHOW TAG VALUES FROM "cpu" WITH KEY = "host" WHERE time >= 1700000001000ms and time <= 1700000002000ms'),
    holds: are([values('cpu', ['host', 'b'], ['host', 'c'])]),
  },
  {
    purpose: 'lists field keys',
    ...byPost('SHOW FIELD KEYS FROM "cpu"'),
    holds: are([
      {
        name: 'cpu',
        columns: ['fieldKey', 'fieldType'],
        values: [
          ['idle', 'integer'],
          ['usage', 'float'],
        ],
      },
    ]),
  },
  {
    purpose: 'lists field keys of a retention policy',
    ...byPost('SHOW FIELD KEYS FROM "autogen"."disk"'),
    holds: are([{ name: 'disk', columns: ['fieldKey', 'fieldType'], values: [['free', 'float']] }]),
  },
  {
    purpose: 'lists retention policies',
    ...byPost('SHOW RETENTION POLICIES on "telegraf"'),
    holds: are([
      {
        columns: ['name', 'duration', 'shardGroupDuration', 'replicaN', 'default'],
        values: [['autogen', '0s', '168h0m0s', 1, true]],
      },
    ]),
  },
  {
    purpose: 'runs several statements',
    ...byPost('SHOW measurements;SHOW TAG KEYS FROM "disk"'),
    holds: are(MEASUREMENTS, [{ name: 'disk', columns: ['tagKey'], values: [['host']] }]),
  },
  {
    purpose: 'draws a panel of its editor',
    ...byPost(
      'SELECT mean("usage") FROM "cpu" WHERE time >= 1700000000000ms and time <= 1700000002000ms GROUP BY time(1s) fill(null)',
    ),
    holds: are([
      {
        name: 'cpu',
        columns: ['time', 'mean'],
        values: [
          [1_700_000_000_000, 1],
          [1_700_000_001_000, 1],
          [1_700_000_002_000, 1],
        ],
      },
    ]),
  },
  {
    purpose: 'draws a panel by tags',
    ...byGet(
      'SELECT mean("usage") /100 AS "text" FROM "autogen"."cpu" WHERE ("az"::tag = \'x\' OR "host" =~ /^c$/) AND time >= 1700000000000ms and time <= 1700000002999ms GROUP BY time(3s), "host"::tag fill(none)',
    ),
    holds: are(
      ['a', 'b', 'c'].map((host) => ({
        name: 'cpu',
        tags: { host },
        columns: ['time', 'text'],
        values: [[host === 'a' ? 1_699_999_998_000 : 1_700_000_001_000, 0.01]],
      })),
    ),
  },
  {
    purpose: 'draws a panel without data',
    ...byPost('SELECT mean("usage") FROM "none" WHERE time >= 1700000000000ms GROUP BY time(1s) fill(null)'),
    holds: are([]),
  },
  {
    purpose: 'shows the error of a statement',
    ...byPost('SHOW TAG VALUES FROM "cpu" WITH KEY = "host" WHERE "usage" = \'1\''),
    holds: (reply) => {
      const [{ error }] = (reply.json() as Body).results;
      expect(error).to.equal('"usage" is a field of "cpu": use tags and time in WHERE');
    },
  },
];

describeCalls("Grafana's InfluxDB data source", {
  base: '/v1/influxdb',
  headers: grafanaHeaders(),
  calls: CALLS,
  async seed(send) {
    await send('/v1/influxdb/query', 'q=CREATE+DATABASE+telegraf', {
      'content-type': 'application/x-www-form-urlencoded',
    });
    const lines = [
      'cpu,host=a,az=x usage=1,idle=2i 1700000000',
      'cpu,host=b,az=x usage=1 1700000001',
      'cpu,host=c usage=1 1700000002',
      'disk,host=a free=1 1700000000',
    ];
    await send('/v1/influxdb/write?db=telegraf&precision=s', lines.join('\n'));
  },
});
