import { expect } from 'chai';

import { SeededRandom } from '#test/bench/tsbs/seeded-random';
import { Almanac } from '#test/support/almanac';
import { compareOnly } from '#test/support/kernel-comparison';
import { randomQuery, randomRows, randomTable } from '#test/support/kernel-queries';
import { tempFolder } from '#test/support/temp-folder';

/** More tables take longer: `KERNEL_TABLES=20 npx mocha dist/test/system/kernel-threads.test.js`. */
const TABLES = Number(process.env['KERNEL_TABLES'] ?? 2);
const FIRST_SEED = Number(process.env['KERNEL_SEED'] ?? 1);
const QUERIES = 15;
const SLICES = 4;
/** Every query with as many values uses the threads. */
const ENVIRONMENT = { ALMANAC_STANDALONE__QUERY__THREAD_MIN_VALUES: '1' };

describe('threads of kernels', function () {
  this.timeout(60_000 + TABLES * 20_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(folder, { environment: ENVIRONMENT });
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function scans(): Promise<number> {
    const { text } = await almanac.get('/metrics');
    return Number(/almanac_querier_kernel_thread_scans_total (\d+)/.exec(text)?.[1] ?? 0);
  }

  it('return what the engine returns, for random queries over random tables', async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + TABLES; seed++) {
      const random = new SeededRandom(seed);
      const table = randomTable(`t${seed}`, random);
      await almanac.rows(table.createSql);
      for (let slice = 0; slice < SLICES; slice++) {
        await almanac.rows(randomRows(table, slice, SLICES, random));
        if (slice < SLICES - 1) await almanac.flush(table.name);
      }
      // Segments, rows in memory, and then late rows.
      for (let i = 0; i < QUERIES; i++) await compareOnly(randomQuery(table, random), almanac);
      await almanac.rows(randomRows(table, 1, SLICES, random));
      for (let i = 0; i < QUERIES; i++) await compareOnly(randomQuery(table, random), almanac);
    }
    expect(await scans()).to.be.greaterThan((TABLES * QUERIES) / 2);
  });

  it('end a query at its deadline, and run the next one', async () => {
    await almanac.rows('CREATE TABLE big (h STRING PRIMARY KEY, v DOUBLE, ts TIMESTAMP(3) TIME INDEX)');
    await almanac.rows("INSERT INTO big SELECT 'h' || (i % 20), i / 7, i * 1000 FROM range(0, 400000) AS s(i)");
    await almanac.flush('big');
    const sql = 'SELECT h, sum(v) AS total, count(*) AS n FROM big GROUP BY h ORDER BY h';
    const body = new URLSearchParams({ sql }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-almanac-timeout': '1ms' };
    const replies = await Promise.all(Array.from({ length: 8 }, () => almanac.post('/v1/sql', body, headers)));
    expect(replies.map(({ status }) => status)).to.include(408);
    const before = await scans();
    const rows = await almanac.rows(sql);
    expect(rows.map(([, , count]) => count)).to.deep.equal(Array.from({ length: 20 }, () => 20_000));
    expect(await scans()).to.equal(before + 1);
  });

  it('keep columns for the next queries', async () => {
    const sources = async (): Promise<readonly number[]> => {
      const { text } = await almanac.get('/metrics');
      return ['memory', 'segments'].map((source) => {
        const name = `almanac_querier_kernel_row_groups_total\\{source="${source}"\\}`;
        return Number(new RegExp(`${name} (\\d+)`).exec(text)?.[1] ?? 0);
      });
    };
    const sumBefore = (ms: number): Promise<unknown> =>
      almanac.rows(`SELECT h, sum(v) FROM big WHERE ts < ${ms} GROUP BY h`);
    await sumBefore(399_000_000);
    const [memory, segments] = await sources();
    const before = await scans();
    await sumBefore(398_000_000);
    expect(await scans()).to.equal(before + 1);
    const [memoryAfter, segmentsAfter] = await sources();
    expect(segmentsAfter).to.equal(segments);
    expect(memoryAfter).to.be.greaterThan(memory);
  });

  it('show how much they have read', async () => {
    interface Figures {
      readonly text: string;
      readonly rows_scanned: number | null;
      readonly bytes_scanned: number | null;
      readonly memory_bytes: number | null;
      readonly progress: number | null;
    }
    let seen: Figures | undefined;
    for (let i = 0; seen === undefined; i++) {
      // Other texts, because results are kept.
      const running = almanac.rows(
        `SELECT h, sum(v), avg(v), max(v) FROM big WHERE ts < ${400_000_000 + i} GROUP BY h`,
      );
      let isRunning = true;
      const ended = running.finally(() => (isRunning = false));
      while (isRunning && seen === undefined) {
        const { queries } = JSON.parse((await almanac.get('/v1/queries')).text) as { queries: readonly Figures[] };
        seen = queries.find(({ text, progress }) => text.includes('FROM big') && progress !== null && progress > 0);
      }
      await ended;
    }
    expect(seen.progress).to.be.within(0, 1);
    expect(seen.rows_scanned).to.be.within(1, 400_000);
    expect(seen.bytes_scanned).to.be.greaterThan(0);
    expect(seen.memory_bytes).to.be.greaterThan(0);
  });

  it('serve several queries at once', async () => {
    const counts = await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        const [[count]] = await almanac.rows(`SELECT count(v) FROM big WHERE ts < ${(i + 1) * 10_000_000}`);
        return count;
      }),
    );
    expect(counts).to.deep.equal(Array.from({ length: 12 }, (_, i) => (i + 1) * 10_000));
  });
});
