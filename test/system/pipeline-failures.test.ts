import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const YAML = { 'content-type': 'application/yaml' };
const JSON_TYPE = { 'content-type': 'application/json' };
const NUMBERS =
  'transform:\n  - {field: n, type: int32}\n  - {field: at, type: timestamp, index: timestamp, on_failure: default}\n';
/** Accepts what `NUMBERS` does not. */
const FIXED = NUMBERS.replace('int32', 'string');

interface Answer {
  readonly output: readonly { readonly affectedrows: number }[];
  readonly failed?: number;
}

interface Replayed {
  readonly replayed: number;
  readonly failed: number;
}

describe('items that fail', function () {
  this.timeout(60_000);
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  async function upload(name: string, text: string): Promise<void> {
    const reply = await almanac.post(`/v1/pipelines/${name}`, text, YAML);
    expect(reply.status, reply.text).to.equal(200);
  }

  async function ingest(query: string, items: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const body = typeof items === 'string' ? items : JSON.stringify(items);
    const reply = await almanac.post(`/v1/ingest?${query}`, body, { ...JSON_TYPE, ...headers });
    expect(reply.status, reply.text).to.equal(200);
    return JSON.parse(reply.text) as Answer;
  }

  async function replay(name: string, query: string, on = almanac): Promise<Replayed> {
    const reply = await on.post(`/v1/pipelines/${name}/replay?${query}`, '');
    expect(reply.status, reply.text).to.equal(200);
    return JSON.parse(reply.text) as Replayed;
  }

  it('are stored with where and why, and leave the table by a replay after the pipeline is fixed', async () => {
    await upload('fixed', NUMBERS);
    const items = [{ n: 1 }, { n: 'two', deep: { a: [1, 2.5] } }, { n: 3 }, { n: null, x: 'ü "' }, { n: '4.5' }];
    const answer = await ingest('table=fx&pipeline_name=fixed&on_error=store', items);
    expect(answer.failed).to.equal(2);
    expect(answer.output).to.deep.equal([{ affectedrows: 3 }]);
    const failures = await almanac.rows(
      'SELECT pipeline, step, message, item, target FROM fx_failures ORDER BY almanac_timestamp',
    );
    expect(failures).to.deep.equal([
      [
        'fixed',
        'transform',
        "Failed to coerce string value 'two' to type 'INT32' (column n)",
        '{"deep":{"a":[1,2.5]},"n":"two"}',
        'fx',
      ],
      ['fixed', 'transform', "Failed to coerce string value '4.5' to type 'INT32' (column n)", '{"n":"4.5"}', 'fx'],
    ]);
    const [[version, time]] = await almanac.rows(
      'SELECT version, max(almanac_timestamp) FROM fx_failures GROUP BY version',
    );
    expect(version).to.match(/^\d{4}-\d\d-\d\d \d\d:/);
    expect(Number(time) / 1e6).to.be.closeTo(Date.now(), 60_000);

    // A replay without a fix changes nothing.
    expect(await replay('fixed', 'table=fx')).to.include({ replayed: 0, failed: 2 });
    await upload('fixed', NUMBERS.replace('int32', 'float64'));
    await almanac.rows('DROP TABLE fx');
    expect(await replay('fixed', 'table=fx')).to.include({ replayed: 1, failed: 1 });
    expect(await almanac.rows('SELECT item FROM fx_failures')).to.deep.equal([[failures[0][3]]]);
    expect(await almanac.rows('SELECT n, "at" FROM fx')).to.deep.equal([[4.5, time]]);
    await almanac.rows('DROP TABLE fx');
    await upload('fixed', FIXED);
    expect(await replay('fixed', 'table=fx')).to.include({ replayed: 1, failed: 0 });
    expect(await almanac.rows('SELECT n FROM fx')).to.deep.equal([['two']]);
    expect(await almanac.rows('SELECT count(*) FROM fx_failures')).to.deep.equal([[0]]);
  });

  it('are refused, left out or stored as the request says, else as the pipeline says', async () => {
    const items = [{ n: 1 }, { n: 'x' }];
    for (const word of ['fail', 'skip', 'store']) await upload(`word_${word}`, `on_error: ${word}\n${NUMBERS}`);
    const post = (query: string, headers = {}): ReturnType<Almanac['post']> =>
      almanac.post(`/v1/ingest?table=wd&${query}`, JSON.stringify(items), { ...JSON_TYPE, ...headers });
    expect((await post('pipeline_name=word_fail')).status).to.equal(400);
    expect((await post('pipeline_name=word_store&on_error=fail')).status).to.equal(400);
    expect(await almanac.rows("SHOW TABLES LIKE 'wd%'")).to.deep.equal([]);
    expect(JSON.parse((await post('pipeline_name=word_skip')).text)).to.not.have.property('failed');
    const skipping = JSON.parse((await post('pipeline_name=word_fail&skip_error=true')).text) as object;
    expect(skipping).to.include({ skipped: 1 }).and.not.have.property('failed');
    expect(await almanac.rows("SHOW TABLES LIKE 'wd_failures'")).to.deep.equal([]);
    expect(JSON.parse((await post('pipeline_name=word_store')).text)).to.include({ failed: 1 });
    const header = { 'x-almanac-pipeline-params': 'on_error=store' };
    expect(JSON.parse((await post('pipeline_name=word_fail&on_error=skip', header)).text)).to.include({ failed: 1 });
    expect(await almanac.rows('SELECT count(*) FROM wd_failures')).to.deep.equal([[2]]);
    const wrong = await post('pipeline_name=word_fail&on_error=drop');
    expect([wrong.status, wrong.text]).to.satisfy(([status, text]: [number, string]) => {
      return status === 400 && text.includes('on_error must be one of fail, skip, store');
    });
    const built = await almanac.post('/v1/pipelines/word', `on_error: drop\n${NUMBERS}`, YAML);
    expect(built.status).to.equal(400);
  });

  it('are stored with times, floats and lists as they were, whatever the protocol', async () => {
    const loki = 'on_error: store\nprocessors:\n  - filter: {field: loki_line, targets: [never]}\n';
    await upload(
      'loki_fail',
      `${loki}  - dissect: {field: loki_line, pattern: '%{a} %{b}'}\ntransform:\n  - {fields: [a, b], type: string}\n` +
        '  - {field: loki_label_app, type: string, tag: true}\n  - {field: almanac_timestamp, type: timestamp, index: timestamp}\n',
    );
    const values = [
      ['1700000000000000001', 'ok line'],
      ['1700000000000000002', 'bad'],
    ];
    const headers = { ...JSON_TYPE, 'x-almanac-pipeline-name': 'loki_fail', 'x-almanac-log-table-name': 'lf' };
    const push = await almanac.post(
      '/v1/loki/api/v1/push',
      JSON.stringify({ streams: [{ stream: { app: 'x' }, values }] }),
      headers,
    );
    expect(push.status, push.text).to.equal(204);
    expect(await almanac.rows('SELECT step, item FROM lf_failures')).to.deep.equal([
      ['processors[1] dissect', '{"almanac_timestamp":1700000000000000002,"loki_label_app":"x","loki_line":"bad"}'],
    ]);
    await upload(
      'loki_fail',
      'transform:\n  - {field: loki_line, type: string}\n  - {field: loki_label_app, type: string, tag: true}\n' +
        '  - {field: almanac_timestamp, type: timestamp, index: timestamp}\n',
    );
    expect(await replay('loki_fail', 'table=lf')).to.include({ replayed: 1, failed: 0 });
    const { text } = await almanac.sql('SELECT almanac_timestamp, loki_label_app FROM lf WHERE loki_line IS NOT NULL');
    expect(text).to.contain('[1700000000000000002,"x"]');
  });

  it('of a list that a processor made are stored alone', async () => {
    const split = "processors:\n  - vrl: {source: '.items'}\n";
    await upload('split', `${split}${NUMBERS}`);
    const items = [{ items: [{ n: 1 }, { n: 'x', f: 2 }, 5, { n: 2 }] }];
    expect(await ingest('table=sp&pipeline_name=split&on_error=store', items)).to.deep.include({
      failed: 2,
      output: [{ affectedrows: 2 }],
    });
    const rows = await almanac.rows('SELECT form, item FROM sp_failures ORDER BY almanac_timestamp');
    expect(rows).to.deep.equal([
      ['element', '{"f":2,"n":"x"}'],
      ['element', '5'],
    ]);
    await almanac.rows('DROP TABLE sp');
    await upload('split', `${split}${FIXED}`);
    expect(await replay('split', 'table=sp')).to.include({ replayed: 1, failed: 1 });
    expect(await almanac.rows('SELECT n FROM sp')).to.deep.equal([['x']]);
  });

  it('are stored without the secrets that their pipeline redacts, wherever they are', async () => {
    const redact =
      "processors:\n  - dissect: {field: message, pattern: '%{user} %{n}'}\n  - redact: {field: user, presets: [email]}\n";
    await upload('secret', `${redact}${NUMBERS}`);
    const items = [
      { message: 'kim@example.org 5' },
      { message: 'lee@example.org x', more: { mail: 'lee@example.org' } },
    ];
    expect(await ingest('table=se&pipeline_name=secret&on_error=store', items)).to.include({ failed: 1 });
    const [[item]] = await almanac.rows('SELECT item FROM se_failures');
    expect(item).to.equal('{"message":"*** x","more":{"mail":"***"}}');
    await upload(
      'secret',
      'processors:\n  - redact: {field: message, presets: [email]}\n  - json_parse: {field: message}\ntransform:\n  - {field: message, type: json}\n',
    );
    await ingest('table=sm&pipeline_name=secret&on_error=store', [{ message: 'lee@example.org' }]);
    expect(JSON.stringify(await almanac.rows('SELECT * FROM sm_failures'))).to.not.contain('lee@');
  });

  it('are stored without the part of a secret that the end of an error message shows', async () => {
    const redact = "processors:\n  - date: {field: message, formats: ['%Y']}\n  - redact: {presets: [email]}\n";
    await upload('cut', `${redact}${NUMBERS}`);
    const items = [150, 184, 190, 199].flatMap((length) => [
      { message: `${'x'.repeat(length)} kim.secret@example.org ${'y'.repeat(300)}` },
      { message: `${'x'.repeat(length - 5)}... kim.secret@example.org ${'y'.repeat(300)}` },
    ]);
    expect(await ingest('table=cut&pipeline_name=cut&on_error=store', items)).to.include({ failed: items.length });
    const stored = await almanac.rows('SELECT message FROM cut_failures');
    expect(stored).to.have.length(items.length);
    expect(stored.filter((_, i) => i % 2 === 0)).to.deep.equal(
      Array.from({ length: 4 }, () => ['Processor date: failed to parse ***']),
    );
    for (const [message] of stored) expect(message).to.match(/^Processor d[a-z: ]*\*\*\*$/);
    await ingest('table=cut2&pipeline_name=cut&on_error=store', [{ message: 'kim.secret@example.org ...' }]);
    expect(await almanac.rows('SELECT message FROM cut2_failures')).to.deep.equal([
      ['Processor date: failed to parse *** ...'],
    ]);
  });

  it('are stored by a replay whatever the pipeline drops, and once each if they make several rows', async () => {
    await upload('flow', NUMBERS);
    expect((await ingest('table=fl&pipeline_name=flow&on_error=store', [{ n: 'a' }, { n: 'b' }])).failed).to.equal(2);
    const dropping = ['sample: {rate: 0}', "throttle: {limit: '1/h'}", 'dedupe: {fields: [none], window: 1h}'];
    await upload('flow', `processors:\n${dropping.map((line) => `  - ${line}\n`).join('')}${FIXED}`);
    expect(await replay('flow', 'table=fl')).to.include({ replayed: 2, failed: 0 });
    expect(await almanac.rows('SELECT n FROM fl ORDER BY n')).to.deep.equal([['a'], ['b']]);

    await upload('many', NUMBERS);
    expect((await ingest('table=mn&pipeline_name=many&on_error=store', [{ n: 'bad' }, { n: 'good' }])).failed).to.equal(
      2,
    );
    const source = 'if .n == "bad" { [{"n": "first"}, 5] } else { [{"n": "x"}, {"n": "y"}] }';
    await upload('many', `processors:\n  - vrl:\n      source: |\n        ${source}\n${FIXED}`);
    expect(await replay('many', 'table=mn')).to.include({ replayed: 1, failed: 1 });
    expect(await almanac.rows('SELECT n FROM mn ORDER BY n')).to.deep.equal([['x'], ['y']]);
  });

  it('are answered with clear errors where a replay is not possible', async () => {
    await upload('none', NUMBERS);
    for (const [path, reason] of [
      ['/v1/pipelines/none/replay', 'table is required'],
      ['/v1/pipelines/none/replay?table=absent', 'there is no \\"absent_failures\\"'],
      ['/v1/pipelines/gone/replay?table=fx', 'Pipeline not found'],
      ['/v1/pipelines/none/replay?table=fx&limit=0', 'limit must be 1 to'],
      ["/v1/pipelines/none/replay?table=x'%22--", 'there is no'],
    ]) {
      const { status, text } = await almanac.post(path, '');
      expect([status, text], path).to.satisfy(
        ([given, body]: [number, string]) => given === 400 && body.includes(reason),
      );
    }
  });

  it('are not lost by a crash within a replay', async () => {
    const folder = tempFolder(after);
    const first = await Almanac.start(folder);
    const count = 4_000;
    await first.post('/v1/pipelines/crash', NUMBERS, YAML);
    const lines = Array.from({ length: count }, (_, i) => JSON.stringify({ n: `x${i}` })).join('\n');
    const stored = await first.post('/v1/ingest?table=cr&pipeline_name=crash&on_error=store', lines, JSON_TYPE);
    expect(JSON.parse(stored.text)).to.include({ failed: count });
    await first.post('/v1/pipelines/crash', FIXED, YAML);
    const running = first.post('/v1/pipelines/crash/replay?table=cr', '').catch(() => undefined);
    for (;;) {
      const { rows } = await first.sql('SELECT count(*) FROM cr');
      if (rows.length > 0 && Number(rows[0][0]) > 0) break;
    }
    await first.kill();
    await running;
    const second = await Almanac.start(folder);
    try {
      await replay('crash', 'table=cr', second);
      expect(await second.rows('SELECT count(*) FROM cr_failures')).to.deep.equal([[0]]);
      expect(await second.rows('SELECT count(*), count(DISTINCT n) FROM cr')).to.deep.equal([[count, count]]);
    } finally {
      await second.stop();
    }
  });
});
