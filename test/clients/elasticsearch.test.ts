import { Client } from '@elastic/elasticsearch';
import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

describe('@elastic/elasticsearch', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  it('connects, and stores documents in bulk', async () => {
    const client = new Client({ node: `${almanac.url}/v1/elasticsearch`, compression: true });
    expect((await client.info()).version.number).to.equal('8.16.0');
    expect(await client.ping()).to.equal(true);
    const documents = [
      { message: 'first "line"', user: { id: 7 }, ok: true },
      { message: 'second', user: { id: 8 }, ratio: 0.5 },
    ];
    const result = await client.helpers.bulk({
      datasource: documents,
      onDocument: () => ({ create: { _index: 'shop' } }),
    });
    expect(result).to.include({ total: 2, successful: 2, failed: 0 });
    const bulk = await client.bulk({ operations: [{ index: { _index: 'shop' } }, { user: { id: 'text' } }] });
    expect(bulk.errors).to.equal(true);
    expect(bulk.items[0].index).to.include({ status: 400, _index: 'shop' });
    await client.close();
    const { rows, text } = await almanac.sql('SELECT message, "user.id", ok, ratio FROM shop ORDER BY "user.id"');
    expect(rows, text).to.deep.equal([
      ['first "line"', 7, true, null],
      ['second', 8, null, 0.5],
    ]);
  });
});
