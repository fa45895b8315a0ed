import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

describe('ALTER TABLE .. MODIFY COLUMN c TYPE, to a type with other values', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
  });
  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function run(...statements: readonly string[]): Promise<void> {
    for (const statement of statements) await almanac.rows(statement);
  }

  async function refused(statement: string): Promise<string> {
    const { status, text } = await almanac.sql(statement);
    expect(status, text).to.equal(400);
    return (JSON.parse(text) as { error: string }).error;
  }

  async function startAgain(): Promise<void> {
    await almanac.kill();
    almanac = await Almanac.start(almanac.folder);
  }

  /** The same now, from the log, from segments, and merged. */
  async function holds(table: string, statement: string, rows: readonly unknown[][]): Promise<void> {
    expect(await almanac.rows(statement)).to.deep.equal(rows);
    await startAgain();
    expect(await almanac.rows(statement), 'from the log').to.deep.equal(rows);
    await almanac.flush(table);
    await run(`ADMIN compact_table('${table}')`);
    expect(await almanac.rows(statement), 'merged').to.deep.equal(rows);
  }

  it('makes values null that the new type cannot represent', async () => {
    await run(
      'CREATE TABLE t (h STRING PRIMARY KEY, i INT, f DOUBLE, d STRING, w STRING FULLTEXT INDEX, ts TIMESTAMP(3) TIME INDEX)',
      "INSERT INTO t VALUES ('a', 1, 1.9, '2024-02-29', '7', 1), ('b', 300, -1.9, 'x', 'seven', 1)",
      'ALTER TABLE t MODIFY COLUMN i STRING',
      "INSERT INTO t VALUES ('c', 'text', 1e300, '2024-02-30', '-8', 1), ('d', '-5', NULL, '1969-12-31', NULL, 1)",
      "ADMIN flush_table('t')",
      "INSERT INTO t VALUES ('a', '9', 7.5, '2024-01-01', '1.5', 1), ('e', 'late', 0, NULL, 'x', 1)",
    );
    expect(await refused('ALTER TABLE t MODIFY COLUMN w INT')).to.match(/unset its FULLTEXT index first$/);
    await run(
      'ALTER TABLE t MODIFY COLUMN w UNSET FULLTEXT INDEX',
      'ALTER TABLE t MODIFY COLUMN i INT, MODIFY COLUMN f TINYINT, MODIFY COLUMN d DATE, MODIFY COLUMN w DOUBLE',
      "INSERT INTO t VALUES ('f', 6, 6, '2024-06-06', 6.5, 1)",
    );
    expect(await refused('ALTER TABLE t MODIFY COLUMN i STRING')).to.match(/older values have this type/);
    await holds('t', 'SELECT h, i, f, d, w FROM t ORDER BY h', [
      ['a', 9, 7, 19723, 1.5],
      ['b', 300, -1, null, null],
      ['c', null, null, null, -8],
      ['d', -5, null, -1, null],
      ['e', null, 0, null, null],
      ['f', 6, 6, 19880, 6.5],
    ]);
    expect(await almanac.rows('SELECT h FROM t WHERE i > 5 ORDER BY h')).to.deep.equal([['a'], ['b'], ['f']]);
  });
});
