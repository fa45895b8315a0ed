import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { expect } from 'chai';
import { compressSync } from 'snappy';

import { Almanac, MERGES_BY_HAND } from '#test/support/almanac';
import { runAlmanac } from '#test/support/program';
import { bodyV1, type Series } from '#test/support/remote-write-messages';
import { tempFolder } from '#test/support/temp-folder';

describe('almanac check of a catalog with wrong entries', function () {
  this.timeout(120_000);
  const cleanUps: (() => unknown)[] = [];
  let folder = '';

  beforeEach(() => {
    folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  async function start(): Promise<Almanac> {
    const almanac = await Almanac.start(folder, MERGES_BY_HAND);
    cleanUps.push(() => almanac.kill());
    return almanac;
  }

  async function check(): Promise<{ readonly code: number | null; readonly lines: readonly string[] }> {
    const { code, stdout } = await runAlmanac(['check', folder]);
    return { code, lines: stdout.trimEnd().split('\n') };
  }

  async function expectProblems(pattern: RegExp): Promise<void> {
    const { code, lines } = await check();
    expect(lines.join('\n')).to.match(pattern);
    expect(lines[0]).to.match(/^problem: "[^"]+\.parquet" (has|cannot) /);
    expect(code).to.equal(1);
  }

  /** Changes bits that SQLite has no checksum of. */
  function catalog(change: (connection: Database.Database) => void): void {
    const connection = new Database(join(folder, 'metadata/almanac.db'));
    change(connection);
    connection.close();
  }

  it('finds entries that contradict an intact file', async () => {
    const almanac = await start();
    await almanac.written('m,h=a v=1 1\nm,h=b v=2 2');
    await almanac.flush('m');
    expect(await almanac.stop()).to.equal(0);
    const whole = `${folder}-whole`;
    cpSync(folder, whole, { recursive: true });
    cleanUps.push(() => rmSync(whole, { recursive: true }));
    const say = (change: string): string => `UPDATE segments SET ${change} WHERE region_id = 1 AND row_count = 2`;
    const faults = [
      [
        say('row_count = 7'),
        /has 2 rows, the catalog says 7; lost: no row, .* public\.m .*; the file is whole, the catal/,
      ],
      [say('sid_first = 1'), /has series 0 to 1, the catalog says 1 to 1/],
      [say('time_first = 2'), /has times 1 to 2, the catalog says 2 to 2/],
      [say('time_last = 1'), /has times 1 to 2, the catalog says 1 to 1/],
      [say('time_last = -1 << 40'), /has the times 1 to -\d+, which are none/],
      [say('has_ops = 1'), /has no deletions, the catalog says otherwise/],
      [say('has_scaled = 1'), /has no scaled columns, the catalog says otherwise/],
      [say('metric_first = 0, metric_last = 0'), /has no metric numbers, the catalog says otherwise/],
      [say('late_first = 2, late_last = 9'), /times 1 to 2, of which 2 to 9 cannot be the out-of-order ones/],
      [say('schema_version = 65'), /has version 65 of the columns, the last one is \d+/],
      [say('sequence_from = sequence_from | 1'), /has the rows \d+ to \d+, its name says that they begin at \d+/],
      [
        "UPDATE columns SET type = 'TimestampMillisecond' WHERE table_id = 1 AND kind = 'time'",
        /as what the catalog says/,
      ],
    ] as const;
    for (const [sql, pattern] of faults) {
      rmSync(folder, { recursive: true });
      cpSync(whole, folder, { recursive: true });
      catalog((connection) => expect(connection.prepare(sql).run().changes, sql).to.be.greaterThan(0));
      await expectProblems(pattern);
    }
  });

  it('accepts deleted rows in memory and in segments, and tables of metrics', async () => {
    const almanac = await start();
    await almanac.written('d,h=a v=1 1\nd,h=b v=2 2\nd,h=c v=3 3');
    await almanac.rows("DELETE FROM d WHERE h <> 'b'");
    await almanac.flush('d');
    await almanac.rows("DELETE FROM d WHERE h = 'b'");
    await almanac.flush('d');
    for (let turn = 1; turn < 3; turn++) {
      const series = ['b', 'a', 'c'].map((name): Series => {
        return { labels: [['__name__', name]], samples: [{ value: 1, timestamp: turn }] };
      });
      const { status } = await almanac.post('/v1/prometheus/write', Uint8Array.from(compressSync(bodyV1(series))));
      expect(status).to.equal(204);
      await almanac.flush('almanac_physical_table');
    }
    expect((await check()).lines.at(-1)).to.match(/^checked 4 segments .* 0 problems$/);
    await almanac.sql("ADMIN compact_table('almanac_physical_table')");
    expect(await almanac.stop()).to.equal(0);
    const { code, lines } = await check();
    expect(code, lines.join('\n')).to.equal(0);
    catalog((connection) => connection.exec('UPDATE segments SET metric_last = 1 WHERE metric_last = 2'));
    await expectProblems(/\.parquet" has metric numbers 0 to 2, the catalog says 0 to 1; lost: no row/);
    catalog((connection) => connection.exec('UPDATE segments SET metric_last = 2, has_ops = 0'));
    await expectProblems(/\.parquet" has deletions, the catalog says otherwise; lost: no row/);
  });
});
