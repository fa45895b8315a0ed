import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const YAML = { 'content-type': 'application/yaml' };
const JSON_TYPE = { 'content-type': 'application/json' };
const KEY = 'a-key-of-the-operator';

describe('state of pipelines', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after), { environment: { ALMANAC_PIPELINES__KEYS: `users=${KEY}` } });
  });

  after(() => almanac.stop());

  async function upload(name: string, processors: string): Promise<void> {
    const text = `processors:\n${processors}transform:\n  - {field: t, type: string}\n`;
    const reply = await almanac.post(`/v1/pipelines/${name}`, text, YAML);
    expect(reply.status, reply.text).to.equal(200);
  }

  async function ingest(name: string, items: readonly object[], status = 200): Promise<void> {
    const path = `/v1/ingest?table=${name}&pipeline_name=${name}`;
    const reply = await almanac.post(path, JSON.stringify(items), JSON_TYPE);
    expect(reply.status, reply.text).to.equal(status);
  }

  async function dropped(pipeline: string): Promise<string | undefined> {
    const { text } = await almanac.get('/metrics');
    return new RegExp(`^almanac_pipeline_dropped_items_total\\{pipeline="${pipeline}".*\\} (\\d+)$`, 'm').exec(
      text,
    )?.[1];
  }

  it('lasts from request to request, and what is dropped is counted', async () => {
    await upload('seen', '  - dedupe: {fields: [t], window: 1h}\n');
    await ingest('seen', [{ t: 'a' }, { t: 'b' }, { t: 'a' }]);
    await ingest('seen', [{ t: 'b' }, { t: 'c' }]);
    expect(await almanac.rows('SELECT t FROM seen ORDER BY t')).to.deep.equal([['a'], ['b'], ['c']]);
    expect(await dropped('seen')).to.equal('2');
  });

  it('does not keep items of a request that fails', async () => {
    await upload('failing', '  - dedupe: {fields: [t], window: 1h}\n  - letter: {field: t, method: upper}\n');
    await ingest('failing', [{ t: 'a' }, { t: 5 }], 400);
    await ingest('failing', [{ t: 'a' }]);
    expect(await almanac.rows('SELECT t FROM failing')).to.deep.equal([['A']]);
  });

  it('does not keep items of a write that fails', async () => {
    await upload('unwritten', '  - dedupe: {fields: [t], window: 1h}\n');
    const item = { t: 'a', greptime_ttl: 'never' };
    await ingest('unwritten', [item], 400);
    await ingest('unwritten', [{ t: 'a' }]);
    expect(await almanac.rows('SELECT t FROM unwritten')).to.deep.equal([['a']]);
  });

  it('is not changed by a dry run', async () => {
    await upload('tried', '  - throttle: {limit: 1/h}\n');
    const body = JSON.stringify({ pipeline_name: 'tried', data: [{ t: 'a' }, { t: 'b' }] });
    for (let i = 0; i < 2; i++) {
      const { text } = await almanac.post('/v1/pipelines/_dryrun', body, JSON_TYPE);
      expect((JSON.parse(text) as { rows: unknown[] }[])[0].rows).to.have.length(1);
    }
    await ingest('tried', [{ t: 'a' }]);
    expect(await dropped('tried')).to.equal(undefined);
  });

  it('hashes with a key of the configuration, which is not shown', async () => {
    await upload('hashed', '  - redact: {fields: [t], presets: [email], mode: hash, key_ref: users}\n');
    await ingest('hashed', [{ t: 'kim@example.org' }]);
    const [[text]] = await almanac.rows('SELECT t FROM hashed');
    expect(text).to.match(/^[0-9a-f]{32}$/);
    const { text: config } = await almanac.get('/config');
    expect(config).to.contain('keys = "***"').and.not.to.contain(KEY);
  });
});
