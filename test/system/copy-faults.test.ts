import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const CPU = 'host STRING PRIMARY KEY, usage DOUBLE, ts TIMESTAMP TIME INDEX';

const errorIn = ({ text }: { readonly text: string }): { code: number; error: string } =>
  JSON.parse(text) as { code: number; error: string };

describe('COPY from files of other programs', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let files: string;
  let almanac: Almanac;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    files = join(folder, 'files');
    const environment = { ALMANAC_STANDALONE__STORAGE__COPY_ROOT: files };
    almanac = await Almanac.start(join(folder, 'data'), { environment });
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  const affected = async (sql: string): Promise<number> => {
    const { status, text } = await almanac.sql(sql);
    expect(status, `${text}: ${sql}`).to.equal(200);
    return (JSON.parse(text) as { output: [{ affectedrows: number }] }).output[0].affectedrows;
  };

  /** Creates a table of the given columns and returns the rows that a file brings into it. */
  const imported = async (table: string, columns: string, copy: string): Promise<unknown[][]> => {
    await almanac.rows(`CREATE TABLE ${table} (${columns})`);
    await affected(`COPY ${table} FROM ${copy}`);
    return almanac.rows(`SELECT * FROM ${table} ORDER BY ts`);
  };

  it('matches columns without regard to letter case, an equal name first', async () => {
    writeFileSync(join(files, 'case.csv'), 'HOST,Usage,TS\na,1,1000\n');
    expect(await imported('folded_csv', CPU, "'case.csv' WITH (FORMAT = 'csv')")).to.deep.equal([['a', 1, 1000]]);
    writeFileSync(join(files, 'case.json'), '{"Host":"x","host":"a","USAGE":1,"Ts":1000}\n');
    expect(await imported('folded_json', CPU, "'case.json' WITH (FORMAT = 'json')")).to.deep.equal([['a', 1, 1000]]);
    await affected(`COPY (SELECT 'a' AS "Host", 1.0 AS "USAGE", 1000::TIMESTAMP AS "tS") TO 'case.parquet'`);
    expect(await imported('folded_parquet', CPU, "'case.parquet'")).to.deep.equal([['a', 1, 1000]]);
  });

  it('imports nothing if a file lacks a tag or the time index', async () => {
    mkdirSync(join(files, 'lacking'));
    await almanac.rows(`CREATE TABLE lacking (${CPU})`);
    for (const [format, good, bad, none] of [
      ['csv', 'host,usage,ts\na,1,1\n', 'hostname,usage,time\na,1,1\n', 'host,usage,ts\n'],
      ['json', '{"host":"a","ts":1}\n', '{"hostname":"a","usage":1,"time":1}\n', ''],
    ]) {
      writeFileSync(join(files, 'lacking', `1.${format}`), good);
      writeFileSync(join(files, 'lacking', `2.${format}`), bad);
      const copy = `COPY lacking FROM 'lacking/' WITH (FORMAT = '${format}', PATTERN = '${format}$')`;
      const error = errorIn(await almanac.sql(copy));
      expect(error.code, error.error).to.equal(1004);
      expect(error.error).to.contain(`file "lacking/2.${format}": it lacks the columns "host", "ts"`);
      expect(error.error).to.match(/the columns "(hostname", "time|time", "hostname)", which the table does not have/);
      expect(await almanac.rows('SELECT * FROM lacking')).to.deep.equal([]);
      writeFileSync(join(files, 'lacking', `3.${format}`), none);
      expect(await affected(`COPY lacking FROM 'lacking/3.${format}' WITH (FORMAT = '${format}')`)).to.equal(0);
    }
    const columns = "host STRING DEFAULT 'h' PRIMARY KEY, ts TIMESTAMP TIME INDEX DEFAULT 5, usage DOUBLE";
    expect(await imported('defaults', columns, "'lacking/2.csv' WITH (FORMAT = 'csv')")).to.deep.equal([['h', 5, 1]]);
  });

  it('names the file and the place of what cannot be read', async () => {
    mkdirSync(join(files, 'faulty'));
    await almanac.rows(`CREATE TABLE faulty (${CPU})`);
    const filler = 'a,1,1\n'.repeat(30_000);
    for (const [name, text, expected] of [
      ['value.csv', 'host,usage,ts\na,1,1\nb,x,2\n', 'file "faulty/value.csv", record 2: '],
      ['few.csv', 'host,usage,ts\na,1,1\nb,2\n', 'file "faulty/few.csv": the lines do not all have the same number'],
      ['late.csv', `host,usage,ts\n${filler}b,2\n`, 'file "faulty/late.csv", line 30002: it has 2 values instead of 3'],
      ['open.csv', `host,usage,ts\n${filler}b,"2,3\n`, 'file "faulty/open.csv", line 30002: a quote has no end'],
      ['value.json', '{"host":"a","ts":1}\n{"host":"b","ts":"x"}\n', 'file "faulty/value.json", record 2: '],
      ['end.json', '{"host":"a","ts":1}\n{"host":\n', 'file "faulty/end.json", line 3: the JSON is malformed'],
      [
        'text.parquet',
        'this is not a file of the format at all',
        'file "faulty/text.parquet": it is not a Parquet file',
      ],
    ]) {
      writeFileSync(join(files, 'faulty', name), text);
      const format = name.slice(name.indexOf('.') + 1);
      const { error } = errorIn(await almanac.sql(`COPY faulty FROM 'faulty/${name}' WITH (FORMAT = '${format}')`));
      expect(error).to.contain(expected).and.not.contain(folder);
      expect(error).to.not.match(/\n|ignore_errors|strict_mode|sniff/);
    }
  });
});
