import { expect } from 'chai';

import type { HttpApi } from '#test/support/almanac';
import { Cluster } from '#test/support/cluster';
import { tempFolder } from '#test/support/temp-folder';

const YAML = { 'content-type': 'application/yaml' };
const JSON_TYPE = { 'content-type': 'application/json' };
const ITEMS = 100;

function versioned(n: number): string {
  return (
    `processors:\n  - vrl: {source: ".v = ${n}\\n."}\n` +
    'transform:\n  - {field: v, type: int32}\n  - {fields: [id, loki_label_id], type: string}\n'
  );
}

describe('versions of pipelines in a cluster', function () {
  this.timeout(120_000);
  let cluster: Cluster;

  before(async () => {
    cluster = await Cluster.start(tempFolder(after), { gateways: 2, ingesters: 1, queriers: 1 });
  });

  after(() => cluster.stop());

  async function upload(gateway: HttpApi, name: string, text: string): Promise<void> {
    const reply = await gateway.post(`/v1/pipelines/${name}`, text, YAML);
    expect(reply.status, reply.text).to.equal(200);
  }

  async function ingest(gateway: HttpApi, id: string): Promise<void> {
    const body = JSON.stringify(Array.from({ length: ITEMS }, () => ({ id })));
    const reply = await gateway.post('/v1/ingest?table=swapped&pipeline_name=swapped', body, JSON_TYPE);
    expect(reply.status, reply.text).to.equal(200);
  }

  async function push(gateway: HttpApi, id: string): Promise<void> {
    const values = Array.from({ length: ITEMS }, (_, i) => [`${1_700_000_000 + i}000000000`, 'x']);
    const headers = {
      ...JSON_TYPE,
      'x-almanac-pipeline-name': 'swapped',
      'x-almanac-log-table-name': 'swapped',
    };
    const body = JSON.stringify({ streams: [{ stream: { id }, values }] });
    const reply = await gateway.post('/v1/loki/api/v1/push', body, headers);
    expect(reply.status, reply.text).to.equal(204);
  }

  it('do not mix within a request while the pipeline is replaced through another gateway', async () => {
    const [one, two] = cluster.gateways;
    await upload(one, 'swapped', versioned(0));
    await ingest(two, 'first');
    let isDone = false;
    const replacing = (async () => {
      for (let n = 1; !isDone; n++) await upload(one, 'swapped', versioned(n));
    })();
    for (let round = 0; round < 25; round++) {
      await Promise.all([
        ingest(one, `a${round}`),
        ingest(two, `b${round}`),
        push(one, `c${round}`),
        push(two, `d${round}`),
      ]);
    }
    isDone = true;
    await replacing;
    const perRequest = 'SELECT count(*) AS n, count(DISTINCT v) AS versions FROM swapped GROUP BY id, loki_label_id';
    expect(await one.rows(`SELECT count(*), min(n), max(n), max(versions) FROM (${perRequest})`)).to.deep.equal([
      [101, ITEMS, ITEMS, 1],
    ]);
    for (const prefix of ['a', 'b']) {
      const [[count]] = await one.rows(`SELECT count(DISTINCT v) FROM swapped WHERE id LIKE '${prefix}%'`);
      expect(count, prefix).to.be.greaterThan(1);
    }
  });

  it('keep working in every gateway while metadata is down', async () => {
    const [one, two] = cluster.gateways;
    await upload(one, 'swapped', versioned(1_000_000));
    await ingest(one, 'before-1');
    await ingest(two, 'before-2');
    const [metadata] = cluster.of('metadata');
    await metadata.kill();
    try {
      await Promise.all([ingest(one, 'down-1'), ingest(two, 'down-2'), push(two, 'down-3')]);
      const unknown = await one.post('/v1/ingest?table=swapped&pipeline_name=never', '{"id":"x"}', JSON_TYPE);
      expect(unknown.status, unknown.text).to.be.oneOf([400, 503]);
    } finally {
      metadata.start();
    }
    await cluster.ready();
    const where = "id LIKE 'down%' OR loki_label_id LIKE 'down%'";
    const rows = await one.rows(`SELECT count(*), min(v), max(v) FROM swapped WHERE ${where}`);
    expect(rows).to.deep.equal([[3 * ITEMS, 1_000_000, 1_000_000]]);
  });
});
