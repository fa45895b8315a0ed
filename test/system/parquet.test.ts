import Database from 'better-sqlite3';
import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import {
  isSeriesFile,
  isSortedSegment,
  joinTable,
  parquetPaths,
  readParquet,
  type ParquetCell,
  type ParquetFile,
} from '#test/support/parquet-table';
import { tempFolder } from '#test/support/temp-folder';

const TIME = 'almanac_timestamp';
const YEAR_NS = 31_536_000_000_000_000n;

describe('flushed files', () => {
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;

  beforeEach(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(folder);
  });

  afterEach(async () => {
    await almanac.stop();
    cleanUp();
  });

  async function sql(statement: string): Promise<void> {
    const { status, text } = await almanac.sql(statement);
    expect(status, text).to.equal(200);
  }

  /** Stops the server and reads the only table's files. */
  async function files(): Promise<{ files: ParquetFile[]; ids: ReadonlyMap<string, number> }> {
    expect(await almanac.stop()).to.equal(0);
    return { files: await Promise.all(parquetPaths(folder).map(readParquet)), ids: columnIds(folder) };
  }

  /** Rows of the join, as records in order of time, without nulls. */
  async function joined(): Promise<Record<string, ParquetCell>[]> {
    const { files: read, ids } = await files();
    const timeId = ids.get(TIME)!;
    for (const file of read.filter(({ path }) => !isSeriesFile(path))) {
      expect(isSortedSegment(file, timeId), file.path).to.equal(true);
    }
    const rows = joinTable(read, timeId).sort((a, b) => (a.get(timeId)! < b.get(timeId)! ? -1 : 1));
    return rows.map((row) => {
      const present = Array.from(ids, ([name, id]) => [name, row.get(id) ?? null] as const);
      return Object.fromEntries(present.filter(([, cell]) => cell !== null));
    });
  }

  it('hold the limits of times and dates, beyond which rows are refused', async () => {
    await sql(
      `CREATE TABLE ends (a TIMESTAMP(0), b TIMESTAMP(3), c TIMESTAMP(6), d TIMESTAMP(9), e DATE, ts TIMESTAMP(9) TIME INDEX)`,
    );
    const most = [8_640_000_000_000n, 8_640_000_000_000_000n, 8_640_000_000_000_000_000n, 9_223_372_036_854_775_806n];
    const ends = [...most, 2_147_483_646n];
    await sql(
      `INSERT INTO ends VALUES (${ends.join(', ')}, ${most[3]}), (${ends.map((it) => -it).join(', ')}, ${-most[3]})`,
    );
    for (const [i, end] of ends.entries()) {
      for (const beyond of [end + 1n, -end - 1n]) {
        const cells = ends.map((_, at) => (at === i ? beyond : 'NULL'));
        const { status, text } = await almanac.sql(`INSERT INTO ends VALUES (${cells.join(', ')}, 1)`);
        expect(status, text).to.equal(400);
        expect(text).to.contain('out of the range of');
      }
    }
    const counts = 'SELECT epoch(a), epoch_ms(b), epoch_us(c), epoch_ns(d), e::VARCHAR FROM ends ORDER BY ts';
    const before = await almanac.rows(counts);
    expect(before).to.have.length(2);
    await almanac.flush('ends');
    expect(await almanac.rows(counts)).to.deep.equal(before);
    await almanac.rows("ADMIN compact_table('ends')");
    expect(await almanac.rows(counts)).to.deep.equal(before);
  });

  it('hold every value exactly', async () => {
    await almanac.written(
      [
        'm,h=a zero=0,minus=-0.0,tiny=5e-324,huge=1.7976931348623157e308 1',
        'm,h=b least=-9223372036854775808i,most=9223372036854775807i,unsigned=18446744073709551615u 2',
        'm,h=c text="a \\"quoted\\" \\\\ text, two\nlines; Größe 東京 🜚",empty="",yes=t,no=f 3',
        'm,h=d\\ e\\,f\\=g\\ ü zero=1 4',
        'm zero=2 5',
      ].join('\n'),
    );
    await sql("ADMIN flush_table('m')");
    const rows = await joined();
    expect(rows).to.deep.equal([
      { h: 'a', zero: 0, minus: -0, tiny: 5e-324, huge: 1.7976931348623157e308, [TIME]: 1n },
      { h: 'b', least: -(2n ** 63n), most: 2n ** 63n - 1n, unsigned: 2n ** 64n - 1n, [TIME]: 2n },
      { h: 'c', text: 'a "quoted" \\ text, two\nlines; Größe 東京 🜚', empty: '', yes: true, no: false, [TIME]: 3n },
      { h: 'd e,f=g ü', zero: 1, [TIME]: 4n },
      { zero: 2, [TIME]: 5n },
    ]);
    expect(Object.is(rows[0]['minus'], -0)).to.equal(true);
  });

  it('hold doubles that only SQL can write', async () => {
    await sql('CREATE TABLE m (h STRING PRIMARY KEY, v DOUBLE, almanac_timestamp TIMESTAMP(9) TIME INDEX)');
    await sql(`INSERT INTO m VALUES ('a', 'NaN', 1), ('a', 'Infinity', 2), ('a', '-Infinity', 3), ('a', -0.0, 4)`);
    await sql("ADMIN flush_table('m')");
    const values = (await joined()).map((row) => row['v']);
    expect(values).to.deep.equal([NaN, Infinity, -Infinity, -0]);
    expect(Object.is(values[3], -0)).to.equal(true);
  });

  it('are few when rows are ten years apart, and each is sorted', async () => {
    const lines = Array.from({ length: 5_000 }, (_, i) => {
      const decade = BigInt(i % 5);
      return `m,h=h${i % 7} v=${i}i ${decade * 10n * YEAR_NS + BigInt(i)}`;
    });
    await almanac.written(lines.join('\n'));
    await sql("ADMIN flush_table('m')");
    const rows = await joined();
    expect(parquetPaths(folder)).to.have.length(5 + 1);
    expect(rows.map((row) => Number(row['v'])).sort((a, b) => a - b)).to.deep.equal(lines.map((_, i) => i));
    for (const row of rows) {
      const i = Number(row['v']);
      expect(row).to.deep.equal({
        h: `h${i % 7}`,
        v: BigInt(i),
        [TIME]: BigInt(i % 5) * 10n * YEAR_NS + BigInt(i),
      });
    }
  });

  it('join to the right rows after widening, late rows and rewritten rows', async () => {
    await almanac.written('m,h=a v=1,w=1 10\nm,h=a v=2,w=2 20\nm,h=b v=3 10');
    await sql("ADMIN flush_table('m')");
    await almanac.written('m,h=a w=9,x="new" 10\nm,h=a,dc=eu v=4 15\nm,h=a v=5 5\nm,h=a v=6 5');
    await sql("ADMIN flush_table('m')");
    const { text, rows: answered } = await almanac.sql(`SELECT * FROM m ORDER BY ${TIME}, h, dc`);
    const names = columnNamesOf(text);
    const expected = answered.map((row) => {
      const present = names
        .map((name, i) => [name, row[i] as ParquetCell] as const)
        .filter(([, cell]) => cell !== null);
      return Object.fromEntries(present.map(([name, cell]) => [name, name === TIME ? BigInt(cell as number) : cell]));
    });
    const rows = await joined();
    expect(rows).to.have.deep.members(expected);
    expect(rows).to.have.deep.members([
      { h: 'a', v: 6, [TIME]: 5n },
      { h: 'a', v: 1, w: 9, x: 'new', [TIME]: 10n },
      { h: 'b', v: 3, [TIME]: 10n },
      { h: 'a', dc: 'eu', v: 4, [TIME]: 15n },
      { h: 'a', v: 2, w: 2, [TIME]: 20n },
    ]);
  });

  it('name their columns by the IDs of the catalog', async () => {
    await almanac.written('m,h=a v=1 1');
    await sql("ADMIN flush_table('m')");
    await almanac.written('m,h=a,dc=b v=1,w=2i 2');
    await sql("ADMIN flush_table('m')");
    const { files: read, ids } = await files();
    const [oldSegment, newSegment] = read.filter(({ path }) => !isSeriesFile(path));
    const [oldSeries, newSeries] = read.filter(({ path }) => isSeriesFile(path));
    const idsOf = (...names: string[]): (readonly [number, string])[] => names.map((name) => [ids.get(name)!, name]);
    const sid = [1_000_000_001, '__sid'] as const;
    const tsid = [1_000_000_002, '__tsid'] as const;
    expect([...oldSegment.names]).to.deep.equal([sid, ...idsOf(TIME, 'v')]);
    expect([...newSegment.names]).to.deep.equal([sid, ...idsOf(TIME, 'v', 'w')]);
    expect([...oldSeries.names]).to.deep.equal([sid, tsid, ...idsOf('h')]);
    expect([...newSeries.names]).to.deep.equal([sid, tsid, ...idsOf('h', 'dc')]);
  });
});

/** Numbers of the only table's columns, from the catalog of a server that has ended. */
function columnIds(folder: string): ReadonlyMap<string, number> {
  const catalog = new Database(`${folder}/metadata/almanac.db`, { readonly: true });
  const columns = catalog.prepare<[], { name: string; column_id: number }>('SELECT name, column_id FROM columns').all();
  catalog.close();
  return new Map(columns.map((column) => [column.name, column.column_id]));
}

function columnNamesOf(text: string): string[] {
  const answer = JSON.parse(text) as {
    output: { records: { schema: { column_schemas: { name: string }[] } } }[];
  };
  return answer.output[0].records.schema.column_schemas.map(({ name }) => name);
}
