import { rmSync } from 'node:fs';

import { expect } from 'chai';

import { Almanac, MERGES_BY_HAND } from '#test/support/almanac';
import { isSeriesFile, parquetPaths } from '#test/support/parquet-table';
import { tempFolder } from '#test/support/temp-folder';

const QUERY = "SELECT host, date_bin(INTERVAL '1 minute', ts) AS w, sum(v) AS total FROM src GROUP BY host, w";
const DIFFERENT = 'SELECT count(*) FROM ((TABLE a EXCEPT TABLE b) UNION ALL (TABLE b EXCEPT TABLE a))';

describe('flows of windows that are far apart', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(
      tempFolder((after) => (cleanUp = after)),
      { environment: { ...MERGES_BY_HAND.environment, ALMANAC_STANDALONE__FLOW__INTERVAL: '1d' } },
    );
    await almanac.rows('CREATE TABLE src (host STRING, ts TIMESTAMP TIME INDEX, v DOUBLE, PRIMARY KEY (host))');
    await almanac.rows(`CREATE FLOW f SINK TO sums AS ${QUERY}`);
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  // Up to 100,000 rows are read at once; beyond, only those near the windows.
  for (const { count, minutes } of [
    { count: 3_000, minutes: [2, 100, 299] },
    { count: 150_000, minutes: [700, 5_000, 14_950] },
  ]) {
    it(`compute rows that were added and deleted among ${count}`, async () => {
      await almanac.rows(`INSERT INTO src SELECT 'h' || (i % 10), i * 6000, i % 7 FROM range(${count}) AS s(i)`);
      await almanac.rows("ADMIN flush_flow('f')");
      for (const minute of minutes) {
        const from = minute * 60_000;
        await almanac.rows(`INSERT INTO src VALUES ('h1', ${from + 1}, 1000), ('other', ${from}, 5)`);
        await almanac.rows(`DELETE FROM src WHERE host = 'h2' AND ts BETWEEN ${from} AND ${from + 59_999}`);
      }
      await almanac.rows("ADMIN flush_flow('f')");
      const found = await almanac.rows(`WITH a AS (${QUERY}), b AS (SELECT host, w, total FROM sums) ${DIFFERENT}`);
      expect(found).to.deep.equal([[0]]);
      const added = await almanac.rows("SELECT w FROM sums WHERE host = 'other' ORDER BY w DESC LIMIT 3");
      expect(added).to.deep.equal(minutes.map((minute) => [minute * 60_000]).reverse());
    });
  }

  for (const count of [600, 60_000]) {
    it(`need no segment between them, also if that has ${count} rows`, async () => {
      const dayMs = 86_400_000;
      const [table, flow] = [`far_${count}`, `g_${count}`];
      await almanac.rows(`CREATE TABLE ${table} (host STRING, ts TIMESTAMP TIME INDEX, v DOUBLE, PRIMARY KEY (host))`);
      await almanac.rows(`CREATE FLOW ${flow} SINK TO ${table}_sums AS ${QUERY.replace('src', table)}`);
      const former = new Set<string>();
      for (const day of [0, 2, 1]) {
        for (const path of parquetPaths(almanac.folder)) former.add(path);
        const time = `${day * dayMs} + i * 10`;
        await almanac.rows(`INSERT INTO ${table} SELECT 'h' || (i % 10), ${time}, 1 FROM range(${count}) AS s(i)`);
        await almanac.rows(`ADMIN flush_flow('${flow}')`);
        await almanac.flush(table);
      }
      const between = parquetPaths(almanac.folder).filter((path) => !former.has(path) && !isSeriesFile(path));
      expect(between).to.have.length(1);
      rmSync(between[0]);
      await almanac.rows(`INSERT INTO ${table} VALUES ('other', 0, 5), ('other', ${2 * dayMs}, 6)`);
      await almanac.rows(`ADMIN flush_flow('${flow}')`);
      expect(await almanac.rows(`SELECT w, total FROM ${table}_sums WHERE host = 'other' ORDER BY w`)).to.deep.equal([
        [0, 5],
        [2 * dayMs, 6],
      ]);
      expect((await almanac.sql(`SELECT sum(v) FROM ${table}`)).text).to.contain('is missing');
    });
  }
});
