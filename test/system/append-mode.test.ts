import { expect } from 'chai';

import { Almanac, MERGES_BY_HAND } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

describe("ALTER TABLE .. SET 'append_mode'", function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(folder, MERGES_BY_HAND);
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  const stored = (name: string): Promise<unknown[][]> => almanac.rows(`SELECT h, v, ts FROM ${name} ORDER BY ALL`);
  const insert = (name: string, rows: string): Promise<unknown> => almanac.rows(`INSERT INTO ${name} VALUES ${rows}`);
  const flush = (name: string): Promise<unknown> => almanac.rows(`ADMIN flush_table('${name}')`);
  const append = (name: string): Promise<{ status: number; text: string }> =>
    almanac.sql(`ALTER TABLE ${name} SET 'append_mode' = 'true'`);

  async function table(name: string): Promise<void> {
    await almanac.rows(`CREATE TABLE ${name} (h STRING PRIMARY KEY, v BIGINT, ts TIMESTAMP(3) TIME INDEX)`);
  }

  /** Nothing has changed, and a row that is written again replaces the one that is there. */
  async function isRefused(name: string, rows: unknown[][]): Promise<void> {
    const { status, text } = await append(name);
    expect(status, text).to.equal(400);
    const error = `table "${name}" may have replaced rows on its disk: merge its segments first, with ADMIN compact_table`;
    expect(JSON.parse(text)).to.include({ code: 1004, error });
    expect(await stored(name)).to.deep.equal(rows);
  }

  /** The rows are the same after it, once merged, and in another process; and rows are kept beside equal ones from then on. */
  async function succeeds(name: string, rows: unknown[][]): Promise<void> {
    expect(await stored(name)).to.deep.equal(rows);
    const { status, text } = await append(name);
    expect(status, text).to.equal(200);
    expect(await stored(name), 'altered').to.deep.equal(rows);
    await almanac.rows(`ADMIN compact_table('${name}')`);
    expect(await stored(name), 'merged').to.deep.equal(rows);
    await almanac.kill();
    almanac = await Almanac.start(folder, MERGES_BY_HAND);
    expect(await stored(name), 'started again').to.deep.equal(rows);
    await insert(name, "('z', 9, 9), ('z', 9, 9)");
    expect(await stored(name)).to.deep.equal([...rows, ['z', 9, 9], ['z', 9, 9]]);
  }

  it('is refused while two segments hold versions of a row, and keeps the newest after a merge', async () => {
    await table('two');
    await insert('two', "('a', 1, 1), ('b', 1, 1)");
    await flush('two');
    await insert('two', "('a', 2, 1)");
    await flush('two');
    const rows = [
      ['a', 2, 1],
      ['b', 1, 1],
    ];
    await isRefused('two', rows);
    await almanac.rows("ADMIN compact_table('two')");
    await succeeds('two', rows);
  });

  it('is refused while a row in memory is a version of one in a segment', async () => {
    await table('fresh');
    await insert('fresh', "('a', 1, 1)");
    await flush('fresh');
    await insert('fresh', "('a', 2, 1)");
    await isRefused('fresh', [['a', 2, 1]]);
    await almanac.rows("ADMIN compact_table('fresh')");
    await succeeds('fresh', [['a', 2, 1]]);
  });

  it('merges versions that are only in memory', async () => {
    await table('memory');
    await insert('memory', "('a', 1, 1), ('a', 2, 1)");
    await insert('memory', "('a', 3, 1), ('b', 3, 2)");
    await succeeds('memory', [
      ['a', 3, 1],
      ['b', 3, 2],
    ]);
  });

  it('accepts late rows that are not versions', async () => {
    await table('backfill');
    const day = 86_400_000;
    await insert('backfill', `('a', 1, ${9 * day}), ('b', 1, ${2 * day})`);
    await flush('backfill');
    await insert('backfill', `('a', 2, ${4 * day})`);
    await succeeds('backfill', [
      ['a', 1, 9 * day],
      ['a', 2, 4 * day],
      ['b', 1, 2 * day],
    ]);
  });
});
