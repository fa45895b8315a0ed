import { decompress, isLoaded } from '@foxglove/wasm-zstd';
import {
  CompressionType,
  compressionRegistry,
  MessageReader,
  tableFromIPC,
  Type,
  type Table as ArrowTable,
} from 'apache-arrow';
import { decompressFrameSync } from 'lz4-napi';
import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { pathOf } from '#test/support/kernel-comparison';
import { peakMemoryMib } from '#test/support/process-figures';
import { tempFolder } from '#test/support/temp-folder';

/** More rows than are encoded in the program itself: the engine makes their texts. */
const MANY = 5000;
/** Of one buffer of an Arrow stream, in bytes. */
const UNCOMPRESSED_MAX = 1 << 20;

interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly format: string | null;
  readonly text: string;
}

/** The first value of a column as it is stored. */
function firstOf(table: ArrowTable, name: string): unknown {
  return (table.getChild(name)?.data[0].values as ArrayLike<unknown> | undefined)?.[0];
}

/** The cells of a table as those of JSON: big integers as numbers. */
function rowsOf(table: ArrowTable): unknown[][] {
  return table.toArray().map((row) => {
    const cells = Object.values((row as { toJSON(): Record<string, unknown> }).toJSON());
    return cells.map((cell) => (typeof cell === 'bigint' ? Number(cell) : cell));
  });
}

/** What is stored where cells of a fixed size are null. */
function valuesOfNulls(table: ArrowTable): number[] {
  const found: number[] = [];
  for (const { children } of table.batches.map(({ data }) => data)) {
    for (const column of children) {
      const isFixed = column.valueOffsets === undefined && column.typeId !== Type.Bool;
      if (!isFixed || column.nullCount === 0) continue;
      const values = column.values as ArrayLike<number | bigint>;
      for (let i = 0; i < column.length; i++) if (!column.getValid(i)) found.push(Number(values[i]));
    }
  }
  return found;
}

/** Checks the length in front of each compressed buffer of an Arrow stream, and returns their number. */
function compressedBuffers(stream: Uint8Array, decode: (bytes: Uint8Array) => Uint8Array): number {
  let count = 0;
  const reader = new MessageReader(stream);
  for (let message = reader.readMessage(); message !== null; message = reader.readMessage()) {
    const body = Buffer.from(reader.readMessageBody(message.bodyLength));
    for (const { offset, length } of message.isRecordBatch() ? message.header().buffers : []) {
      if (length === 0) continue;
      const uncompressed = Number(body.readBigInt64LE(offset));
      if (uncompressed === -1) continue;
      expect(decode(body.subarray(offset + 8, offset + length)).length).to.equal(uncompressed);
      count++;
    }
  }
  return count;
}

describe('formats of SQL results', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
    await almanac.rows('CREATE TABLE many (ts TIMESTAMP(3) TIME INDEX, host STRING PRIMARY KEY, cpu DOUBLE)');
    const lines = Array.from({ length: MANY }, (_, i) => `many,host=h cpu=0.5 ${1702433141000 + i}`);
    await almanac.written(lines.join('\n'), 'precision=ms');
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function answer(sql: string, parameters: Readonly<Record<string, string>>): Promise<Answer> {
    const body = new URLSearchParams({ sql, ...parameters }).toString();
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const { status, text, headers } = await almanac.post('/v1/sql', body, form);
    return { status, text, type: headers.get('content-type'), format: headers.get('x-almanac-format') };
  }

  /** The text of a format, without the duration. */
  async function textIn(
    format: string,
    sql: string,
    parameters: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const { status, text } = await answer(sql, { format, ...parameters });
    expect(status, text).to.equal(200);
    return text
      .replace(/"execution_time_ms":\d+/, '"execution_time_ms":0')
      .replace(/Elapsed: [0-9.]+ sec/, 'Elapsed: 0 sec');
  }

  const ROW = `SELECT 'a "b", c' AS t, 66.6 AS f, 2.0 AS whole, NULL::STRING AS n, TIMESTAMP '1970-01-01 00:00:01.5'::TIMESTAMP(3) AS ts`;

  it('csv, csvWithNames and csvWithNamesAndTypes follow RFC 4180', async () => {
    const record = '"a ""b"", c",66.6,2.0,,1500\r\n';
    expect(await textIn('csv', ROW)).to.equal(record);
    expect(await textIn('CSVWITHNAMES', ROW)).to.equal(`t,f,whole,n,ts\r\n${record}`);
    const types = 'String,Float64,Float64,String,TimestampMillisecond';
    expect(await textIn('csvWithNamesAndTypes', ROW)).to.equal(`t,f,whole,n,ts\r\n${types}\r\n${record}`);
    const { type, format } = await answer(ROW, { format: 'csvwithnames' });
    expect([type, format]).to.deep.equal(['text/csv; charset=utf-8', 'csvWithNames']);
    expect(await textIn('csvWithNames', 'SELECT 1 AS "a,b" WHERE false')).to.equal('"a,b"\r\n');
    const special = "SELECT 'NaN'::DOUBLE, 'inf'::DOUBLE, '-inf'::DOUBLE, X'00ff', [1, NULL, 2], true";
    expect(await textIn('csv', special)).to.equal('NaN,inf,-inf,00ff,"[1,null,2]",true\r\n');
    expect(await textIn('csv', "SELECT NULL::STRING UNION ALL SELECT ''")).to.equal('""\r\n""\r\n');
    expect(await textIn('csv', "INSERT INTO many (ts, host) VALUES (1, 'z'), (2, 'z')")).to.equal('2\n');
  });

  it('table draws a frame, by the width of characters', async () => {
    expect(await textIn('table', "SELECT '東京' AS host, 1702433141000 AS ts, 0.5 AS cpu")).to.equal(
      [
        '┌─host───┬─ts────────────┬─cpu─┐',
        '│ "東京" │ 1702433141000 │ 0.5 │',
        '└────────┴───────────────┴─────┘',
        '',
      ].join('\n'),
    );
    expect(await textIn('table', 'SELECT 1 AS a WHERE false')).to.equal('┌─a─┐\n└───┘\n');
    expect(await textIn('table', 'SELECT host FROM many WHERE false')).to.contain('┌─host─┐');
  });

  it('json has an object for each row, with a name for each column', async () => {
    expect(await textIn('json', `${ROW}, 1 AS t, 2 AS t`)).to.equal(
      '{"data":[{"t":"a \\"b\\", c","f":66.6,"whole":2.0,"n":null,"ts":1500,"t_1":1,"t_2":2}],"execution_time_ms":0}',
    );
    expect(await textIn('json', "SELECT X'00ff' AS b")).to.equal('{"data":[{"b":"AP8="}],"execution_time_ms":0}');
    expect(await textIn('json', 'SELECT 1 AS a WHERE false')).to.equal('{"data":[],"execution_time_ms":0}');
    expect(await textIn('json', "INSERT INTO many (ts, host) VALUES (3, 'z')")).to.equal(
      '{"data":[],"affected_rows":1,"execution_time_ms":0}',
    );
  });

  it('influxdb_v1 has a result for each statement, and times in the unit that is wanted', async () => {
    expect(await textIn('influxdb_v1', `${ROW}; SET time_zone = 'UTC'; SELECT 1 AS a WHERE false`)).to.equal(
      '{"results":[{"statement_id":0,"series":[{"name":"","columns":["t","f","whole","n","ts"],' +
        '"values":[["a \\"b\\", c",66.6,2.0,null,1500]]}]},{"statement_id":1,"series":[]},' +
        '{"statement_id":2,"series":[{"name":"","columns":["a"],"values":[]}]}],"execution_time_ms":0}',
    );
    const times =
      "SELECT TIMESTAMP '1970-01-01 00:00:01.5'::TIMESTAMP(3) AS a, TIMESTAMP '1969-12-31 23:59:58.5'::TIMESTAMP(3) AS b";
    for (const [epoch, values] of [
      ['ns', '[1500000000,-1500000000]'],
      ['µ', '[1500000,-1500000]'],
      ['MS', '[1500,-1500]'],
      ['s', '[1,-2]'],
      ['h', '[0,-1]'],
    ] as const) {
      expect(await textIn('influxdb_v1', times, { epoch }), epoch).to.contain(`"values":[${values}]`);
    }
    const { format } = await answer(times, { format: 'influxdb_v1', epoch: 's' });
    expect(format).to.equal('influxdb_v1');
  });

  async function arrowReply(path: string, parameters: Readonly<Record<string, string>>): Promise<Uint8Array> {
    const body = new URLSearchParams({ format: 'arrow', ...parameters });
    const response = await fetch(`${almanac.url}${path}`, { method: 'POST', body });
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('application/arrow');
    expect(response.headers.get('x-almanac-format')).to.equal('arrow');
    return new Uint8Array(await response.arrayBuffer());
  }

  const arrowBytes = (sql: string, compression = ''): Promise<Uint8Array> =>
    arrowReply('/v1/sql', { sql, compression });
  const arrowOf = async (sql: string): Promise<ArrowTable> => tableFromIPC(await arrowBytes(sql));

  it('arrow is read by its client, with exact values of each type', async () => {
    const table = await arrowOf(
      `SELECT 'ü' AS t, 66.6 AS f, 1.5::FLOAT AS f4, NULL::BIGINT AS n, 9007199254740993 AS i, 18446744073709551615::UBIGINT AS u, ` +
        `-3::TINYINT AS i1, true AS yes, X'00ff' AS b, -1.10::DECIMAL(20, 2) AS d, DATE '1970-01-03' AS day, ` +
        `TIMESTAMP '2023-12-13 02:05:41.123456789'::TIMESTAMP(9) AS ns, TIMESTAMP '1969-12-31 23:59:58.5'::TIMESTAMP(3) AS ms, ` +
        `[1, NULL] AS list, INTERVAL '1 day' AS span, 'NaN'::DOUBLE AS nan`,
    );
    expect(table.schema.fields.map(({ name, type }) => `${name} ${String(type)}`)).to.deep.equal([
      't Utf8',
      'f Float64',
      'f4 Float32',
      'n Int64',
      'i Int64',
      'u Uint64',
      'i1 Int8',
      'yes Bool',
      'b Binary',
      'd Decimal[20e+2]',
      'day Date32<DAY>',
      'ns Timestamp<NANOSECOND>',
      'ms Timestamp<MILLISECOND>',
      'list Utf8',
      'span Utf8',
      'nan Float64',
    ]);
    const raw = (name: string): unknown => firstOf(table, name);
    const value = (name: string): unknown => table.getChild(name)?.get(0);
    expect(['t', 'f', 'f4', 'n', 'i', 'u', 'i1', 'yes', 'list', 'span'].map(value)).to.deep.equal([
      'ü',
      66.6,
      1.5,
      null,
      9007199254740993n,
      18446744073709551615n,
      -3,
      true,
      '[1,null]',
      '1 days',
    ]);
    expect([raw('day'), raw('ns'), raw('ms')]).to.deep.equal([2, 1702433141123456789n, -1500n]);
    expect(Buffer.from(value('b') as Uint8Array).toString('hex')).to.equal('00ff');
    expect(String(value('d'))).to.equal('-110');
    expect(value('nan')).to.deep.equal(NaN);
    expect(table.schema.fields[13].metadata.get('type')).to.equal('List<Int32>');
  });

  it('arrow streams many rows as batches, and has a schema without rows', async () => {
    const many = await arrowOf('SELECT ts, host, cpu FROM many WHERE cpu = 0.5 ORDER BY ts');
    expect([many.numRows, many.batches.length > 1]).to.deep.equal([MANY, true]);
    expect(firstOf(many, 'ts')).to.equal(1702433141000n);
    expect(new Set(many.getChild('cpu')?.toArray() as Float64Array)).to.deep.equal(new Set([0.5]));
    const none = await arrowOf('SELECT ts, host FROM many WHERE cpu = 7');
    expect([none.numRows, none.schema.fields.length]).to.deep.equal([0, 2]);
    expect((await answer("INSERT INTO many (ts, host) VALUES (5, 'z')", { format: 'arrow' })).text).to.equal('');
    const tooLarge = await answer('SELECT 9223372036854775807::HUGEINT + 1 AS a', { format: 'arrow' });
    expect([tooLarge.status, tooLarge.text]).to.satisfy(([status, text]: [number, string]) => {
      return status === 400 && text.includes('column \\"a\\": 9223372036854775808 does not fit 64 bits');
    });
  });

  it('arrow is compressed with zstd or lz4, which its client and others read', async () => {
    await isLoaded;
    const codecs = {
      zstd: (bytes: Uint8Array) => decompress(bytes, UNCOMPRESSED_MAX),
      lz4: (bytes: Uint8Array) => decompressFrameSync(Buffer.from(bytes)),
    };
    const { ZSTD, LZ4_FRAME } = CompressionType;
    compressionRegistry.set(ZSTD, { ...compressionRegistry.get(ZSTD), decode: codecs.zstd });
    compressionRegistry.set(LZ4_FRAME, { ...compressionRegistry.get(LZ4_FRAME), decode: codecs.lz4 });
    const sql = "SELECT ts, host, cpu, NULL::BIGINT AS none, '' AS empty FROM many WHERE cpu = 0.5 ORDER BY ts";
    const plain = await arrowBytes(sql);
    const rows = tableFromIPC(plain).toArray().map(String);
    expect(rows).to.have.length(MANY);
    for (const [name, decode] of Object.entries(codecs)) {
      const bytes = await arrowBytes(sql, name.toUpperCase());
      expect(bytes.length, name).to.be.lessThan(plain.length / 2);
      expect(compressedBuffers(bytes, decode), name).to.be.greaterThan(0);
      expect(tableFromIPC(bytes).toArray().map(String), name).to.deep.equal(rows);
      expect(tableFromIPC(await arrowBytes('SELECT 1 AS a, NULL AS b WHERE false', name)).numRows).to.equal(0);
      const range = { query: '1', start: '1702433141', end: '1702433200', step: '1', compression: name };
      const samples = await arrowReply('/v1/promql', range);
      expect(tableFromIPC(samples).numRows, name).to.equal(60);
    }
    expect(await arrowBytes('SELECT 1 AS a', 'brotli')).to.deep.equal(await arrowBytes('SELECT 1 AS a'));
  });

  it('arrow has the rows of JSON, of kernels and of the engine', async () => {
    await almanac.rows(
      'CREATE TABLE kinds (h STRING PRIMARY KEY, s STRING, d DOUBLE, f FLOAT, i INT, n BIGINT, t TINYINT,' +
        ' u SMALLINT UNSIGNED, w BIGINT UNSIGNED, b BOOLEAN, ts TIMESTAMP(3) TIME INDEX)',
    );
    const nullable = (sql: string, every: number): string => `CASE WHEN i % ${every} = 0 THEN NULL ELSE ${sql} END`;
    const text = `CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'é' || i ELSE repeat('x', i % 30) END`;
    const fields = [
      ...[
        'i / 7 - 100',
        'i / 4',
        'i - 1500',
        '(i - 1500) * 6000000000',
        'i % 256 - 128',
        'i % 65536',
        'i * 7000000000',
      ],
    ].map((sql, at) => nullable(sql, at + 2));
    await almanac.rows(
      `INSERT INTO kinds SELECT ${nullable("'h' || (i % 5)", 11)}, ${text}, ${fields.join()}, i % 3 = 0, i * 100 - 5000` +
        ` FROM range(0, ${MANY}) AS s(i)`,
    );
    const all = 'h, d, f, i, n, t, u, w, b, ts';
    const aggregates =
      'max(d) AS d, last_value(f ORDER BY ts) AS f, sum(i) AS i, min(n) AS n, max(w) AS w, count(u) AS u';
    for (const [path, sql] of [
      ['kernels', `SELECT ${all} FROM kinds ORDER BY ts`],
      ['kernels', `SELECT h, ${aggregates} FROM kinds GROUP BY h ORDER BY h`],
      ['kernels', `SELECT date_trunc('minute', ts) AS k, ${aggregates} FROM kinds GROUP BY k ORDER BY k`],
      ['engine', `SELECT s, ${all} FROM kinds ORDER BY ts`],
      ['engine', `SELECT s, ${all} FROM kinds ORDER BY ts LIMIT 20 OFFSET 1`],
      ['engine', `SELECT s FROM kinds ORDER BY ts`],
    ]) {
      expect(await pathOf(sql, almanac)).to.match(new RegExp(`^path: ${path}`));
      const table = await arrowOf(sql);
      expect(rowsOf(table), sql).to.deep.equal(await almanac.rows(sql));
      expect(valuesOfNulls(table).filter((value) => value !== 0)).to.deep.equal([]);
    }
  });

  it('arrow has exact integers of 64 bits, and nothing of other values where there is null', async () => {
    await almanac.rows('CREATE TABLE wide (n BIGINT, u BIGINT UNSIGNED, s STRING, ts TIMESTAMP(3) TIME INDEX)');
    const n = '(i - 3000) * 3000000000000000';
    await almanac.rows(
      `INSERT INTO wide SELECT ${n}, i::UBIGINT * 3000000000000000::UBIGINT, 'secret text ' || i, i FROM range(0, ${MANY}) AS s(i)`,
    );
    for (const limit of [10, MANY]) {
      const table = await arrowOf(
        `SELECT n, n::STRING AS a, u, u::STRING AS b FROM wide ORDER BY ts DESC LIMIT ${limit}`,
      );
      expect(table.numRows).to.equal(limit);
      for (const [integers, texts] of [
        ['n', 'a'],
        ['u', 'b'],
      ]) {
        const [found, expected] = [integers, texts].map((name) => Array.from(table.getChild(name) ?? [], String));
        expect(found).to.deep.equal(expected);
      }
      const nulls = await arrowOf(
        'SELECT b.n, b.ts, b.u, a.s, CASE WHEN a.n < 0 THEN a.n END AS c, (CASE WHEN a.n < 0 THEN 1.5 END)::DOUBLE AS d' +
          ` FROM wide AS a LEFT JOIN wide AS b ON b.n = a.n + 1 ORDER BY a.ts DESC LIMIT ${limit}`,
      );
      expect([nulls.numRows, nulls.getChild('n')?.nullCount]).to.deep.equal([limit, limit]);
      expect(new Set(valuesOfNulls(nulls))).to.deep.equal(new Set([0]));
    }
  });

  it('null counts', async () => {
    expect(await textIn('null', 'SELECT * FROM many WHERE cpu = 0.5')).to.equal(
      `${MANY} rows in set.\nElapsed: 0 sec.\n`,
    );
    expect(await textIn('null', "INSERT INTO many (ts, host) VALUES (4, 'z')")).to.contain('1 rows affected.\n');
  });

  it('honour a limit', async () => {
    for (const format of ['csv', 'json', 'influxdb_v1', 'table', 'null']) {
      const text = await textIn(format, 'SELECT host FROM many', { limit: '2' });
      const rows = format === 'null' ? text.startsWith('2 rows') : text.split('h').length < 20;
      expect(rows, text).to.equal(true);
    }
  });

  for (const [format, epoch] of [
    ['greptimedb_v1', ''],
    ['influxdb_v1', ''],
    ['influxdb_v1', 's'],
    ['csv', ''],
    ['json', ''],
    ['table', ''],
  ] as const) {
    it(`${format} ${epoch} is the same for few rows and for many, whose texts the engine makes`, async () => {
      const columns =
        `'a "b", ü' AS t, 66.6 AS f, 2.0 AS whole, NULL::STRING AS n, true AS yes, 1.10::DECIMAL(4, 2) AS d, ` +
        `TIMESTAMP '1969-12-31 23:59:58.5'::TIMESTAMP(3) AS ts, -7 AS i, 'NaN'::DOUBLE AS nan, '' AS empty, 9007199254740993 AS exact`;
      const parameters = epoch === '' ? {} : { epoch };
      const one = await textIn(format, `SELECT ${columns}`, parameters);
      const many = await textIn(format, `SELECT ${columns} FROM many WHERE cpu = 0.5`, parameters);
      if (format === 'table') {
        const [head, row, foot] = one.split('\n');
        expect(many === [head, ...Array.from({ length: MANY }, () => row), foot, ''].join('\n')).to.equal(true);
        return;
      }
      // What is around the row, by a query without rows.
      const [before = '', after = ''] = split(one);
      const row = one.slice(before.length, one.length - after.length);
      const separator = format === 'csv' ? '' : ',';
      expect(many.startsWith(before + row + separator + row)).to.equal(true);
      const rows = Array.from({ length: MANY }, () => row).join(separator);
      expect(many.slice(before.length, before.length + rows.length) === rows).to.equal(true);
    });
  }

  /** Divides a reply with one row. */
  function split(text: string): string[] {
    const from = text.startsWith('{') ? text.search(/(?<=:\[)(\[|\{"t")/) : 0;
    const to = text.startsWith('{') ? text.indexOf(text[from] === '[' ? ']' : '}', from) + 1 : text.length;
    return [text.slice(0, from), text.slice(to)];
  }

  it('stream rows with long texts without holding many of them', async () => {
    await almanac.rows('CREATE TABLE long (h STRING PRIMARY KEY, v DOUBLE, ts TIMESTAMP(3) TIME INDEX)');
    await almanac.rows("INSERT INTO long SELECT repeat('h', 30000), 1, i FROM range(0, 7000) AS s(i)");
    const before = peakMemoryMib(almanac.pid);
    const { text } = await almanac.get('/v1/sql?sql=SELECT+h+FROM+long');
    expect(text.length).to.be.greaterThan(200e6);
    expect(peakMemoryMib(almanac.pid) - before).to.be.lessThan(200);
  });

  it('are those of /v1/promql, too', async () => {
    const inPromql = async (query: Readonly<Record<string, string>>): Promise<string> => {
      const range = { query: '1', start: '0', end: '10', step: '5s', ...query };
      const { status, text } = await almanac.get(`/v1/promql?${new URLSearchParams(range).toString()}`);
      expect(status, text).to.equal(200);
      return text;
    };
    expect(await inPromql({ format: 'csv' })).to.equal('0,1.0\r\n5000,1.0\r\n10000,1.0\r\n');
    expect(await inPromql({ format: 'csvWithNames' })).to.match(/^time,value\r\n0,1\.0/);
    expect(await inPromql({ format: 'influxdb_v1', epoch: 's' })).to.contain('"values":[[0,1.0],[5,1.0],[10,1.0]]');
    expect(await inPromql({ format: 'table' })).to.contain('│ 10000 │ 1.0   │');
    expect(await inPromql({ format: 'null' })).to.contain('3 rows in set.\n');
  });

  it('refuse several statements, unknown names and a result that is too large to be drawn', async () => {
    for (const format of ['csv', 'csvWithNames', 'table', 'json', 'arrow', 'null']) {
      const { status, text } = await answer("INSERT INTO many (ts, host) VALUES (9, 'never'); SELECT 1", { format });
      expect([status, text])
        .to.deep.include(400)
        .and.satisfy(() => text.includes('cannot output multi-statements result in'));
    }
    expect(await almanac.rows("SELECT count(*) FROM many WHERE host = 'never'")).to.deep.equal([[0]]);
    for (const parameters of [{ format: 'xml' }, { format: 'influxdb_v1', epoch: 'years' }]) {
      const { status, text } = await answer('SELECT 1', parameters);
      expect(status, text).to.equal(400);
      expect(JSON.parse(text)).to.include({ code: 1004 });
    }
    const large = await answer(`SELECT repeat('x', 10000) FROM many`, { format: 'table' });
    expect(large.status, large.text.slice(0, 200)).to.equal(400);
    const failed = await answer('SELECT nothing', { format: 'csv' });
    expect([failed.status, failed.type]).to.deep.equal([400, 'application/json']);
  });
});
