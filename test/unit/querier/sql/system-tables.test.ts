import { expect } from 'chai';

import { SqlBench } from '#test/support/sql-bench';

describe('SQL system tables', () => {
  let bench: SqlBench;
  before(async () => {
    bench = await SqlBench.open();
    await bench.all(
      "CREATE TABLE cpu (host STRING, v DOUBLE DEFAULT 1.5, n DECIMAL(10, 2) NOT NULL COMMENT 'count', ts TIMESTAMP(6) TIME INDEX, " +
        'PRIMARY KEY (host)); CREATE DATABASE other; CREATE TABLE other.mem (used BIGINT UNSIGNED, ts TIMESTAMP TIME INDEX)',
    );
  });
  after(() => bench.close());

  it('lists the databases in any letter case', async () => {
    const text = 'SELECT Catalog_Name, schema_name FROM INFORMATION_SCHEMA.Schemata ORDER BY schema_name';
    expect(await bench.rows(text)).to.deep.equal([
      ['almanac', 'information_schema'],
      ['almanac', 'other'],
      ['almanac', 'public'],
    ]);
  });

  it('lists the tables of Almanac and none of the engine', async () => {
    const text =
      "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' ORDER BY 1";
    expect(await bench.rows(text)).to.deep.equal([
      ['other', 'mem'],
      ['public', 'cpu'],
    ]);
    const all = await bench.rows('SELECT DISTINCT table_schema FROM information_schema.tables ORDER BY 1');
    expect(all.flat()).to.deep.equal(['information_schema', 'other', 'public']);
  });

  it('describes each column', async () => {
    const text =
      'SELECT column_name, ordinal_position, numeric_precision, numeric_scale, datetime_precision, column_key, ' +
      'greptime_data_type, data_type, semantic_type, column_default, is_nullable, column_comment ' +
      "FROM information_schema.columns WHERE table_name = 'cpu' ORDER BY ordinal_position";
    expect(await bench.rows(text)).to.deep.equal([
      ['host', 1, null, null, null, 'PRI', 'String', 'string', 'TAG', null, 'YES', null],
      ['v', 2, 22, null, null, '', 'Float64', 'double', 'FIELD', '1.5', 'YES', null],
      ['n', 3, 10, 2, null, '', 'Decimal(10, 2)', 'decimal(10, 2)', 'FIELD', null, 'NO', 'count'],
      ['ts', 4, null, null, 6, 'TIME INDEX', 'TimestampMicrosecond', 'timestamp(6)', 'TIMESTAMP', null, 'NO', null],
    ]);
  });

  it('joins system tables with each other and counts their rows', async () => {
    const text =
      'SELECT t.table_name, count(*) FROM information_schema.tables t JOIN information_schema.columns c ' +
      'ON t.table_name = c.table_name AND t.table_schema = c.table_schema ' +
      "WHERE t.table_type = 'BASE TABLE' GROUP BY 1 ORDER BY 1";
    expect(await bench.rows(text)).to.deep.equal([
      ['cpu', 4],
      ['mem', 2],
    ]);
  });

  it('lists keys and their constraints', async () => {
    const usage = 'SELECT constraint_name, column_name FROM information_schema.key_column_usage WHERE table_name = ';
    expect(await bench.rows(`${usage}'cpu' ORDER BY 1`)).to.deep.equal([
      ['PRIMARY', 'host'],
      ['TIME INDEX', 'ts'],
    ]);
    const constraints = 'SELECT table_name, constraint_type FROM information_schema.table_constraints ORDER BY 1, 2';
    expect(await bench.rows(constraints)).to.deep.equal([
      ['cpu', 'PRIMARY KEY'],
      ['cpu', 'TIME INDEX'],
      ['mem', 'TIME INDEX'],
    ]);
    const statistics = 'SELECT index_name, non_unique FROM information_schema.statistics WHERE table_name = ';
    expect(await bench.rows(`${statistics}'cpu' ORDER BY 1`)).to.deep.equal([
      ['PRIMARY', 0],
      ['TIME INDEX', 1],
    ]);
  });

  it('shows tables that were created since the last query with the same text', async () => {
    const text = "SELECT count(*) FROM information_schema.columns WHERE table_name = 'late'";
    expect(await bench.rows(text)).to.deep.equal([[0]]);
    await bench.all('CREATE TABLE late (v DOUBLE, ts TIMESTAMP TIME INDEX)');
    expect(await bench.rows(text)).to.deep.equal([[2]]);
    await bench.all('DROP TABLE late');
    expect(await bench.rows(text)).to.deep.equal([[0]]);
  });

  it('shows a user only what it may read', async () => {
    const rights = { user: 'ann', grants: [{ database: 'other', mode: 'read' as const }] };
    const texts: string[] = [];
    const text =
      'SELECT DISTINCT schema_name FROM information_schema.schemata ORDER BY 1; ' +
      "SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE'; " +
      "SELECT DISTINCT table_name FROM information_schema.columns WHERE table_schema != 'information_schema' AND table_schema != 'public'; " +
      "SELECT count(*) FROM information_schema.columns WHERE table_name = 'cpu'; " +
      'SELECT DISTINCT table_name FROM information_schema.key_column_usage';
    for await (const event of bench.events(text, { database: 'information_schema' }, { rights })) {
      if (event.text.length > 0) texts.push(Buffer.from(event.text).toString());
    }
    expect(texts).to.deep.equal(['["information_schema"],["other"]', '["mem"]', '["mem"]', '[0]', '["mem"]']);
  });

  it('selects a database of system tables', async () => {
    const answers = await bench.all('USE information_schema; SELECT engine FROM engines ORDER BY 1; SHOW TABLES');
    expect(answers[1].rows).to.deep.equal([['metric'], ['mito']]);
    expect(answers[2].rows.flat()).to.include.members(['tables', 'columns', 'build_info', 'flows']);
    expect(await bench.rows('SELECT count(*) FROM views', { database: 'information_schema' })).to.deep.equal([[0]]);
  });

  it('lists what the rows of tables mean', async () => {
    await bench.all(
      "CREATE TABLE tagged (v DOUBLE, ts TIMESTAMP TIME INDEX) WITH ('greptime.semantic.signal_type' = 'metric', " +
        "'greptime.semantic.metric.unit' = 'By', 'greptime.semantic.metric.type' = 'counter')",
    );
    const text = 'SELECT table_name, signal_type, source, semantic_options FROM information_schema.table_semantics';
    expect(await bench.rows(text)).to.deep.equal([
      ['tagged', 'metric', null, '{"metric.type":"counter","metric.unit":"By"}'],
    ]);
    await bench.all('DROP TABLE tagged');
  });

  it('describes system tables', async () => {
    expect(await bench.rows('DESC TABLE information_schema.ssts_storage')).to.deep.equal([
      ['file_path', 'String', '', 'NO', '', 'FIELD'],
      ['file_size', 'UInt64', '', 'YES', '', 'FIELD'],
      ['last_modified_ms', 'TimestampMillisecond', '', 'YES', '', 'FIELD'],
      ['node_id', 'UInt64', '', 'YES', '', 'FIELD'],
    ]);
    expect(await bench.rows('SHOW INDEX FROM information_schema.tables')).to.deep.equal([]);
  });

  it('reads every system table', async () => {
    const tables = await bench.rows('SHOW TABLES FROM information_schema');
    for (const [name] of tables) {
      const { columns } = await bench.query(`SELECT * FROM information_schema.${String(name)}`);
      const described = await bench.rows(`DESC information_schema.${String(name)}`);
      expect(
        columns.map((column) => [column.name, column.type]),
        String(name),
      ).to.deep.equal(described.map(([column, type]) => [column, type]));
    }
  });

  it('provides the numbers from 0 to 99, unless a stored table has their name', async () => {
    expect(await bench.rows('SELECT min(number), max(number), count(*) FROM numbers')).to.deep.equal([[0, 99, 100]]);
    const text = 'SELECT count(*) FROM public.numbers';
    expect(await bench.rows(text)).to.deep.equal([[100]]);
    await bench.all('CREATE TABLE numbers (v DOUBLE, ts TIMESTAMP TIME INDEX)');
    expect(await bench.rows(text)).to.deep.equal([[0]]);
    await bench.all('DROP TABLE numbers');
    expect(await bench.rows(text)).to.deep.equal([[100]]);
  });

  for (const text of [
    "INSERT INTO information_schema.engines VALUES ('a', 'b', 'c', 'd', 'e', 'f')",
    'DELETE FROM information_schema.engines',
    'DROP TABLE information_schema.engines',
    'TRUNCATE TABLE information_schema.engines',
    'ALTER TABLE information_schema.engines ADD COLUMN a STRING',
    'CREATE TABLE information_schema.t (ts TIMESTAMP TIME INDEX)',
  ]) {
    it(`refuses ${text}`, async () => {
      const error = await bench.error(text);
      expect([error.code, error.message]).to.deep.equal(['unsupported', 'Schema `information_schema` is read-only']);
    });
  }

  it('refuses SHOW CREATE TABLE of a system table', async () => {
    const error = await bench.error('SHOW CREATE TABLE numbers');
    expect(error.message).to.equal('Show create table only for base table. almanac.public.numbers is TEMPORARY');
  });

  it('reports a table that does not exist', async () => {
    const error = await bench.error('SELECT * FROM information_schema.nothing');
    expect(error.message).to.contain('Table not found: almanac.information_schema.nothing');
  });

  it('evaluates no system table in TQL', async () => {
    expect(await bench.rows("TQL EVAL (0, 10, '5s') numbers")).to.deep.equal([]);
  });
});
