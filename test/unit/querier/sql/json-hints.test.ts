import { expect } from 'chai';

import { SqlBench } from '#test/support/sql-bench';

const TABLE = `CREATE TABLE IF NOT EXISTS "h" (
  "ts" TIMESTAMP(3) NOT NULL,
  "j" JSON2(
    "user"."age" BIGINT NOT NULL DEFAULT 18,
    "user"."name" STRING NULL DEFAULT 'un''known',
    "user"."active" BOOLEAN NULL,
    "score" DOUBLE NULL DEFAULT -1.5
  ) NULL,
  TIME INDEX ("ts")
)

ENGINE=mito
WITH(
  append_mode = 'true'
)`;

describe('type hints of JSON2 columns', () => {
  let bench: SqlBench;
  beforeEach(async () => {
    bench = await SqlBench.open();
    await bench.all(TABLE);
  });
  afterEach(() => bench.close());

  const stored = async (json: string): Promise<string> => {
    await bench.all(`INSERT INTO h VALUES (1, '${json}')`);
    const { text } = await bench.query('SELECT j FROM h');
    return text;
  };
  const fails = async (statement: string, number: number, message: string): Promise<void> => {
    const error = await bench.error(statement);
    expect(`${error.number} ${error.message}`).to.equal(`${number} ${message}`);
  };

  it('are shown as they are written, and described as JSON2', async () => {
    expect(await bench.rows('SHOW CREATE TABLE h')).to.deep.equal([['h', TABLE]]);
    expect((await bench.rows('DESC h'))[1]).to.deep.equal(['j', 'Json2', '', 'YES', '', 'FIELD']);
  });

  it('add defaults where a path is missing, and keep the rest as written', async () => {
    expect(await stored('{"user": {"name": "B", "tags": [1.0, {"a": "}"}]}, "n": 12345678901234567890.10}')).to.contain(
      '{"user":{"name":"B","tags":[1.0,{"a":"}"}],"age":18},"n":12345678901234567890.10,"score":-1.5}',
    );
  });

  it('apply to empty objects, and to paths that are null', async () => {
    expect(await stored('{"user": {"age": null}}')).to.contain(`{"user":{"age":18,"name":"un'known"},"score":-1.5}`);
    await bench.all(`INSERT INTO h VALUES (2, '{}')`);
    expect(await bench.rows('SELECT j.user.age, j.user.active FROM h WHERE ts = 2')).to.deep.equal([['18', null]]);
  });

  it('refuse values of other types', async () => {
    const text = 'does not match JSON2 type hint';
    await fails(
      `INSERT INTO h VALUES (4, '{"user":{"age":"x"}}')`,
      1004,
      `Invalid JSON: JSON value at user.age ${text} Int64`,
    );
    await fails(
      `INSERT INTO h VALUES (4, '{"user":{"age":1.5}}')`,
      1004,
      `Invalid JSON: JSON value at user.age ${text} Int64`,
    );
    await fails(`INSERT INTO h VALUES (4, '{"user":7}')`, 1004, `Invalid JSON: JSON value at user ${text} user.age`);
    await bench.all(`CREATE TABLE r (ts TIMESTAMP TIME INDEX, j JSON2(a.b INT NOT NULL)) WITH (append_mode = 'true')`);
    await fails(`INSERT INTO r VALUES (1, '{}')`, 1004, 'Invalid JSON: missing non-null JSON2 type hint path a.b');
  });

  const refuses = (title: string, hints: string, message: string): void => {
    it(`refuse ${title}`, () =>
      fails(
        `CREATE TABLE x (ts TIMESTAMP TIME INDEX, j JSON2(${hints})) WITH (append_mode = 'true')`,
        2000,
        `Invalid SQL, error: ${message}`,
      ));
  };
  refuses('types that JSON lacks', 'a TIMESTAMP', 'unsupported JSON2 type hint data type: TIMESTAMP');
  refuses(
    'a default of null that may not be null',
    'a INT NOT NULL DEFAULT NULL',
    "invalid DEFAULT for JSON2 type hint 'a': Default value should not be null for non null column",
  );
  refuses(
    'a default of another type',
    "a INT DEFAULT 'x'",
    "invalid DEFAULT for JSON2 type hint 'a': no value of Int32",
  );
  refuses('a path twice', 'a INT, a INT', 'a JSON2 type hint path is given twice');
  refuses('a path within another one', 'a INT, a.b INT', 'JSON2 type hint path a is a part of a.b');
  refuses(
    'a path that is too deep',
    `${Array.from({ length: 51 }, (_, i) => `l${i}`).join('.')} INT`,
    'JSON2 type hint path cannot exceed 50 segments',
  );
});
