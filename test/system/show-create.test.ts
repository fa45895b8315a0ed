import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

describe('SHOW CREATE TABLE', () => {
  it('makes a table again with as many regions, where the number was given', async () => {
    let cleanUp = (): void => undefined;
    const almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
    try {
      const shown = async (name: string): Promise<string> =>
        String((await almanac.rows(`SHOW CREATE TABLE ${name}`))[0][1]);
      const regions = async (name: string): Promise<number> => (await almanac.rows(`SHOW REGIONS FROM ${name}`)).length;
      await almanac.rows("CREATE TABLE many (v INT, ts TIMESTAMP TIME INDEX) WITH (regions='3')");
      await almanac.rows('CREATE TABLE likewise LIKE many');
      await almanac.rows('CREATE TABLE usual (v INT, ts TIMESTAMP TIME INDEX)');
      const text = await shown('many');
      expect(text).to.match(/WITH\(\n {2}regions = '3'\n\)$/);
      expect(await shown('likewise')).to.contain("regions = '3'");
      expect(await shown('usual')).not.to.contain('regions');
      await almanac.rows('DROP TABLE many');
      await almanac.rows(text);
      expect([await regions('many'), await regions('likewise'), await regions('usual')]).to.deep.equal([3, 3, 1]);
    } finally {
      await almanac.kill();
      cleanUp();
    }
  });
});
