import { expect } from 'chai';

import { SqlBench } from '#test/support/sql-bench';

describe('first and last values', () => {
  let bench: SqlBench;
  before(async () => {
    bench = await SqlBench.open();
    await bench.all(`
      CREATE TABLE late (h STRING, v DOUBLE, ts TIMESTAMP(3) TIME INDEX, PRIMARY KEY (h));
      INSERT INTO late VALUES ('a', 3, 3000);
      INSERT INTO late VALUES ('a', 1, 1000);
      INSERT INTO late VALUES ('a', 2, 2000);
      CREATE TABLE owners (h STRING, owner STRING, ts TIMESTAMP(3) TIME INDEX, PRIMARY KEY (h));
      INSERT INTO owners VALUES ('a', 'ann', 0)`);
  });
  after(() => bench.close());

  const rows = (text: string, expected: readonly unknown[]): void => {
    it(text, async () => expect((await bench.query(text)).rows).to.deep.equal([expected]));
  };

  rows('SELECT first_value(v), last_value(v) FROM late', [1, 3]);
  rows('SELECT first_value(v), last_value(v) FROM (SELECT * FROM late)', [1, 3]);
  rows('SELECT first_value(v), last_value(v) FROM (SELECT ts AS t, v FROM late ORDER BY v DESC LIMIT 2)', [2, 3]);
  rows(
    'WITH c AS (SELECT h, v, ts FROM late) SELECT first_value(v), last_value(v + 1), nth_value(v, 2) FROM c',
    [1, 4, 2],
  );
  rows('SELECT first_value(v), last_value(v) FROM (SELECT v, ts FROM late UNION ALL SELECT v, ts FROM late)', [1, 3]);
  rows(
    'SELECT owner, first_value(late.v), last_value(v), last_value(late.h) FROM late JOIN owners ON late.h = owners.h GROUP BY owner',
    ['ann', 1, 3, 'a'],
  );
  rows('SELECT first_value(x.v), last_value(y.v) FROM late x, late AS y', [1, 3]);
  rows('SELECT first_value(v ORDER BY v DESC) FROM (SELECT * FROM late)', [3]);
});
