import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { systemRandom } from '#shared/clock/random';
import { ownCall } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import { seriesId } from '#shared/rowbatch/series-key';
import { Metrics } from '#shared/telemetry/metrics';
import { canonicalText, cellColumn, type CellValue } from '#shared/write/cell-value';
import { RowSink } from '#shared/write/row-sink';
import { RegionSender } from '#shared/write/send';
import { failure } from '../../../support/failure.js';
import { MemoryIngester } from '../../../support/memory-ingester.js';

const call = ownCall('test');

function column(id: number, name: string, type: string, kind: string, nullable = true) {
  return { id, name, type, kind, nullable, defaultSql: '', comment: '', backfillSql: '', formerTypes: [], indexes: [] };
}

const COLUMNS = [
  column(1, 'host', 'String', 'tag'),
  column(2, 'port', 'Int32', 'tag'),
  column(3, 'load', 'Float64', 'field', false),
  column(4, 'big', 'UInt64', 'field'),
  column(5, 'is_up', 'Boolean', 'field'),
  column(6, 'raw', 'Binary', 'field'),
  column(7, 'price', 'Decimal(10, 2)', 'field'),
  column(8, 'ts', 'TimestampMillisecond', 'time', false),
];

const TABLE: Table = {
  tableId: 7,
  databaseId: 1,
  database: 'public',
  name: 'cpu',
  schemaVersion: 1,
  columns: COLUMNS,
  options: {},
  regions: [{ regionId: 3, index: 0, epoch: 1, nodeId: 1, idsSinceEpoch: 1 }],
  createdMs: 0,
  primaryKey: ['host', 'port'],
  ttl: '',
};

const named = (...names: string[]) => COLUMNS.filter((it) => names.includes(it.name));

describe('RowSink', () => {
  let ingester: MemoryIngester;
  let sink: RowSink;

  beforeEach(() => {
    ingester = new MemoryIngester();
    const metrics = new Metrics({ unprefixedProcess: false });
    const catalog = {
      known: () => TABLE,
      knownById: () => TABLE,
      apply: () => undefined,
      onDropped: () => () => undefined,
    };
    const random = systemRandom;
    sink = new RowSink(
      new RegionSender({ catalog, ingesters: ingester, clock: systemClock, random, metrics }),
      metrics,
    );
  });

  it('keeps typed cells, and nulls', async () => {
    const full = ['a', 80, 1.5, 18_446_744_073_709_551_615n, true, new Uint8Array([0, 255]), '1.25', 5n];
    const bare = [null, null, -0, null, null, null, null, -5];
    expect(await sink.insert(TABLE, COLUMNS, [[full], [bare]], call)).to.equal(2);
    expect(ingester.rows.map(({ tags, fields, time }) => ({ tags, fields, time }))).to.deep.equal([
      {
        tags: { 1: 'a', 2: '80' },
        fields: { 3: 1.5, 4: -1n, 5: 1, 6: new Uint8Array([0, 255]), 7: '1.25' },
        time: 5n,
      },
      { tags: {}, fields: { 3: -0 }, time: -5n },
    ]);
  });

  it('tells the ingester for which owner of a flow it writes', async () => {
    const flow = { flowId: 3, epoch: 7 };
    await sink.insert(TABLE, named('load', 'ts'), [[[0, 1n]]], { ...call, flow });
    await sink.insert(TABLE, named('load', 'ts'), [[[0, 2n]]], call);
    expect(ingester.requests.map((request) => request.flow)).to.deep.equal([flow, undefined]);
  });

  it('identifies a series by typed tags, whatever the order of columns', async () => {
    const [host, port, load, , , , , ts] = COLUMNS;
    await sink.insert(
      TABLE,
      [ts, port, load, host],
      [
        [
          [1, 80, 1, 'a'],
          [2n, 80n, 2, 'a'],
        ],
      ],
      call,
    );
    const types = new Map(COLUMNS.map((it) => [it.name, it.type]));
    const tags = [
      { name: 'host', value: Buffer.from('a') },
      { name: 'port', value: Buffer.from('80') },
    ];
    expect(ingester.requests).to.have.length(1);
    expect(ingester.rows.map((row) => row.tags)).to.deep.equal([
      { 1: 'a', 2: '80' },
      { 1: 'a', 2: '80' },
    ]);
    expect(seriesId(tags, (name) => types.get(name) ?? '')).to.not.equal(seriesId(tags));
  });

  it("refuses a row before any is written, with SQL's messages", async () => {
    const columns = named('host', 'load', 'ts');
    const refuses = async (row: CellValue[], message: string): Promise<void> => {
      const error = await failure(sink.insert(TABLE, columns, [[['a', 1, 1n]], [row]], call));
      expect([error.code, error.message]).to.deep.equal(['invalid_arguments', message]);
    };
    await refuses(['a', null, 1n], 'column load is not null but input has null');
    await refuses(['a', 1, null], 'column ts is not null but input has null');
    await refuses(['a', 'x', 1n], 'value of column "load" is not a valid Float64');
    await refuses([1, 1, 1n], 'value of column "host" is not a valid String');
    await refuses(['a', 1, 8_640_000_000_000_001n], 'value of column "ts" is not a valid TimestampMillisecond');
    expect(ingester.requests).to.deep.equal([]);
  });

  it('checks the range of integers', async () => {
    const insert = (port: CellValue) => sink.insert(TABLE, named('port', 'load', 'ts'), [[[port, 1, 1]]], call);
    await insert(2_147_483_647);
    await insert(-2_147_483_648n);
    for (const port of [2_147_483_648, -2_147_483_649n, 1.5, Number.NaN]) {
      expect((await failure(insert(port))).message).to.equal('value of column "port" is not a valid Int32');
    }
  });

  it('refuses statements that omit what cannot be null, and unknown columns', async () => {
    const withoutLoad = await failure(sink.insert(TABLE, named('host', 'ts'), [[['a', 1]]], call));
    expect(withoutLoad.message).to.equal('column load is not null but input has null');
    const withoutTime = await failure(sink.insert(TABLE, named('host', 'load'), [[['a', 1]]], call));
    expect(withoutTime.message).to.equal('column ts is not null but input has null');
    const unknown = await failure(sink.insert(TABLE, [column(9, 'x', 'Int64', 'field')], [], call));
    expect(unknown.code).to.equal('column_not_found');
  });

  it('writes a large result in batches as it arrives', async () => {
    async function* blocks(): AsyncIterable<CellValue[][]> {
      for (let from = 0; from < 120_000; from += 8_000) {
        await Promise.resolve();
        if (from === 112_000) expect(ingester.requests.length).to.be.greaterThan(0);
        yield Array.from({ length: 8_000 }, (_, i) => [1, from + i]);
      }
    }
    expect(await sink.insert(TABLE, named('load', 'ts'), blocks(), call)).to.equal(120_000);
    expect(ingester.requests).to.have.length(3);
    expect(new Set(ingester.rows.map((row) => row.time)).size).to.equal(120_000);
  });
});

describe('canonicalText', () => {
  function expects(type: string, value: Exclude<CellValue, null>, text: string): void {
    const bytes = canonicalText(cellColumn(column(1, 't', type, 'tag')), value);
    expect(Buffer.from(bytes).toString()).to.equal(text);
  }

  it('returns one text per value, which the engine casts back', () => {
    expects('String', 'ä', 'ä');
    expects('Int64', -7, '-7');
    expects('Int64', -7n, '-7');
    expects('Boolean', true, 'true');
    expects('Float64', 0.1, '0.1');
    expects('Float64', -0, '-0');
    expects('Float64', 1e21, '1e+21');
    expects('Float64', Number.NaN, 'NaN');
    expects('Float32', 0.1, '0.10000000149011612');
    expects('Date', 0, '1970-01-01');
    expects('Date', -719_162, '0001-01-01');
    expects('TimestampSecond', -1n, '1969-12-31 23:59:59');
    expects('TimestampMillisecond', 1, '1970-01-01 00:00:00.001');
    expects('TimestampMicrosecond', -1n, '1969-12-31 23:59:59.999999');
    expects('TimestampNanosecond', 1_700_000_000_123_456_789n, '2023-11-14 22:13:20.123456789');
    expects('Binary', Buffer.from('x'), 'x');
  });

  it('refuses dates without a four-digit year', () => {
    expect(() => expects('Date', 2_932_897, '')).to.throw('tag "t" takes dates of the years 1 to 9999 only');
    expect(() => expects('Date', -719_163, '')).to.throw('tag "t" takes dates of the years 1 to 9999 only');
  });
});
