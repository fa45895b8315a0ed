import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { fileCount, peakMemoryMib } from '#test/support/process-figures';
import { tempFolder } from '#test/support/temp-folder';

const DATABASES = 100;
const TABLES_PER_DATABASE = 10;
const TABLES = DATABASES * TABLES_PER_DATABASE;
const SERIES = 100_000;
const SERIES_PER_REQUEST = 10_000;
const YEARS = 100;
const YEAR_NS = 31_536_000_000_000_000n;

/** Every how many tables one is flushed, besides those of many series and of many years. */
const FLUSHED_SHARE = 10;
/** A flush of a table makes a segment and a series file. */
const FILES_PER_TABLE = 2;
/** Largest number of segments of one flush of a region, whatever its times are. */
const WINDOWS_MAX = 64;
/** Catalog, lock, log and what belongs to them. */
const OTHER_FILES = 20;
const PEAK_MEMORY_MIB = 700;
const STOP_MS_MAX = 30_000;

describe('many of everything', () => {
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(folder);
  });

  after(async () => {
    await almanac.stop();
    cleanUp();
  });

  async function write(lines: readonly string[], parameters = ''): Promise<void> {
    const { status, text } = await almanac.write(lines.join('\n'), parameters);
    expect(status, text).to.equal(204);
  }

  async function one(statement: string, database = 'public'): Promise<unknown[]> {
    const { status, text, rows } = await almanac.sql(statement, { db: database });
    expect(status, text).to.equal(200);
    return rows[0];
  }

  async function makeDatabases(): Promise<void> {
    for (let database = 0; database < DATABASES; database++) {
      const { status, text } = await almanac.sql(`CREATE DATABASE d${database}`);
      expect(status, text).to.equal(200);
    }
  }

  async function makeTables(): Promise<void> {
    for (let database = 0; database < DATABASES; database++) {
      const lines = Array.from({ length: TABLES_PER_DATABASE * 3 }, (_, i) => {
        return `t${i % TABLES_PER_DATABASE},h=h${i} v=${database}i,w=${i} ${i + 1}`;
      });
      await write(lines, `db=d${database}`);
    }
  }

  /** @param step checks every `step`-th table of a database. */
  async function expectTables(step: number): Promise<void> {
    for (let database = 0; database < DATABASES; database += step) {
      const counts = Array.from({ length: TABLES_PER_DATABASE }, (_, i) => `SELECT v, w FROM t${i}`).join(
        ' UNION ALL ',
      );
      const row = await one(`SELECT count(*), sum(v), sum(w) FROM (${counts})`, `d${database}`);
      expect(row, `d${database}`).to.deep.equal([30, 30 * database, 435]);
    }
  }

  async function makeSeries(): Promise<void> {
    for (let from = 0; from < SERIES; from += SERIES_PER_REQUEST) {
      const lines = Array.from({ length: SERIES_PER_REQUEST }, (_, i) => {
        const series = from + i;
        return `wide,device=device-${series},site=site-${series % 100} v=${series}i ${series}`;
      });
      await write(lines);
    }
  }

  async function expectSeries(): Promise<void> {
    const sum = (SERIES * (SERIES - 1)) / 2;
    expect(await one('SELECT count(*), count(DISTINCT device), sum(v) FROM wide')).to.deep.equal([SERIES, SERIES, sum]);
    expect(await one("SELECT count(*) FROM wide WHERE site = 'site-7'")).to.deep.equal([SERIES / 100]);
    expect(await one("SELECT v FROM wide WHERE device = 'device-99999'")).to.deep.equal([99_999]);
  }

  async function expectCentury(): Promise<void> {
    const row = await one('SELECT count(*), sum(v), CAST(max(almanac_timestamp) AS STRING) FROM far');
    expect(row.slice(0, 2)).to.deep.equal([YEARS * 10, (YEARS * (YEARS - 1) * 10) / 2]);
  }

  async function flushSome(): Promise<void> {
    for (let database = 0; database < DATABASES; database++) {
      for (let table = 0; table < TABLES_PER_DATABASE; table += FLUSHED_SHARE) {
        await one(`ADMIN flush_table('t${table}')`, `d${database}`);
      }
    }
    await one("ADMIN flush_table('wide')");
    await one("ADMIN flush_table('far')");
  }

  it('are written, queried and flushed', async () => {
    await makeDatabases();
    await makeTables();
    await makeSeries();
    // Far apart in one request: ten decades in both directions of 1970.
    await write(
      Array.from({ length: YEARS * 10 }, (_, i) => {
        const year = i % YEARS;
        return `far,h=h${i % 3} v=${year}i ${BigInt(year - 50) * YEAR_NS + BigInt(i)}`;
      }),
    );
    expect((await almanac.sql('SHOW DATABASES')).rows).to.have.length.of.at.least(DATABASES + 1);
    await expectTables(7);
    await expectSeries();
    await expectCentury();

    await flushSome();
    expect(peakMemoryMib(almanac.pid), 'peak in MiB').to.be.lessThan(PEAK_MEMORY_MIB);
  });

  it('are in few files after a stop, and found again', async () => {
    const startMs = performance.now();
    expect(await almanac.stop()).to.equal(0);
    const stopMs = performance.now() - startMs;
    const files = fileCount(folder);
    almanac = await Almanac.start(folder);
    await expectTables(1);
    await expectSeries();
    await expectCentury();
    const figures = { stopMs, files, peakMib: peakMemoryMib(almanac.pid) };
    expect(figures.peakMib, JSON.stringify(figures)).to.be.lessThan(PEAK_MEMORY_MIB);
    const flushed = TABLES / FLUSHED_SHARE + 2;
    expect(files, JSON.stringify(figures)).to.be.at.most(flushed * FILES_PER_TABLE + WINDOWS_MAX + OTHER_FILES);
    expect(stopMs, JSON.stringify(figures)).to.be.lessThan(STOP_MS_MAX);
  });
});
