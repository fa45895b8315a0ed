import { expect } from 'chai';

import { NATIVE_FUNCTIONS, TABLE_FUNCTIONS } from '#services/querier/sql/functions/native';
import { OWN_FUNCTIONS } from '#services/querier/sql/functions/registry';
import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

describe('information_schema.routines', function () {
  this.timeout(120_000);
  let almanac: Almanac;
  let cleanUp: () => void = () => undefined;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  const described = (condition: string): Promise<unknown[][]> =>
    almanac.rows(
      `SELECT routine_definition, routine_kind, routine_comment FROM information_schema.routines WHERE ${condition} ORDER BY 1`,
    );

  it('has a row for each function that may be called', async () => {
    const rows = await almanac.rows('SELECT routine_name FROM information_schema.routines ORDER BY routine_name');
    const known = new Set([...NATIVE_FUNCTIONS, ...TABLE_FUNCTIONS, ...OWN_FUNCTIONS.keys()]);
    const names = [...known].filter((name) => /^[a-z]\w*$/.test(name)).sort();
    expect(rows.map(([name]) => name)).to.deep.equal(names);
  });

  it('has arguments and a sentence for each, in one line', async () => {
    expect(await described("routine_comment = '' OR routine_comment LIKE '%\n%'")).to.deep.equal([]);
    expect(await described("NOT routine_definition ~ '^[a-z]\\w*\\(.*\\)$'")).to.deep.equal([]);
  });

  it('describes functions of Almanac and of the engine, of every kind', async () => {
    const names = ['abs', 'date_bin', 'lag', 'list_avg', 'median', 'round', 'unnest'];
    const rows = await described(`routine_name IN (${names.map((name) => `'${name}'`).join(', ')})`);
    expect(rows.map(([definition, kind]) => [definition, kind])).to.deep.equal([
      ['abs(x)', 'scalar'],
      ['date_bin(interval, time[, origin])', 'scalar'],
      ['lag(x[, offset[, default]])', 'window'],
      ['list_avg(l)', 'scalar'],
      ['median(x)', 'aggregate'],
      ['round(x, precision)', 'scalar'],
      ['unnest(list)', 'table'],
    ]);
    expect(rows[1][2]).to.equal('Rounds a time down to the start of its bucket.');
    expect(rows[3][2]).to.equal('Applies the aggregate avg to the elements of a list.');
  });

  it('can be joined with other tables, and counted', async () => {
    const [[count]] = await almanac.rows(
      "SELECT count(*) FROM information_schema.routines WHERE routine_type = 'FUNCTION'",
    );
    expect(count).to.be.greaterThan(700);
    const columns = await almanac.rows(
      "SELECT column_name FROM information_schema.columns WHERE table_name = 'routines' ORDER BY ordinal_position",
    );
    expect(columns.map(([name]) => name)).to.include.members(['routine_name', 'routine_definition', 'routine_kind']);
  });
});
