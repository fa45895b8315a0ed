import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const YAML = { 'content-type': 'application/yaml' };
const JSON_TYPE = { 'content-type': 'application/json' };
const COLUMNS = 'ts TIMESTAMP(9) TIME INDEX, host STRING, port INT, team STRING, size BIGINT, PRIMARY KEY (host)';

describe('lookups of pipelines', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
    await almanac.sql(`CREATE TABLE hosts (${COLUMNS}) WITH (append_mode = 'true')`);
    await almanac.sql(
      "INSERT INTO hosts VALUES (1, 'a', 1, 'old', 1), (2, 'a', 1, 'web', 9007199254740993), (1, 'b', 2, NULL, 5)",
    );
  });

  after(() => almanac.stop());

  function pipeline(options: string): string {
    const columns = '{fields: [host, team], type: string}\n  - {fields: [n, size, port], type: int64}';
    return `processors:\n  - lookup: {${options}}\ntransform:\n  - ${columns}\n`;
  }

  async function upload(name: string, options: string): Promise<string> {
    return (await almanac.post(`/v1/pipelines/${name}`, pipeline(options), YAML)).text;
  }

  async function rows(options: string, items: readonly object[]): Promise<Record<string, unknown>[]> {
    const body = JSON.stringify({ pipeline: pipeline(options), data: items });
    const { status, text } = await almanac.post('/v1/pipelines/_dryrun', body, JSON_TYPE);
    expect(status, text).to.equal(200);
    const [report] = JSON.parse(text) as { rows: { key: string; value: unknown }[][] }[];
    return report.rows.map((cells) => {
      const known = cells.filter(({ key, value }) => key !== 'almanac_timestamp' && value !== null);
      return Object.fromEntries(known.map(({ key, value }) => [key, value]));
    });
  }

  it('add columns of the newest row', async () => {
    const found = await rows('from: hosts, on: {host: host}, add: [team, "size, n"]', [
      { host: 'a' },
      { host: 'b', team: 'kept' },
      { host: 'c' },
    ]);
    expect(found).to.deep.equal([
      { host: 'a', team: 'web', n: Number('9007199254740993') },
      { host: 'b', team: 'kept', n: 5 },
      { host: 'c' },
    ]);
  });

  it('compare several columns, and numbers with texts', async () => {
    const options = 'from: public.hosts, on: {host: host, port: port}, add: [team], ignore_missing: true';
    const found = await rows(options, [
      { host: 'a', port: 1 },
      { host: 'a', port: '1' },
      { host: 'a', port: 2 },
      { host: 'a' },
    ]);
    expect(found.map(({ team }) => team)).to.deep.equal(['web', 'web', undefined, undefined]);
  });

  it('refresh while items pass, and report the age of the rows', async () => {
    await almanac.sql(`CREATE TABLE changing (${COLUMNS})`);
    await almanac.sql("INSERT INTO changing VALUES (1, 'a', 1, 'first', 1)");
    await upload('changing', 'from: changing, on: {host: host}, add: [team], refresh: 1s');
    const ingest = async (): Promise<unknown> => {
      const path = '/v1/ingest?table=changed&pipeline_name=changing';
      const reply = await almanac.post(path, '{"host":"a"}', JSON_TYPE);
      expect(reply.status, reply.text).to.equal(200);
      return almanac.rows('SELECT DISTINCT team FROM changed ORDER BY team');
    };
    expect(await ingest()).to.deep.equal([['first']]);
    const { text } = await almanac.get('/metrics');
    expect(text).to.match(/^almanac_pipeline_lookup_age_seconds\{table="public.changing"\} \d/m);
    await almanac.sql("INSERT INTO changing VALUES (2, 'a', 1, 'second', 1)");
    let seen: unknown = undefined;
    const untilMs = performance.now() + 20_000;
    while (performance.now() < untilMs && JSON.stringify(seen) !== '[["first"],["second"]]') seen = await ingest();
    expect(seen).to.deep.equal([['first'], ['second']]);
    // A table that is gone leaves the rows that were read.
    await almanac.sql('DROP TABLE changing');
    for (let i = 0; i < 5; i++) expect(await ingest()).to.deep.equal([['first'], ['second']]);
  }).timeout(40_000);

  const refused: readonly (readonly [options: string, message: string])[] = [
    ['on: {host: host}, add: [team]', 'missing field: from'],
    ['from: a., on: {host: host}, add: [team]', 'must be a table, or database.table'],
    ['from: hosts, add: [team]', 'missing field: on'],
    ['from: hosts, on: {}, add: [team]', 'on has 1 to 8 columns'],
    ['from: hosts, on: {host: host}', 'add has 1 to 100 columns'],
    ['from: hosts, on: {host: host}, add: [team], refresh: 1ms', 'must be from 1s to 24h'],
  ];
  for (const [options, message] of refused) {
    it(`refuse ${options}`, async () => expect(await upload('refused', options)).to.contain(message));
  }

  it('refuse requests if the table or a column does not exist', async () => {
    const run = async (options: string): Promise<string> => {
      const body = JSON.stringify({ pipeline: pipeline(options), data: [{ host: 'a' }] });
      const { status, text } = await almanac.post('/v1/pipelines/_dryrun', body, JSON_TYPE);
      expect(status).to.be.within(400, 404);
      return text;
    };
    expect(await run('from: absent, on: {host: host}, add: [team]')).to.contain('absent');
    expect(await run('from: hosts, on: {hst: host}, add: [team]')).to.contain('has no column \\"hst\\"');
  });
});
