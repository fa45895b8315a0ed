import { InfluxDB as InfluxClientV2, Point, type HttpError } from '@influxdata/influxdb-client';
import { BucketsAPI, HealthAPI } from '@influxdata/influxdb-client-apis';
import { expect } from 'chai';
import { FieldType, InfluxDB } from 'influx';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const TIME_MS = 1_700_000_000_000;

describe('InfluxDB clients', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  function client(database: string): InfluxDB {
    const { hostname, port } = new URL(almanac.url);
    const schema = [
      {
        measurement: 'v1_rooms',
        tags: ['room'],
        fields: { degrees: FieldType.FLOAT, count: FieldType.INTEGER, on: FieldType.BOOLEAN, note: FieldType.STRING },
      },
    ];
    return new InfluxDB({
      database,
      username: 'any',
      password: 'any',
      schema,
      hosts: [{ host: hostname, port: Number(port), path: '/v1/influxdb' }],
    });
  }

  describe('influx, for version 1', () => {
    it('pings', async () => {
      const { hostname, port } = new URL(almanac.url);
      // Its ping ignores the path of the host, unless the options of requests contain it.
      const host = { host: hostname, port: Number(port), options: { path: '/v1/influxdb/ping' } };
      const [answer] = await new InfluxDB({ database: 'public', hosts: [host] }).ping(1_000);
      expect(answer).to.include({ online: true, version: '1.8.10' });
    });

    it('writes points of all types', async () => {
      const fields = { degrees: 21.5, count: 7, on: true, note: 'a "b" \\ c, d=e' };
      const points = [
        { measurement: 'v1_rooms', tags: { room: 'north, east=1' }, fields, timestamp: new Date(TIME_MS) },
        { measurement: 'v1_rooms', tags: { room: 'south' }, fields: { degrees: -1 }, timestamp: new Date(TIME_MS + 1) },
      ];
      await client('public').writePoints(points, { precision: 'ms' });
      const { rows, text } = await almanac.sql(
        'SELECT room, degrees, "count", "on", note, almanac_timestamp FROM v1_rooms ORDER BY almanac_timestamp',
      );
      expect(rows, text).to.have.length(2);
      expect(rows[0].slice(0, 5)).to.deep.equal(['north, east=1', 21.5, 7, true, fields.note]);
      expect(rows[1].slice(0, 5)).to.deep.equal(['south', -1, null, null, null]);
    });

    it('reads points, and lists measurements', async () => {
      const influx = client('public');
      const points = await influx
        .query<{ room: string; degrees: number; time: Date }>(
          'SELECT max("degrees") AS degrees, "count" FROM "v1_rooms" WHERE "degrees" > 0',
        )
        .catch((error: unknown) => error);
      expect(String(points)).to.contain('mixing aggregate and non-aggregate queries is not supported');
      const rows = await influx.query<{ room: string; mean: number }>(
        'SELECT mean(degrees) FROM v1_rooms GROUP BY room',
      );
      expect(rows.groups().map(({ tags, rows: [{ mean }] }) => [tags, mean])).to.deep.equal([
        [{ room: 'north, east=1' }, 21.5],
        [{ room: 'south' }, -1],
      ]);
      const [point] = await influx.query<{ time: { getNanoTime(): string }; note: string }>(
        'SELECT note FROM v1_rooms ORDER BY time LIMIT 1',
      );
      expect([point.note, point.time.getNanoTime()]).to.deep.equal(['a "b" \\ c, d=e', `${TIME_MS}000000`]);
      expect(await influx.getMeasurements()).to.include('v1_rooms');
    });

    it('reports an unknown database', async () => {
      const failure = await client('nowhere')
        .writePoints([{ measurement: 'm', fields: { degrees: 1 } }])
        .catch((error: unknown) => error);
      expect(String(failure)).to.include('database not found: \\"nowhere\\"');
    });
  });

  it('influx manages databases, retention policies and lists schemas', async () => {
    const influx = client('plant');
    await influx.createDatabase('plant');
    expect(await influx.getDatabaseNames()).to.deep.equal(['plant', 'public']);
    await influx.createRetentionPolicy('month', { duration: '30d', replication: 1, isDefault: true });
    expect([...(await influx.showRetentionPolicies())]).to.deep.equal([
      { name: 'month', duration: '720h0m0s', shardGroupDuration: '24h0m0s', replicaN: 1, default: true },
    ]);
    await influx.alterRetentionPolicy('month', { duration: '2w', replication: 1 });
    expect((await almanac.rows('SHOW CREATE DATABASE plant'))[0][1]).to.include("ttl = '14days'");
    await influx.writePoints([{ measurement: 'v1_rooms', tags: { room: 'a' }, fields: { degrees: 1 } }]);
    expect(await influx.getMeasurements()).to.deep.equal(['v1_rooms']);
    await influx.dropDatabase('plant');
    expect(await influx.getDatabaseNames()).to.deep.equal(['public']);
  });

  describe('@influxdata/influxdb-client, for version 2', () => {
    it('lists buckets, and reads the health', async () => {
      await almanac.rows("CREATE DATABASE bucket WITH (ttl = '2h')");
      const api = new InfluxClientV2({ url: `${almanac.url}/v1/influxdb`, token: 'any:any' });
      const { buckets = [] } = await new BucketsAPI(api).getBuckets({ name: 'bucket' });
      expect(buckets.map(({ name, retentionRules }) => [name, retentionRules])).to.deep.equal([
        ['bucket', [{ type: 'expire', everySeconds: 7_200, shardGroupDurationSeconds: 3_600 }]],
      ]);
      expect((await new HealthAPI(api).getHealth()).status).to.equal('pass');
      await almanac.rows('DROP DATABASE bucket');
    });

    it('writes batches, compressed, and text over several lines', async () => {
      const api = new InfluxClientV2({ url: `${almanac.url}/v1/influxdb`, token: 'any:any' }).getWriteApi(
        'org',
        'public',
        'ms',
        {
          gzipThreshold: 100,
        },
      );
      for (let i = 0; i < 500; i++) {
        const point = new Point('v2 rooms')
          .tag('room', `r${i % 10}, x=y`)
          .floatField('degrees', i / 4)
          .intField('count', i)
          .booleanField('on', i % 2 === 0)
          .stringField('note', 'first\nsecond "quoted"')
          .timestamp(TIME_MS + i);
        api.writePoint(point);
      }
      await api.close();
      const { rows, text } = await almanac.sql(
        'SELECT count(*), sum("count"), max(degrees), min(note), count(DISTINCT room) FROM "v2 rooms"',
      );
      expect(rows[0], text).to.deep.equal([500, 124_750, 124.75, 'first\nsecond "quoted"', 10]);
    });

    it('reports what was wrong, and nothing was written', async () => {
      const failures: HttpError[] = [];
      const write = async (bucket: string, records: readonly string[]): Promise<HttpError | undefined> => {
        const api = new InfluxClientV2({ url: `${almanac.url}/v1/influxdb` }).getWriteApi('org', bucket, 'ns', {
          maxRetries: 0,
          writeFailed: (error) => {
            failures.push(error as HttpError);
            return Promise.resolve();
          },
        });
        for (const record of records) api.writeRecord(record);
        await api.close();
        return failures.pop();
      };
      const unknown = await write('nowhere', ['m f=1 1']);
      expect(unknown?.statusCode).to.equal(404);
      expect(unknown?.json).to.deep.include({ code: 'not found', message: 'bucket "nowhere" not found' });
      const malformed = await write('public', ['v2_good f=1 1', 'v2_good f=oops 2']);
      expect(malformed?.statusCode).to.equal(400);
      expect(malformed?.json).to.deep.include({
        code: 'invalid',
        message: "unable to parse 'v2_good f=oops 2': invalid boolean",
      });
      expect((await almanac.sql("SHOW TABLES LIKE 'v2_good'")).rows).to.deep.equal([]);
    });
  });
}).timeout(60_000);
