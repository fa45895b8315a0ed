import { expect } from 'chai';

import { SqlBench } from '#test/support/sql-bench';

describe('functions and forms of other products', () => {
  let bench: SqlBench;
  before(async () => {
    bench = await SqlBench.open();
  });
  after(() => bench.close());

  const gives = (expressions: string, ...values: unknown[]): void => {
    it(expressions, async () => {
      expect(await bench.rows(`SELECT ${expressions}`)).to.deep.equal([values]);
    });
  };

  gives('array_dims([[1, 2, 3], [4, 5, 6]]), list_dims([1])', [2, 3], [1]);
  gives('cardinality([1, 2, 3]), cardinality([[1, 2], [3]]), cardinality(map([1, 2], [3, 4]))', 3, 3, 2);
  gives(
    "arrays_zip([1, 2], ['a']), arrays_zip([1], [2], [3])",
    [
      { 1: 1, 2: 'a' },
      { 1: 2, 2: null },
    ],
    [{ 1: 1, 2: 2, 3: 3 }],
  );
  gives('array_positions([1, 2, 1, NULL], 1), list_positions([1, NULL], NULL)', [1, 3], [2]);
  gives(
    "list_length([1, 2]), array_join(['a', 'b'], '-'), list_push_back([1], 2), list_push_front(1, [2])",
    2,
    'a-b',
    [1, 2],
    [1, 2],
  );
  gives(
    'list_pop_back([1, 2]), list_pop_front([1, 2]), list_empty([1]), list_replace_all([1, 1], 1, 2)',
    [1],
    [2],
    false,
    [2, 2],
  );
  gives('to_hex(255), length(uuid())', 'ff', 36);
  gives(
    "to_timestamp('2024/01/02 03:04:05.123456789', '%Y/%m/%d %H:%M:%S.%f')::STRING, to_timestamp_millis('02.01.2024', '%F', '%d.%m.%Y')",
    '2024-01-02 03:04:05.123456789',
    1704153600000,
  );
  gives("to_date('31.12.2023', '%d.%m.%Y'), to_timestamp_seconds('2024-01-02', '%F')", 19722, 1704153600);
  gives("timestamp '   2017-07-23    13:10:11  '", 1500815411000);
  gives("TIMESTAMP '2024-01-01 00:00:00' AT TIME ZONE 'Asia/Shanghai', timezone()", 1704038400000000, 'UTC');

  it('unnest lists of lists in every row', async () => {
    expect(await bench.rows('SELECT unnest(unnest([[1, 2], [3]])) AS x, unnest([7, 8])')).to.deep.equal([
      [1, 7],
      [2, 8],
      [3, null],
    ]);
  });

  it('nth_value goes by its ORDER BY', async () => {
    const values = 'FROM (VALUES (1), (3), (2)) AS v (x)';
    expect(
      await bench.rows(`SELECT nth_value(x, 2 ORDER BY x DESC), nth_value(x, 3 ORDER BY x), nth_value(x, 9) ${values}`),
    ).to.deep.equal([[2, 3, null]]);
  });

  it('stars leave columns out, and errors of several lines name the place', async () => {
    await bench.all('CREATE TABLE s (a INT, b INT, ts TIMESTAMP TIME INDEX); INSERT INTO s VALUES (1, 2, 3)');
    expect(await bench.rows('SELECT * EXCEPT (ts, b) FROM s')).to.deep.equal([[1]]);
    expect(await bench.rows('SELECT a FROM s EXCEPT (SELECT 1)')).to.deep.equal([]);
    const { message } = await bench.error('CREATE TABLE x (\n  a INT,\n  b INT FANCY\n)');
    expect(message).to.match(/found: FANCY at line 3, column 9$/);
  });

  it('constants in ORDER BY order nothing', async () => {
    expect(await bench.rows("SELECT x FROM (VALUES (2), (1)) AS v (x) ORDER BY 'text', x")).to.deep.equal([[1], [2]]);
  });
});
