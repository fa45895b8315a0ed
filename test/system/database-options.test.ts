import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const COLUMNS = '(h STRING PRIMARY KEY, v BIGINT, w BIGINT, ts TIMESTAMP(9) TIME INDEX)';
/** One row, written first without `w` and then without `v`. */
const LINES = 'l,h=a v=1i 1\nl,h=a w=2i 1';

describe('options of a database', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
    for (const [name, options] of [
      ['appending', "WITH ('append_mode' = 'true')"],
      ['last', "WITH ('merge_mode' = 'last_row')"],
      ['filling', "WITH (merge_mode = 'last_non_null', append_mode = 'false')"],
      ['plain', "WITH (append_mode = 'false')"],
    ]) {
      await almanac.rows(`CREATE DATABASE ${name} ${options}`);
    }
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  /** What is shown of the options that say what becomes of equal rows. */
  async function shown(table: string): Promise<string[]> {
    const text = String((await almanac.rows(`SHOW CREATE TABLE ${table}`))[0][1]);
    return [...text.matchAll(/(?:append|merge)_mode = '\w+'/g)].map(([option]) => option);
  }

  /** Writes one row in two halves. @returns what it has become. */
  async function halves(table: string): Promise<unknown[][]> {
    await almanac.rows(`INSERT INTO ${table} (h, v, ts) VALUES ('a', 1, 1)`);
    await almanac.rows(`INSERT INTO ${table} (h, w, ts) VALUES ('a', 2, 1)`);
    return values(table);
  }

  const values = (table: string): Promise<unknown[][]> => almanac.rows(`SELECT v, w FROM ${table} ORDER BY v`);

  const KEPT = [
    [1, null],
    [null, 2],
  ];
  const REPLACED = [[null, 2]];
  const FILLED = [[1, 2]];

  it("determine how CREATE TABLE's tables merge equal rows", async () => {
    for (const [database, option, rows] of [
      ['appending', "append_mode = 'true'", KEPT],
      ['last', "merge_mode = 'last_row'", REPLACED],
      ['filling', "merge_mode = 'last_non_null'", FILLED],
    ] as const) {
      await almanac.rows(`CREATE TABLE ${database}.t ${COLUMNS}`);
      expect(await shown(`${database}.t`), database).to.deep.equal([option]);
      expect(await halves(`${database}.t`), database).to.deep.equal(rows);
    }
    await almanac.rows(`CREATE TABLE plain.t ${COLUMNS}`);
    expect(await shown('plain.t')).to.deep.equal([]);
    expect((await almanac.sql('DELETE FROM appending.t')).text).to.contain('DELETE is not allowed under append mode');
  });

  it("determine how line protocol's tables merge equal rows", async () => {
    for (const [database, option, rows] of [
      ['appending', "append_mode = 'true'", KEPT],
      ['last', "merge_mode = 'last_row'", REPLACED],
      ['filling', "merge_mode = 'last_non_null'", FILLED],
      ['plain', "merge_mode = 'last_non_null'", FILLED],
    ] as const) {
      await almanac.written(LINES, `db=${database}`);
      expect(await shown(`${database}.l`), database).to.deep.equal([option]);
      expect(await values(`${database}.l`), database).to.deep.equal(rows);
    }
  });

  it('are overridden by options of a table', async () => {
    for (const [name, option, rows] of [
      ['never', "append_mode = 'false'", REPLACED],
      ['fills', "merge_mode = 'last_non_null'", FILLED],
    ] as const) {
      await almanac.rows(`CREATE TABLE appending.${name} ${COLUMNS} WITH (${option})`);
      expect(await shown(`appending.${name}`)).to.deep.equal([option]);
      expect(await halves(`appending.${name}`)).to.deep.equal(rows);
    }
    for (const [i, hint] of ['append_mode=true', 'merge_mode=last_row'].entries()) {
      const lines = LINES.replaceAll('l,', `hinted${i},`);
      const { status } = await almanac.post('/v1/lineproto/write?db=filling', lines, { 'x-almanac-hints': hint });
      expect(status).to.equal(204);
      expect(await shown(`filling.hinted${i}`)).to.deep.equal([hint.replace('=', " = '") + "'"]);
      expect(await values(`filling.hinted${i}`)).to.deep.equal([KEPT, REPLACED][i]);
    }
  });

  it('do not apply to metric tables', async () => {
    await almanac.rows(`CREATE TABLE appending.metrics ${COLUMNS} WITH ('physical_metric_table' = 'true')`);
    expect(await shown('appending.metrics')).to.deep.equal([]);
  });

  it('are shown as they were set', async () => {
    const [[, text]] = await almanac.rows('SHOW CREATE DATABASE appending');
    expect(text).to.equal("CREATE DATABASE IF NOT EXISTS appending\nWITH(\n  append_mode = 'true'\n)");
    const wrong = "CREATE DATABASE both WITH ('append_mode' = 'true', 'merge_mode' = 'last_non_null')";
    expect((await almanac.sql(wrong)).text).to.contain('only last_row merge_mode is allowed');
  });
});
