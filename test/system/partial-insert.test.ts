import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

describe('INSERT of some columns into an existing row', () => {
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  const leaves = (title: string, options: string, left: unknown[]): void => {
    it(title, async () => {
      await almanac.rows('DROP TABLE IF EXISTS t');
      const columns = 'h STRING PRIMARY KEY, a INT, b INT, c INT DEFAULT 7, ts TIMESTAMP TIME INDEX';
      await almanac.rows(`CREATE TABLE t (${columns})${options}`);
      await almanac.rows("INSERT INTO t VALUES ('x', 1, 2, 3, 1)");
      await almanac.rows("INSERT INTO t (h, a, b, ts) VALUES ('x', NULL, 5, 1)");
      await almanac.rows("INSERT INTO t (h, ts) VALUES ('x', 1)");
      expect(await almanac.rows('SELECT a, b, c FROM t')).to.deep.equal([left]);
    });
  };

  leaves('replaces it whole, unless the table says otherwise', '', [null, null, 7]);
  leaves('replaces it whole, last_row', " WITH (merge_mode = 'last_row')", [null, null, 7]);
  leaves('keeps what it does not give, last_non_null', " WITH (merge_mode = 'last_non_null')", [1, 5, 7]);
});
