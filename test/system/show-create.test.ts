import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

describe('SHOW CREATE TABLE', () => {
  it('prints a statement that is accepted under another name, even if line protocol created a name that CREATE TABLE refuses', async () => {
    let cleanUp = (): void => undefined;
    const almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
    try {
      await almanac.written('we\\ ird"x,h=a v=1 1');
      const [[name, text]] = await almanac.rows('SHOW CREATE TABLE "we ird""x"');
      expect(name).to.equal('we ird"x');
      const own = await almanac.sql(String(text).replace('IF NOT EXISTS ', ''));
      expect(JSON.parse(own.text)).to.include({ code: 1004, error: 'Invalid table name: we ird"x' });
      await almanac.rows(String(text).replace('"we ird""x"', 'weird'));
      await almanac.rows('INSERT INTO weird SELECT * FROM "we ird""x"');
      expect(await almanac.rows('SELECT h, v FROM weird')).to.deep.equal([['a', 1]]);
      await almanac.rows('DROP TABLE weird');
      await almanac.rows('ALTER TABLE "we ird""x" RENAME weird');
    } finally {
      await almanac.kill();
      cleanUp();
    }
  });

  it('recreates a table with the same number of regions, if it was given', async () => {
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
