import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const START_S = 1_700_000_000;
const JSON_TYPE = { 'content-type': 'application/json' };

type Row = Readonly<Record<string, unknown>>;

describe('/v1/logs', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  async function get(path: string, parameters: readonly (readonly [string, string])[]): Promise<string> {
    const { status, text } = await almanac.get(
      `${path}?${new URLSearchParams(parameters.map(([name, value]): [string, string] => [name, value])).toString()}`,
    );
    expect(status, text).to.equal(200);
    return text;
  }

  async function rows(...parameters: readonly (readonly [string, string])[]): Promise<Row[]> {
    const text = await get('/v1/logs', [['start', `${START_S}`], ...parameters]);
    const reply = JSON.parse(text) as { rows: Row[]; total_rows: number; execution_time_ms: number };
    expect(reply.total_rows).to.equal(reply.rows.length);
    return reply.rows;
  }

  const linesOf = (found: readonly Row[]): unknown[] => found.map(({ line }) => line);

  it('is empty before the first line', async () => {
    expect(await rows()).to.deep.equal([]);
    const { status, text } = await almanac.get('/v1/logs?table=none');
    expect(status, text).to.equal(400);
  });

  describe('with lines', () => {
    before(async () => {
      const entry = (i: number, line: string, metadata = {}): unknown => [`${START_S + i}00000000${i}`, line, metadata];
      const streams = [
        {
          stream: { app: 'shop', level: 'info' },
          values: [entry(0, 'Order placed'), entry(1, 'disk full', { id: 'a1' })],
        },
        { stream: { app: 'bank', level: 'warn' }, values: [entry(2, 'order REFUSED'), entry(3, 'disk half full')] },
      ];
      const { status, text } = await almanac.post('/v1/loki/api/v1/push', JSON.stringify({ streams }), JSON_TYPE);
      expect(status, text).to.equal(204);
    });

    it('returns rows as objects, the newest first, with exact times', async () => {
      expect(await rows(['limit', '1'])).to.deep.equal([
        {
          almanac_timestamp: '2023-11-14T22:13:23.000000003Z',
          app: 'bank',
          level: 'warn',
          line: 'disk half full',
          structured_metadata: {},
        },
      ]);
      const chosen = await rows(['columns', 'line'], ['order', 'asc'], ['limit', '1']);
      expect(chosen).to.deep.equal([{ almanac_timestamp: '2023-11-14T22:13:20.000000000Z', line: 'Order placed' }]);
    });

    const searches: readonly (readonly [readonly (readonly [string, string])[], readonly string[]])[] = [
      [[['search', 'order']], ['order REFUSED', 'Order placed']],
      [[['search', 'disk full']], ['disk half full', 'disk full']],
      [[['search', '"disk full"']], ['disk full']],
      [[['search', 'full -half']], ['disk full']],
      [[['search', '-"disk full" -order']], ['disk half full']],
      [[['search', 'ord']], []],
      [[['where', 'app=shop']], ['disk full', 'Order placed']],
      [
        [
          ['where', 'app!=shop'],
          ['where', 'level=warn'],
        ],
        ['disk half full', 'order REFUSED'],
      ],
      [
        [
          ['where', 'app=~^sh'],
          ['search', 'disk'],
        ],
        ['disk full'],
      ],
      [[['where', 'line!~(?i)order']], ['disk half full', 'disk full']],
      [[['where', 'structured_metadata.id=a1']], ['disk full']],
      [[['where', "app='; DROP TABLE loki_logs --"]], []],
      [[['end', `${START_S + 1}`]], ['Order placed']],
      [
        [
          ['table', 'loki_logs'],
          ['where', 'app>bank'],
        ],
        ['disk full', 'Order placed'],
      ],
    ];
    for (const [parameters, expected] of searches) {
      it(`finds ${expected.length} lines by ${JSON.stringify(parameters)}`, async () => {
        expect(linesOf(await rows(...parameters))).to.deep.equal(expected);
      });
    }

    it('returns one object a line', async () => {
      const text = await get('/v1/logs', [
        ['start', `${START_S}`],
        ['format', 'ndjson'],
        ['columns', 'line'],
      ]);
      const lines = text.trimEnd().split('\n');
      expect(lines).to.have.length(4);
      expect(JSON.parse(lines[3])).to.include({ line: 'Order placed' });
    });

    it('returns what is around a line', async () => {
      const at: [string, string] = ['at', '2023-11-14T22:13:21.000000001Z'];
      const around = await get('/v1/logs', [at, ['before', '5'], ['after', '1']]);
      const { rows: found } = JSON.parse(around) as { rows: Row[] };
      expect(linesOf(found)).to.deep.equal(['Order placed', 'disk full', 'order REFUSED']);
      const stream = JSON.parse(await get('/v1/logs', [at, ['after', '5'], ['where', 'app=shop']])) as { rows: Row[] };
      expect(linesOf(stream.rows)).to.deep.equal(['disk full']);
    });

    it('counts lines by interval and value', async () => {
      const text = await get('/v1/logs/histogram', [
        ['start', `${START_S}`],
        ['end', `${START_S + 10}`],
        ['interval', '2s'],
        ['by', 'app'],
      ]);
      expect(JSON.parse(text)).to.deep.equal({
        interval_ms: 2_000,
        buckets: [
          { time: '2023-11-14T22:13:20.000000000Z', app: 'shop', count: 2 },
          { time: '2023-11-14T22:13:22.000000000Z', app: 'bank', count: 2 },
        ],
      });
      const all = JSON.parse(await get('/v1/logs/histogram', [['start', `${START_S}`]])) as {
        buckets: { count: number }[];
      };
      expect(all.buckets.reduce((sum, { count }) => sum + count, 0)).to.equal(4);
      const odd = JSON.parse(await get('/v1/logs/histogram', [['start', `${START_S}000000001`]])) as {
        interval_ms: number;
      };
      expect(odd.interval_ms % 1).to.equal(0);
    });

    it('merges tables by time', async () => {
      await almanac.rows(
        "CREATE TABLE splunk_logs (ts TIMESTAMP(3) TIME INDEX, message STRING, n BIGINT) WITH (append_mode = 'true')",
      );
      await almanac.rows(`INSERT INTO splunk_logs VALUES (${START_S}500, 'between', 9007199254740993)`);
      const merged = await rows(['order', 'asc'], ['limit', '2']);
      expect(merged.map(({ _table: table }) => table)).to.deep.equal(['loki_logs', 'splunk_logs']);
      const text = await get('/v1/logs', [
        ['start', `${START_S}`],
        ['table', 'splunk_logs'],
        ['where', 'n>=1e3'],
      ]);
      expect(text).to.contain('"n":9007199254740993').and.to.contain('"ts":"2023-11-14T22:13:20.500000000Z"');
      await almanac.rows('DROP TABLE splunk_logs');
    });

    const refused: readonly (readonly [query: string, error: string])[] = [
      ['where=app', 'is not a column, one of'],
      ['where=none%3D1', 'has no column "none"'],
      ['where=app%3D~(', 'error parsing regexp'],
      ['columns=none', 'has no column "none"'],
      ['limit=x', 'whole number of at most 1000000'],
      ['limit=1000001', 'whole number of at most 1000000'],
      ['order=up', 'must be one of desc, asc'],
      ['format=xml', 'must be one of json, ndjson'],
      ['start=then', 'to a valid time'],
      ['last=soon', 'to a valid duration'],
      ['start=1&last=5m', 'either "start" or "last"'],
      ['start=5&end=4', 'the end must not be before the start'],
      ['at=1&before=5000', 'at most 1000'],
      [Array.from({ length: 51 }, () => 'where=app%3Dx').join('&'), 'more than 50 parameters "where"'],
      ['search=%22disk+full', 'phrase "disk of "search" has no closing quote'],
      [`search=${Array.from({ length: 60 }, () => 'a').join('+')}`, 'at most 50 terms'],
    ];
    for (const [query, error] of refused) {
      it(`refuses ${query.slice(0, 50)}`, async () => {
        const { status, text } = await almanac.get(`/v1/logs?${query}`);
        expect(status, text).to.equal(400);
        expect((JSON.parse(text) as { error: string }).error).to.contain(error);
      });
    }

    it('refuses a body of another type than a form, which has no condition', async () => {
      const body = JSON.stringify({ search: 'disk' });
      for (const path of ['/v1/logs', '/v1/logs/histogram']) {
        const { status, text } = await almanac.post(path, body, JSON_TYPE);
        expect(status, text).to.equal(415);
        expect((JSON.parse(text) as { error: string }).error).to.contain('"application/json" is not supported: use');
      }
    });

    it('refuses histograms with too many intervals or values', async () => {
      const tiny = await almanac.get(`/v1/logs/histogram?start=${START_S}&interval=1ns`);
      expect(tiny.status).to.equal(400);
      expect(tiny.text).to.contain('more than 11000 intervals');
      expect((await almanac.get('/v1/logs/histogram?by=none')).text).to.contain('has no column');
    });
  });
});
