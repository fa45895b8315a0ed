import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { expect } from 'chai';
import { checkQuery } from '#test/bench/tsbs/check';
import { FIELD_COUNT, FIELD_NAMES, generate, START_SECONDS, STEP_SECONDS } from '#test/bench/tsbs/generator';
import { drawQueries, QUERY_KIND_NAMES, toSql } from '#test/bench/tsbs/queries';
import { TAG_NAMES } from '#test/bench/tsbs/tags';

const DATA = generate({ hosts: 12, steps: 720, seed: 5 });

describe('TSBS queries in SQL', () => {
  let instance: DuckDBInstance;
  let connection: DuckDBConnection;

  before(async () => {
    instance = await DuckDBInstance.create(':memory:');
    connection = await instance.connect();
    await makeTable(connection);
  });

  after(() => {
    connection.closeSync();
    instance.closeSync();
  });

  for (const kind of QUERY_KIND_NAMES) {
    it(`${kind}: the SQL and the reference agree`, async () => {
      for (const query of drawQueries(kind, DATA.shape, 4, 11)) {
        const text = await ask(connection, toSql(query));
        expect(checkQuery(query, DATA, text)).to.equal('');
      }
    });
  }

  it('draws the same queries for the same seed', () => {
    const [one, two] = [1, 1].map((seed) => drawQueries('cpu-max-all-8', DATA.shape, 5, seed));
    expect(one).to.deep.equal(two);
    expect(drawQueries('cpu-max-all-8', DATA.shape, 5, 2)).not.to.deep.equal(one);
  });
});

/** The shape that a query sees: series numbers joined to their tags. */
async function makeTable(connection: DuckDBConnection): Promise<void> {
  const tags = TAG_NAMES.map((name) => `${name} VARCHAR`).join(', ');
  await connection.run(`CREATE TABLE series (sid INTEGER, ${tags})`);
  const series = await connection.createAppender('series');
  DATA.hostTags.forEach((values, host) => {
    series.appendInteger(host);
    for (const value of values) series.appendVarchar(value);
    series.endRow();
  });
  series.closeSync();

  const fields = FIELD_NAMES.map((name) => `${name} BIGINT`).join(', ');
  await connection.run(`CREATE TABLE raw (sid INTEGER, second BIGINT, ${fields})`);
  const raw = await connection.createAppender('raw');
  const { hosts } = DATA.shape;
  for (let row = 0; row < DATA.values.length / FIELD_COUNT; row++) {
    raw.appendInteger(row % hosts);
    raw.appendBigInt(BigInt(START_SECONDS + Math.floor(row / hosts) * STEP_SECONDS));
    for (let field = 0; field < FIELD_COUNT; field++) raw.appendBigInt(BigInt(DATA.values[row * FIELD_COUNT + field]));
    raw.endRow();
  }
  raw.closeSync();
  await connection.run(
    `CREATE VIEW cpu AS SELECT s.* EXCLUDE (sid), make_timestamp_ns(second * 1000000000) AS almanac_timestamp,
       r.* EXCLUDE (sid, second) FROM raw r JOIN series s USING (sid)`,
  );
}

const DATA_TYPES: Readonly<Record<string, string>> = {
  TIMESTAMP: 'TimestampMicrosecond',
  TIMESTAMP_NS: 'TimestampNanosecond',
  VARCHAR: 'String',
  BIGINT: 'Int64',
  DOUBLE: 'Float64',
};

/** Answers as `/v1/sql` does. */
async function ask(connection: DuckDBConnection, sql: string): Promise<string> {
  const result = await connection.runAndReadAll(sql);
  const columns = result
    .columnNames()
    .map((name, i) => ({ name, data_type: DATA_TYPES[String(result.columnType(i))] }));
  const rows = result.getRowsJson().map((row) => {
    const cells = row.map((cell, i) => cellText(columns[i].data_type, cell));
    return `[${cells.join(',')}]`;
  });
  return `{"output":[{"records":{"schema":{"column_schemas":${JSON.stringify(columns)}},"rows":[${rows.join(',')}]}}]}`;
}

function cellText(dataType: string, cell: unknown): string {
  const text = String(cell);
  if (dataType === 'String') return JSON.stringify(text);
  if (!dataType.startsWith('Timestamp')) return text;
  const milliseconds = Date.parse(`${text.slice(0, 19).replace(' ', 'T')}Z`);
  return `${milliseconds}${dataType === 'TimestampNanosecond' ? '000000' : '000'}`;
}
