import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { Cluster } from '#test/support/cluster';
import { tempFolder } from '#test/support/temp-folder';

const YAML = { 'content-type': 'application/yaml' };
const JSON_TYPE = { 'content-type': 'application/json' };
const TEXT = { 'content-type': 'text/plain' };
const WEB = `
processors:
  - dissect: {field: message, pattern: '%{ip} %{status} %{ms}'}
transform:
  - {field: ip, type: string, tag: true}
  - {field: status, type: int16}
  - {field: ms, type: float64, on_failure: default}
`;

interface Listed {
  readonly pipelines: readonly { readonly name: string; readonly version: string; readonly pipeline?: string }[];
  readonly warnings?: readonly string[];
}

describe('pipelines', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  async function upload(name: string, text: string): Promise<string> {
    const reply = await almanac.post(`/v1/pipelines/${name}`, text, YAML);
    expect(reply.status, reply.text).to.equal(200);
    return (JSON.parse(reply.text) as Listed).pipelines[0].version;
  }

  async function listed(path: string): Promise<Listed> {
    const reply = await almanac.get(path);
    expect(reply.status, reply.text).to.equal(200);
    return JSON.parse(reply.text) as Listed;
  }

  async function errorOf(reply: Promise<{ status: number; text: string }>, status = 400): Promise<string> {
    const { status: given, text } = await reply;
    expect(given, text).to.equal(status);
    return (JSON.parse(text) as { error: string }).error;
  }

  async function remove(path: string): Promise<Listed> {
    const reply = await fetch(almanac.url + path, { method: 'DELETE' });
    return (await reply.json()) as Listed;
  }

  describe('stored', () => {
    it('keeps every version, and serves the latest that exists', async () => {
      const first = await upload('kept', WEB);
      const second = await upload('kept', `${WEB}# second\n`);
      expect(second > first).to.equal(true);
      const latest = await listed('/v1/pipelines/kept');
      expect(latest.pipelines).to.deep.equal([{ name: 'kept', version: second, pipeline: `${WEB}# second\n` }]);
      const older = await listed(`/v1/pipelines/kept?version=${encodeURIComponent(first)}`);
      expect(older.pipelines[0]).to.include({ version: first, pipeline: WEB });
      const removed = await remove(`/v1/pipelines/kept?version=${encodeURIComponent(second)}`);
      expect(removed.pipelines).to.deep.equal([{ name: 'kept', version: second }]);
      expect((await listed('/v1/pipelines/kept')).pipelines[0].version).to.equal(first);
      expect((await remove(`/v1/pipelines/kept?version=${encodeURIComponent(second)}`)).pipelines).to.deep.equal([]);
    });

    it('lists the latest version of each, or all', async () => {
      await upload('list_a', WEB);
      const newest = await upload('list_a', WEB);
      await upload('list_b', WEB);
      const latest = (await listed('/v1/pipelines?name=list_')).pipelines;
      expect(latest.map(({ name }) => name)).to.deep.equal(['list_a', 'list_b']);
      expect(latest[0].version).to.equal(newest);
      expect((await listed('/v1/pipelines?name=list_&all=true')).pipelines).to.have.length(3);
    });

    it('refuses what does not build, reserved names and other content types', async () => {
      const post = (name: string, text: string, headers = YAML): Promise<{ status: number; text: string }> => {
        return almanac.post(`/v1/pipelines/${name}`, text, headers);
      };
      expect(await errorOf(post('x', 'processors:\n  - nothing: {}\n'))).to.equal('Unsupported nothing processor');
      const column = (options: string, version = 1): string =>
        `version: ${version}\ntransform:\n  - {field: a, ${options}}\n`;
      expect(await errorOf(post('x', column('type: text')))).to.contain("type: 'text'. Use one of int8, int16");
      expect(await errorOf(post('x', column('type: string, index: words')))).to.contain(
        'index type: words. Use one of timestamp, tag, fulltext',
      );
      expect(await errorOf(post('x', column('type: int8', 2)))).to.contain('got 0: add `index: timestamp` to a column');
      expect(await errorOf(post('greptime_x', WEB))).to.contain('pipeline_name cannot start with greptime_');
      expect(await errorOf(post('x', ''))).to.contain('pipeline is required in body');
      expect(await errorOf(post('x', WEB, JSON_TYPE), 415)).to.contain('is not supported');
      expect(await errorOf(post('x', `a: ${'x'.repeat(300_000)}`))).to.contain('larger than');
      expect(await errorOf(almanac.get('/v1/pipelines/x'))).to.equal('Pipeline not found, name: x, version: latest');
      expect(await errorOf(almanac.get('/v1/pipelines/x?version=now'))).to.contain(
        'Invalid pipeline version format: now',
      );
    });

    it('warns of keys that it ignores', async () => {
      const text = `${WEB}procesors: []\n`;
      const { status, text: reply } = await almanac.post('/v1/pipelines/misspelled', text, YAML);
      expect(status, reply).to.equal(200);
      expect(JSON.parse(reply)).to.have.deep.property('warnings', ['unknown key procesors']);
      const many = Array.from({ length: 500 }, (_, i) => `${'k'.repeat(300)}${i}: 1\n`).join('');
      const shown = await almanac.post('/v1/pipelines/misspelled', `${WEB}${many}`, YAML);
      expect((JSON.parse(shown.text) as { warnings: string[] }).warnings).to.have.length(20);
      expect(shown.text.length).to.be.below(10_000);
      const known = await almanac.post('/v1/pipelines/misspelled', `description: web\n${WEB}`, YAML);
      expect(JSON.parse(known.text)).to.not.have.property('warnings');
    });

    it('accepts a form with the text, under the old path too', async () => {
      const form = new FormData();
      form.append('file', new Blob([WEB]), 'web.yaml');
      const reply = await fetch(`${almanac.url}/v1/events/pipelines/formed`, { method: 'POST', body: form });
      expect(reply.status).to.equal(200);
      expect((await listed('/v1/events/pipelines/formed')).pipelines[0].pipeline).to.equal(WEB);
    });

    it('warns of options that do not exist', async () => {
      const text = 'processors:\n  - date: {field: at, ignore_mising: true}\n';
      const reply = await almanac.post('/v1/pipelines/warned', text, YAML);
      const { warnings } = JSON.parse(reply.text) as Listed;
      expect(warnings).to.deep.equal(['processors[0].date: unknown option ignore_mising']);
    });

    it('prints the table that a pipeline makes', async () => {
      await upload(
        'ddl',
        'transform:\n  - {field: a, type: int32, tag: true}\n  - {field: m, type: string, index: fulltext}\n',
      );
      const reply = await almanac.get('/v1/pipelines/ddl/ddl?table=t');
      const { sql } = JSON.parse(reply.text) as { sql: { sql: string } };
      expect(sql.sql).to.contain('CREATE TABLE IF NOT EXISTS `t`').and.to.contain('PRIMARY KEY (`a`)');
      expect(sql.sql).to.contain("FULLTEXT INDEX WITH(analyzer = 'English', backend = 'bloom'");
    });

    it('survives a restart', async () => {
      const folder = tempFolder(after);
      const first = await Almanac.start(folder);
      await first.post('/v1/pipelines/stays', WEB, YAML);
      await first.stop();
      const second = await Almanac.start(folder);
      const reply = await second.post('/v1/ingest?table=t&pipeline_name=stays', '10.0.0.1 200 1.5\n', TEXT);
      expect(reply.status, reply.text).to.equal(200);
      await second.stop();
    });
  });

  describe('writes', () => {
    it('store typed columns and tags', async () => {
      await upload('web', WEB);
      const body = '10.0.0.1 200 1.5\r\n\n10.0.0.2 404 slow\n';
      const reply = await almanac.post('/v1/ingest?table=web&pipeline_name=web', body, TEXT);
      expect(JSON.parse(reply.text)).to.deep.include({ output: [{ affectedrows: 2 }] });
      expect(await almanac.rows('SELECT ip, status, ms FROM web ORDER BY ip')).to.deep.equal([
        ['10.0.0.1', 200, 1.5],
        ['10.0.0.2', 404, 0],
      ]);
      const described = await almanac.rows('DESC TABLE web');
      expect(described.map(([name, type, key]) => [name, type, key])).to.deep.equal([
        ['ip', 'String', 'PRI'],
        ['status', 'Int16', ''],
        ['ms', 'Float64', ''],
        ['almanac_timestamp', 'TimestampNanosecond', 'PRI'],
      ]);
    });

    it('name the item and the step that failed, and store nothing', async () => {
      const body = '10.0.0.1 200 1\n10.0.0.2 many 1\n';
      const reply = await almanac.post('/v1/ingest?table=refused&pipeline_name=web', body, TEXT);
      expect(JSON.parse(reply.text)).to.deep.include({ code: 1004, item: 1, step: 'transform' });
      const dissect = await almanac.post('/v1/ingest?table=refused&pipeline_name=web', 'short\n', TEXT);
      const { error } = JSON.parse(dissect.text) as { error: string };
      expect(error).to.equal('No matching pattern found (item 0, processors[0] dissect)');
      expect(await almanac.rows("SHOW TABLES LIKE 'refused'")).to.deep.equal([]);
    });

    it('refuse a value of another type than the column of the table', async () => {
      await almanac.sql('CREATE TABLE typed (ts TIMESTAMP(9) TIME INDEX, n BIGINT)');
      const post = (body: string): Promise<{ status: number; text: string }> => {
        return almanac.post('/v1/ingest?table=typed&pipeline_name=greptime_identity', body, JSON_TYPE);
      };
      expect(await errorOf(post('[{"n":1},{"n":"x"}]'))).to.contain(
        'expected datatype: Int64, actual datatype: String',
      );
      expect(await almanac.rows('SELECT count(*) FROM typed')).to.deep.equal([[0]]);
      expect((await post('{"n":1}')).status).to.equal(200);
    });

    it('need a table, a pipeline and a content type', async () => {
      const post = (
        path: string,
        headers: Readonly<Record<string, string>>,
      ): Promise<{ status: number; text: string }> => {
        return almanac.post(`/v1/ingest?${path}`, '{}', headers);
      };
      expect(await errorOf(post('pipeline_name=web', JSON_TYPE))).to.contain('table is required');
      expect(await errorOf(post('table=t', JSON_TYPE))).to.contain('pipeline_name is required');
      expect(await errorOf(post('table=t&pipeline_name=absent', JSON_TYPE))).to.contain(
        'Pipeline not found, name: absent',
      );
      expect(await errorOf(post('table=t&pipeline_name=web', { 'content-type': 'a/b' }))).to.contain(
        'invalid content type: a/b, expected: one of application/json, application/x-ndjson, text/plain',
      );
    });

    it('are applied once with an idempotency key, also with several groups of rows', async () => {
      const body = JSON.stringify([{ a: 1 }, { a: 2, greptime_ttl: '7d' }, { a: 3, greptime_table_suffix: '_x' }]);
      const headers = { ...JSON_TYPE, 'idempotency-key': 'once' };
      for (let i = 0; i < 3; i++) {
        const reply = await almanac.post('/v1/ingest?table=once&pipeline_name=almanac_identity', body, headers);
        expect(reply.status, reply.text).to.equal(200);
      }
      expect(await almanac.rows('SELECT a FROM once ORDER BY a')).to.deep.equal([[1], [2]]);
      expect(await almanac.rows('SELECT a FROM once_x')).to.deep.equal([[3]]);
    });

    it('check all groups of rows before the first one is written', async () => {
      const post = (items: unknown, pipeline: string): Promise<{ status: number; text: string }> => {
        const path = `/v1/ingest?table=groups&pipeline_name=${pipeline}`;
        return almanac.post(path, JSON.stringify(items), JSON_TYPE);
      };
      const absent = { a: 2, greptime_table_suffix: '_absent', greptime_auto_create_table: 'false' };
      expect(await errorOf(post([{ a: 1 }, absent], 'greptime_identity'))).to.contain('`groups_absent` does not exist');
      const ttl = await errorOf(post([{ a: 1 }, { a: 2, greptime_ttl: 'soon' }], 'greptime_identity'));
      expect(ttl).to.contain('soon');
      await upload(
        'groups',
        'dispatcher: {field: k, rules: [{value: 1, table_suffix: ""}]}\n' +
          'transform:\n  - {field: a, type: string}\n',
      );
      const both = [
        { k: 0, a: 'text' },
        { k: 1, a: 5 },
      ];
      expect(await errorOf(post(both, 'groups'))).to.contain('Column datatype mismatch. For column: a');
      expect(await almanac.rows("SHOW TABLES LIKE 'groups%'")).to.deep.equal([]);
    });

    it('use one version of a pipeline for all items of a request while it is replaced', async () => {
      const version = (n: number): string =>
        `processors:\n  - vrl: {source: ".v = ${n}\\n."}\ntransform:\n  - {field: v, type: int32}\n  - {field: id, type: string}\n`;
      await upload('swapped', version(0));
      const items = Array.from({ length: 200 }, () => ({}));
      let isDone = false;
      const replacing = (async () => {
        for (let n = 1; !isDone; n++) await upload('swapped', version(n));
      })();
      for (let i = 0; i < 60; i++) {
        const body = JSON.stringify(items.map(() => ({ id: `r${i}` })));
        const reply = await almanac.post('/v1/ingest?table=swapped&pipeline_name=swapped', body, JSON_TYPE);
        expect(reply.status, reply.text).to.equal(200);
      }
      isDone = true;
      await replacing;
      const [counts] = await almanac.rows(
        'SELECT count(*), max(versions) FROM (SELECT id, count(DISTINCT v) AS versions FROM swapped GROUP BY id)',
      );
      expect(counts).to.deep.equal([60, 1]);
      const [[distinct]] = await almanac.rows('SELECT count(DISTINCT v) FROM swapped');
      expect(distinct).to.be.greaterThan(1);
    });
  });

  describe('are bounded', () => {
    it('a dispatcher that comes back to its pipeline fails', async () => {
      const loop = (next: string): string =>
        `dispatcher: {field: k, rules: [{value: a, table_suffix: _x, pipeline: ${next}}]}\ntransform:\n  - {field: k, type: string}\n`;
      await upload('loop_a', loop('loop_b'));
      await upload('loop_b', loop('loop_a'));
      const reply = almanac.post('/v1/ingest?table=loops&pipeline_name=loop_a', '{"k":"a"}', JSON_TYPE);
      expect(await errorOf(reply)).to.contain('dispatch loop: loop_a -> loop_b -> loop_a');
    });

    it('patterns run in linear time, aliases and keys are limited', async () => {
      const text =
        "processors:\n  - gsub: {field: m, pattern: '(a+)+$', replacement: ''}\ntransform:\n  - {field: m, type: string}\n";
      await upload('evil', text);
      const body = JSON.stringify({ m: `${'a'.repeat(100_000)}!` });
      const reply = await almanac.post('/v1/ingest?table=evil&pipeline_name=evil', body, JSON_TYPE);
      expect(reply.status, reply.text).to.equal(200);
      const bomb = [
        'a: &a [x,x,x,x,x,x,x,x,x]',
        ...'bcdefghi'.split('').map((name, i) => {
          const before = 'abcdefgh'[i];
          return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(',')}]`;
        }),
      ].join('\n');
      expect(await errorOf(almanac.post('/v1/pipelines/bomb', bomb, YAML))).to.contain('Excessive alias count');
      const look = "processors:\n  - gsub: {field: m, pattern: '(?=a)', replacement: ''}\n";
      expect(await errorOf(almanac.post('/v1/pipelines/look', look, YAML))).to.contain('Invalid regex pattern: (?=a)');
    });

    it('items with a million keys, and requests with too many tables or columns, are refused', async () => {
      const post = (items: unknown): Promise<{ status: number; text: string }> => {
        return almanac.post('/v1/ingest?table=many&pipeline_name=greptime_identity', JSON.stringify(items), JSON_TYPE);
      };
      const keys = Object.fromEntries(Array.from({ length: 1_000_000 }, (_, i) => [`k${i}`, 1]));
      expect(await errorOf(post(keys), 413)).to.contain('names of members');
      const wide = Array.from({ length: 3_000 }, (_, i) => [`k${i}`, 1] as const);
      expect(await errorOf(post(Object.fromEntries(wide)))).to.contain('item has more than 2000 keys');
      expect(await errorOf(post(wide.map(([key]) => ({ [key]: 1 }))))).to.contain('adds more than 1000 columns');
      const tables = wide.map(([key]) => ({ greptime_table_suffix: key }));
      expect(await errorOf(post(tables))).to.contain('writes to more than 100 tables');
    });
  });

  describe('dry runs', () => {
    const dryRun = (body: unknown): Promise<{ status: number; text: string }> => {
      return almanac.post('/v1/pipelines/_dryrun', JSON.stringify(body), JSON_TYPE);
    };

    it('show rows and types of an inline pipeline, and write nothing', async () => {
      const reply = await dryRun({ pipeline: WEB, data_type: 'text/plain', data: '10.0.0.1 200 1.5' });
      expect(reply.status, reply.text).to.equal(200);
      const [table] = JSON.parse(reply.text) as { table_name: string; rows: { key: string; value: unknown }[][] }[];
      expect(table.table_name).to.equal('dry_run');
      expect(table.rows[0].slice(0, 3).map(({ value }) => value)).to.deep.equal(['10.0.0.1', 200, 1.5]);
      expect(await almanac.rows("SHOW TABLES LIKE 'dry_run'")).to.deep.equal([]);
    });

    it('report where they fail, by the form of the pipeline', async () => {
      const data = '[{"message":"x"}]';
      expect(await errorOf(dryRun({ pipeline: 'processors: 5', data }))).to.contain('Failed to build pipeline: ');
      expect(await errorOf(dryRun({ pipeline: WEB, data }))).to.contain('Failed to exec pipeline: No matching pattern');
      expect(await errorOf(dryRun({ pipeline_name: 'absent', data }))).to.contain('Pipeline not found');
      expect(await errorOf(dryRun({ data }))).to.contain('pipeline_name is required');
      expect(await errorOf(dryRun({ pipeline_name: 'web' }))).to.contain('or "against": "table" instead of "data"');
      const many = JSON.stringify(Array.from({ length: 11 }, () => ({ message: 'a 1 2' })));
      expect(await errorOf(dryRun({ pipeline: WEB, data: many }))).to.contain('at most 10 items: with "against"');
    });
  });
});

describe('pipelines in a cluster', () => {
  it('reach every gateway through the watch', async () => {
    const cluster = await Cluster.start(tempFolder(after), { gateways: 2, ingesters: 1, queriers: 1 });
    try {
      const [one, two] = cluster.gateways;
      const reply = await one.post('/v1/pipelines/shared', WEB, YAML);
      expect(reply.status, reply.text).to.equal(200);
      const written = await two.post('/v1/ingest?table=web&pipeline_name=shared', '10.0.0.1 200 1\n', TEXT);
      expect(written.status, written.text).to.equal(200);
      expect(await one.rows('SELECT ip, status FROM web')).to.deep.equal([['10.0.0.1', 200]]);
    } finally {
      await cluster.stop();
    }
  });
});
