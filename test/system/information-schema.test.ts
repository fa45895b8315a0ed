import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

describe('information_schema', () => {
  let almanac: Almanac;
  let cleanUp = (): void => undefined;
  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
    await almanac.rows(
      "CREATE TABLE cpu (host STRING PRIMARY KEY, v DOUBLE, ts TIMESTAMP TIME INDEX) WITH (regions='3')",
    );
    await almanac.rows("INSERT INTO cpu VALUES ('a', 1, 1), ('b', 2, 2), ('c', 3, 3)");
    await almanac.rows("ADMIN flush_table('cpu')");
  });
  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  it('shows the rows and bytes of tables on disk', async () => {
    const text =
      'SELECT t.table_rows, t.data_length = sum(r.sst_size), sum(r.region_rows), min(r.region_role), min(r.epoch) > 0 ' +
      'FROM information_schema.tables t JOIN information_schema.region_statistics r USING (table_id) ' +
      "WHERE t.table_name = 'cpu' GROUP BY t.table_rows, t.data_length";
    expect(await almanac.rows(text)).to.deep.equal([[3, true, 3, 'Leader', true]]);
  });

  it('shows what is only in the log, and for how long', async () => {
    const states = (): Promise<unknown[][]> =>
      almanac.rows(
        'SELECT r.memtable_rows, r.memtable_size, r.wal_bytes, r.flush_lag_ms FROM information_schema.tables t ' +
          "JOIN information_schema.region_statistics r USING (table_id) WHERE t.table_name = 'log_only'",
      );
    await almanac.rows('CREATE TABLE log_only (host STRING PRIMARY KEY, v DOUBLE, ts TIMESTAMP TIME INDEX)');
    expect(await states()).to.deep.equal([[0, 0, 0, null]]);
    await almanac.rows("INSERT INTO log_only VALUES ('a', 1, 1), ('a', 2, 2)");
    const [[rows, bytes, logBytes, lagMs]] = await states();
    expect(rows).to.equal(2);
    expect(Number(bytes)).to.be.greaterThan(2 * 12);
    // The header of a record alone has 72 bytes.
    expect(Number(logBytes)).to.be.greaterThan(72);
    expect(Number(lagMs)).to.be.within(0, 60_000);
    await almanac.rows("INSERT INTO log_only VALUES ('b', 1, 3)");
    const [[laterRows, , laterLogBytes, laterLagMs]] = await states();
    expect(laterRows).to.equal(3);
    expect(Number(laterLogBytes)).to.be.greaterThan(Number(logBytes));
    // Still that of the first row.
    expect(Number(laterLagMs)).to.be.at.least(Number(lagMs));
    await almanac.rows("ADMIN flush_table('log_only')");
    expect(await states()).to.deep.equal([[0, 0, 0, null]]);
    await almanac.rows('DROP TABLE log_only');
  });

  it('shows the regions of a table and their owners', async () => {
    const text =
      'SELECT partition_name, partition_expression, status, peer_type FROM information_schema.partitions p ' +
      'JOIN information_schema.region_peers r ON p.greptime_partition_id = r.region_id ' +
      'JOIN information_schema.cluster_info c ON c.peer_id = r.peer_id ' +
      "WHERE p.table_name = 'cpu' ORDER BY 1";
    expect(await almanac.rows(text)).to.deep.equal(
      ['p0', 'p1', 'p2'].map((name) => [name, 'host', 'ALIVE', 'STANDALONE']),
    );
  });

  it('shows the running version', async () => {
    const [[version, commit]] = await almanac.rows('SELECT pkg_version, git_commit FROM information_schema.build_info');
    expect(version).to.match(/^\d+\.\d+\.\d+/);
    expect(commit).to.be.a('string');
  });

  for (const name of ['information_schema', 'pg_catalog']) {
    it(`creates no database with the name ${name}`, async () => {
      for (const text of [`CREATE DATABASE ${name}`, `CREATE DATABASE IF NOT EXISTS ${name}`]) {
        const { status, text: response } = await almanac.sql(text);
        expect(status, response).to.equal(400);
        expect(response).to.contain(`Schema ${name} already exists`);
      }
    });
  }
});
