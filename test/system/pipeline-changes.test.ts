import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { Cluster } from '#test/support/cluster';
import { tempFolder } from '#test/support/temp-folder';

const YAML = { 'content-type': 'application/yaml' };
const JSON_TYPE = { 'content-type': 'application/json' };
const TEXT = { 'content-type': 'text/plain' };
const WEB = `
processors:
  - dissect: {field: message, pattern: '%{ip} %{status}'}
  - filter: {field: ip, targets: ['127.0.0.1']}
transform:
  - {field: ip, type: string, tag: true}
  - {field: status, type: int16}
`;

interface Step {
  readonly step: string;
  readonly pipeline: string;
  readonly context?: Readonly<Record<string, unknown>>;
  readonly dropped?: boolean;
  readonly time_us: number;
}

interface Explained {
  readonly tables: readonly { readonly rows: readonly unknown[] }[];
  readonly items: readonly { readonly steps: readonly Step[]; readonly error?: string; readonly step?: string }[];
}

describe('changes of pipelines', function () {
  this.timeout(60_000);
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  async function uploaded(name: string, text: string, query = ''): Promise<Record<string, unknown>> {
    const reply = await almanac.post(`/v1/pipelines/${name}${query}`, text, YAML);
    expect(reply.status, reply.text).to.equal(200);
    return JSON.parse(reply.text) as Record<string, unknown>;
  }

  async function refusal(reply: Promise<{ status: number; text: string }>): Promise<string> {
    const { status, text } = await reply;
    expect(status, text).to.equal(400);
    return (JSON.parse(text) as { error: string }).error;
  }

  async function dryRun<T>(envelope: unknown): Promise<T> {
    const { status, text } = await almanac.post('/v1/pipelines/_dryrun', JSON.stringify(envelope), JSON_TYPE);
    expect(status, text).to.equal(200);
    return JSON.parse(text) as T;
  }

  describe('with tests', () => {
    const PASSING = `tests:
  - name: reads the status
    input: "10.0.0.1 200\\n127.0.0.1 500\\n10.0.0.2 404"
    expect: [{ip: 10.0.0.1, status: 200}, {ip: 10.0.0.2, status: 404}]
  - input: {message: '10.0.0.3 1'}
    expect: [{ip: 10.0.0.3, status: 1, other: null}]
  - {input: {message: 'x y'}, error: to type 'INT16'}
  - {input: {message: '127.0.0.1 5'}, expect: []}
`;

    it('are stored if all pass', async () => {
      const { pipelines } = await uploaded('tested', PASSING + WEB);
      expect(pipelines).to.have.length(1);
    });

    for (const [name, tests, reason] of [
      [
        'a row differs',
        "tests: [{input: {message: '10.0.0.1 200'}, expect: [{ip: 10.0.0.1, status: 201}]}]",
        'test "tests[0]" fails: row 0: expected {"ip":"10.0.0.1","status":201}, got {"ip":"10.0.0.1","status":200}',
      ],
      [
        'a column is missing',
        "tests: [{name: n, input: {message: '10.0.0.1 200'}, expect: [{ip: 10.0.0.1}]}]",
        'test "n" fails: row 0',
      ],
      ['a row is missing', "tests: [{input: {message: '127.0.0.1 2'}, expect: [{ip: a}]}]", 'expected 1 rows, got 0'],
      ['an item fails', 'tests: [{input: {message: x}, expect: []}]', 'No matching pattern found'],
      ['no item fails', "tests: [{input: {message: 'a 1'}, error: bad}]", 'expected the error "bad", got 1 rows'],
      [
        'another error occurs',
        'tests: [{input: {message: x}, error: bad}]',
        'expected the error "bad", got "No matching',
      ],
      ['a test expects nothing', 'tests: [{input: {message: x}}]', 'needs either expect or error'],
      ['a test has no input', 'tests: [{expect: []}]', 'input must be an object'],
      ['tests are a map', 'tests: {}', 'tests must be a list'],
    ] as const) {
      it(`are refused if ${name}`, async () => {
        const error = await refusal(almanac.post('/v1/pipelines/untested', `${tests}\n${WEB}`, YAML));
        expect(error).to.contain(reason);
        expect((await almanac.get('/v1/pipelines/untested')).status).to.equal(400);
      });
    }

    it('may have several tables, scripts that split items, and times', async () => {
      await uploaded(
        'many',
        'tests:\n  - {input: {items: [{a: 1}, {a: 2.5}], s: x}, expect: [{table_suffix: _x, a: 1.0}, {a: 2.5}]}\n' +
          'processors:\n  - vrl: {source: \'. = [{"a": .items[0].a, "s": .s}, .items[1]]\'}\n' +
          "transform:\n  - {field: a, type: float64}\ntable_suffix: '_${s}'\n",
      );
      const timed = 'processors:\n  - epoch: {field: t, resolution: s}\n';
      await uploaded(
        'timed',
        `tests:\n  - {input: {t: 86400, v: [1, {k: null}]}, expect: {t: 86400, v: [1, {k: null}]}}\n${timed}`,
      );
    });
  });

  it('are explained step by step, with the step that fails', async () => {
    const data = [{ message: '10.0.0.1 200' }, { message: '127.0.0.1 1' }, { message: 'none' }, { message: 'a b' }];
    const { items, tables } = await dryRun<Explained>({ pipeline: WEB, data, explain: true });
    expect(items.map(({ steps }) => steps.length)).to.deep.equal([2, 2, 0, 2]);
    const [first, dropped, failing, last] = items;
    expect(first.steps[0]).to.deep.include({
      step: 'processors[0] dissect',
      context: { ip: '10.0.0.1', message: '10.0.0.1 200', status: '200' },
    });
    expect(first.steps[0].time_us).to.be.at.least(0);
    expect(dropped.steps[1]).to.deep.include({ step: 'processors[1] filter', dropped: true });
    expect(failing).to.deep.include({ error: 'No matching pattern found', step: 'processors[0] dissect' });
    expect(last.step).to.equal('transform');
    expect(tables[0].rows).to.have.length(1);
    const misspelled = await dryRun<object>({ pipeline: `${WEB}\nrouts: []\n`, data, explain: true });
    expect(misspelled).to.have.deep.property('warnings', ['unknown key routs']);
  });

  it('are tried on what a table stores', async () => {
    const lines = Array.from({ length: 30 }, (_, i) => `10.0.0.${i} ${i < 25 ? i : 'x'}`).join('\n');
    const ingested = await almanac.post('/v1/ingest?table=raw&pipeline_name=greptime_identity', lines, TEXT);
    expect(ingested.status, ingested.text).to.equal(200);
    const report = await dryRun<Record<string, unknown>>({ pipeline: WEB, against: 'raw', last: '1h' });
    expect(report).to.include({ items: 30, failed: 5, dropped: 0 }).and.not.have.property('warnings');
    const misspelled = await dryRun<object>({ pipeline: `${WEB}\nrouts: []\n`, against: 'raw' });
    expect(misspelled).to.have.deep.property('warnings', ['unknown key routs']);
    expect(report['failures']).to.have.length(5);
    expect((report['failures'] as unknown[])[0]).to.have.keys('item', 'step', 'error');
    const [table] = report['tables'] as { row_count: number; rows: unknown[] }[];
    expect([table.row_count, table.rows.length]).to.deep.equal([25, 10]);
    expect(await dryRun({ pipeline: WEB, against: 'raw', limit: 3 })).to.include({ items: 3 });
    await uploaded('stored', WEB);
    expect(await dryRun({ pipeline_name: 'stored', against: 'raw', column: 'message' })).to.include({ items: 30 });
    const post = (envelope: unknown): Promise<{ status: number; text: string }> =>
      almanac.post('/v1/pipelines/_dryrun', JSON.stringify(envelope), JSON_TYPE);
    expect(await refusal(post({ pipeline: WEB, against: 'absent' }))).to.contain('Table not found: absent');
    expect(await refusal(post({ pipeline: WEB, against: 'raw', column: 'none' }))).to.contain('column must be one of');
    await almanac.sql('CREATE TABLE numbers (n INT, ts TIMESTAMP(3) TIME INDEX)');
    expect(await refusal(post({ pipeline: WEB, against: 'numbers' }))).to.contain('has no column of text');
    expect(await refusal(post({ pipeline: WEB, against: 'raw', last: 'long' }))).to.contain('long');
    expect(await refusal(post({ pipeline: WEB, against: 'raw', limit: 1001 }))).to.contain('limit must be 1 to 1000');
  });

  it('report what they would change in a table', async () => {
    expect(await uploaded('new', WEB, '?table=web')).to.deep.include({
      columns_added: [
        { name: 'ip', data_type: 'STRING', column_type: 'TAG' },
        { name: 'status', data_type: 'INT16', column_type: 'FIELD' },
        { name: 'almanac_timestamp', data_type: 'TIMESTAMP_NANOSECOND', column_type: 'TIMESTAMP' },
      ],
      conflicts: [],
    });
    await almanac.post('/v1/ingest?table=web&pipeline_name=new', '10.0.0.1 200', TEXT);
    const changed = `${WEB.replace('int16', 'string')}  - {field: extra, type: float64}\n`;
    expect(await uploaded('new', changed, '?table=web')).to.deep.include({
      columns_added: [{ name: 'extra', data_type: 'FLOAT64', column_type: 'FIELD' }],
      conflicts: [{ column: 'status', expected: 'FIELD INT16', given: 'FIELD STRING' }],
    });
    const timed = 'processors:\n  - epoch: {field: at}\n';
    expect(await uploaded('new', timed, '?table=web')).to.deep.include({
      conflicts: [{ column: 'at', expected: 'TIMESTAMP almanac_timestamp', given: 'TIMESTAMP TIMESTAMP_MILLISECOND' }],
    });
    expect(await uploaded('new', WEB)).to.not.have.any.keys('columns_added', 'conflicts');
  });

  describe('with routes', () => {
    const routed = (routes: string): string =>
      `routes: ${routes}\ntransform:\n  - {fields: [loki_line, message, event], type: string}\n`;
    const loki = (table: string, headers = {}): ReturnType<Almanac['post']> =>
      almanac.post(
        '/v1/loki/api/v1/push',
        JSON.stringify({ streams: [{ stream: { app: 'x' }, values: [['1700000000000000000', 'a']] }] }),
        { ...JSON_TYPE, 'x-almanac-log-table-name': table, ...headers },
      );

    it('take requests that name no pipeline, by table or header', async () => {
      await uploaded('by_table', routed("[{table: 'routed_*_x'}]"));
      expect((await loki('routed_a_x')).status).to.equal(204);
      expect((await loki('routed_a')).status).to.equal(204);
      const columns = async (table: string): Promise<unknown[]> => {
        return (await almanac.rows(`DESCRIBE TABLE ${table}`)).map(([name]) => name);
      };
      expect(await columns('routed_a_x')).to.include('loki_line');
      expect(await columns('routed_a'))
        .to.include('line')
        .and.to.not.include('loki_line');
      const ingested = await almanac.post('/v1/ingest?table=routed_b_x', 'm', TEXT);
      expect(ingested.status, ingested.text).to.equal(200);
      expect(await almanac.rows('SELECT message FROM routed_b_x')).to.deep.equal([['m']]);
      await uploaded('by_header', routed('[{header: X-Source, value: nginx}, {header: x-any, table: headed}]'));
      expect((await loki('headed', { 'x-source': 'nginx' })).status).to.equal(204);
      expect(await almanac.rows('SELECT loki_line FROM headed')).to.deep.equal([['a']]);
      expect((await loki('headed_not', { 'x-source': 'other', 'x-any': '1' })).status).to.equal(204);
      expect(await columns('headed_not')).to.include('line');
    });

    it('do not apply where a request names a pipeline, and end with their own pipeline', async () => {
      const { pipelines } = await uploaded('ending', routed('[{table: ended}]'));
      const headers = { 'x-almanac-pipeline-name': 'greptime_identity' };
      expect((await loki('ended', headers)).status).to.equal(204);
      expect(await almanac.rows('SELECT loki_label_app FROM ended')).to.deep.equal([['x']]);
      const [{ version }] = pipelines as { version: string }[];
      const path = `/v1/pipelines/ending?version=${encodeURIComponent(version)}`;
      expect((await fetch(almanac.url + path, { method: 'DELETE' })).status).to.equal(200);
      expect(await refusal(almanac.post('/v1/ingest?table=ended', 'm', TEXT))).to.contain('pipeline_name is required');
    });

    for (const [name, routes, reason] of [
      ['a map', '{}', 'routes must be a list'],
      ['no condition', '[{db: public}]', 'needs table or header'],
      ['a value without a header', '[{table: t, value: x}]', 'value needs header'],
      ['an unknown key', '[{tabel: t}]', 'unknown key "tabel"'],
      ['an invalid header', '[{header: "a b"}]', 'invalid name of a header'],
    ] as const) {
      it(`are refused with ${name}`, async () => {
        expect(await refusal(almanac.post('/v1/pipelines/r', routed(routes), YAML))).to.contain(reason);
      });
    }
  });
});

describe('routes of pipelines in a cluster', () => {
  it('reach every gateway', async () => {
    const cluster = await Cluster.start(tempFolder(after), { gateways: 2, ingesters: 1, queriers: 1 });
    try {
      const [one, two] = cluster.gateways;
      const text = 'routes: [{table: routed}]\ntransform:\n  - {field: message, type: string}\n';
      const refused = await two.post('/v1/ingest?table=routed', 'a', TEXT);
      expect(refused.status).to.equal(400);
      expect((await one.post('/v1/pipelines/routed', text, YAML)).status).to.equal(200);
      let status = 0;
      for (let i = 0; i < 1_000 && status !== 200; i++) {
        ({ status } = await two.post('/v1/ingest?table=routed', 'b', TEXT));
      }
      expect(status).to.equal(200);
      expect(await one.rows('SELECT message FROM routed')).to.deep.equal([['b']]);
    } finally {
      await cluster.stop();
    }
  }).timeout(60_000);
});
