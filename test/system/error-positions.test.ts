import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

interface PlacedError {
  readonly code: number;
  readonly error: string;
  readonly line?: number;
  readonly column?: number;
  readonly length?: number;
}

/** Statements, and the part that is wrong between `[[` and `]]`. */
const PLACED: readonly string[] = [
  'SELECT host FORM [[cpu]]',
  'SELECT * FORM [[cpu]]',
  'SELECT 1 AS x,\n  2 AS y\nFROM\n  [[WHERE]] x = 1',
  'SELECT 1 AS x\r\nFROM [[WHERE]] x = 1',
  '\n\nSELECT [[,]] 1',
  // One character of two units, and letters of two and three bytes.
  "SELECT '😀' AS x, 'ö€' AS \"ö€\", * FORM [[cpu]]",
  "SELECT '10' AS a, X'ff' AS b, 1.50 AS c, -7 AS d, * FORM [[cpu]] LIMIT 3, 5",
  'SELECT 1 /* a\ncomment */ -- another\n [[)]]',
  'SELECT (1 + 2[[]]',
  'SELECT 1; SELECT 2; [[SELEC]] 3',
  'SELECT 1;\nSELECT * FROM numbers ORDER [[BUY]] number',
  "SELECT [[']]abc",
  'SELECT [["]]abc',
  'SELECT 1 + [[§]]',
  'SELECT [[12abc]]',
  "SELECT [[X'abc']]",
  'SELECT [[/*]] 1',
  'SELECT [[$1]]',
  'SELECT 1 AS [[""]]',
  'DROP [[TABEL]] x',
  'DROP TABLE[[]]',
  'CREATE TABLE t (\n  a INT,\n  ts TIMESTAMP [[TIME]] INDX)',
  'SHOW TABLES [[SOON]]',
  '[[NONSENSE]]',
  'SELECT 1;\n SELECT [[nothing]] FROM numbers',
  'SELECT number FROM numbers\n WHERE [["Numbar"]] > 1',
  'SELECT * FROM [[absent]] WHERE x = 1',
  'SELECT a.x FROM numbers AS n,\n  [[public.absent]] AS a',
  'SELECT 1 FROM numbers WHERE EXISTS (SELECT 1 FROM [["Absent"]])',
];

/** Statements whose errors are about a text that was made from theirs. */
const UNPLACED: readonly string[] = [
  'SELECT nothing, nothing + 1 FROM numbers',
  'SELECT absent FROM absent',
  "SELECT number::INT / 'x' FROM numbers WHERE number = 1",
  'SHOW DATABASES WHERE (1 = )',
];

describe('positions of SQL errors', function () {
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

  const errorOf = async (sql: string): Promise<PlacedError> => {
    const { status, text } = await almanac.sql(sql);
    expect(status, text).to.equal(400);
    return JSON.parse(text) as PlacedError;
  };

  for (const marked of PLACED) {
    it(`finds ${JSON.stringify(marked)}`, async () => {
      const sql = marked.replace('[[', '').replace(']]', '');
      const start = marked.indexOf('[[');
      const lines = marked.slice(0, start).split('\n');
      const error = await errorOf(sql);
      const { line, column, length } = error;
      expect({ line, column, length }, error.error).to.deep.equal({
        line: lines.length,
        column: (lines.at(-1)?.length ?? 0) + 1,
        length: marked.indexOf(']]') - start - 2,
      });
    });
  }

  for (const sql of UNPLACED) {
    it(`claims no position for ${sql}`, async () => {
      expect(await errorOf(sql)).to.not.have.any.keys('line', 'column', 'length');
    });
  }

  it('claims none for an error in a view that the statement reads', async () => {
    await almanac.rows('CREATE TABLE base (x INT, ts TIMESTAMP TIME INDEX)');
    await almanac.rows('CREATE VIEW reader AS SELECT x FROM base');
    await almanac.rows('DROP TABLE base');
    const error = await errorOf('SELECT * FROM reader');
    expect(error).to.not.have.any.keys('line', 'column', 'length');
  });
});
