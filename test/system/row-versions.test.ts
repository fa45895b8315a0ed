import { expect } from 'chai';

import { SeededRandom } from '#test/bench/tsbs/seeded-random';
import { Almanac, MERGES_BY_HAND } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const ROUNDS = 30;
const STEPS = 12;
const HOSTS = 5;
/** Times of a batch, and of a table. */
const BATCH_TIMES = 8;
const TIMES = 400;

/** A row: the host, and the time in seconds. */
type Key = `${number} ${number}`;

/** Writes batches of a table in any order, and knows the newest version of each row. */
class Model {
  readonly rows = new Map<Key, number>();
  readonly #random: SeededRandom;
  #next = 0;
  #version = 0;
  /** First times of batches that others passed. */
  readonly #passed: number[] = [];

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** Returns lines of line protocol. */
  lines(table: string): string {
    const lines: string[] = [];
    const first = this.#firstTime();
    // Usually all hosts, and each of them once at a time.
    const repeats = this.#random.below(6) === 0;
    const isTwice = this.#random.below(6) === 0;
    for (let time = first; time < first + BATCH_TIMES; time++) {
      for (let host = 0; host < HOSTS; host++) {
        if (this.#random.below(10) === 0) continue;
        const at = repeats ? first + this.#random.below(BATCH_TIMES) : time;
        // Both are one series, which a batch may list twice.
        const tags = [`h=h${host},r=eu`, `r=eu,h=h${host}`];
        for (const text of isTwice ? tags : [this.#random.pick(tags)]) {
          this.rows.set(`${host} ${at}`, ++this.#version);
          lines.push(`${table},${text} v=${this.#version}i ${at}`);
        }
      }
    }
    return lines.join('\n');
  }

  /** Most batches follow the last one, or leave a gap that a later one fills; some replace rows. */
  #firstTime(): number {
    const choice = this.#random.below(10);
    if (choice < 2 && this.#next > 0) return this.#random.below(this.#next);
    if (choice < 5 && this.#passed.length > 0) {
      return this.#passed.splice(this.#random.below(this.#passed.length), 1)[0];
    }
    if (choice < 8) this.#passed.push(this.#take());
    return this.#take();
  }

  #take(): number {
    const first = this.#next;
    this.#next = (this.#next + BATCH_TIMES) % TIMES;
    return first;
  }
}

describe('versions of rows', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(
      tempFolder((after) => (cleanUp = after)),
      MERGES_BY_HAND,
    );
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  it('are the newest of each row, in whatever order batches came, were flushed and were merged', async () => {
    const random = new SeededRandom(11);
    for (let round = 0; round < ROUNDS; round++) {
      const table = `versions${round}`;
      const model = new Model(random);
      for (let step = 0; step < STEPS; step++) {
        const batches = 1 + random.below(4);
        for (let i = 0; i < batches; i++) await almanac.written(model.lines(table), 'precision=s');
        const choice = random.below(10);
        if (choice < 2) await almanac.flush(table);
        if (choice === 2) await almanac.rows(`ADMIN compact_table('${table}')`);
        await checkRows(table, model);
      }
    }
  });

  async function checkRows(table: string, { rows }: Model): Promise<void> {
    const all = Array.from(rows, ([key, version]) => [...key.split(' ').map(Number), version]);
    const expected = all.map((row) => row.join()).sort();
    const own = `SELECT h, almanac_timestamp, v FROM ${table}`;
    // A subquery is for the engine.
    for (const sql of [own, `SELECT * FROM (${own}) AS q`]) {
      const found = await almanac.rows(sql);
      const texts = found.map(([host, time, version]) => {
        return [String(host).slice(1), Number(time) / 1e9, version].join();
      });
      expect(texts.sort(), sql).to.deep.equal(expected);
    }
    const sum = all.reduce((total, [, , version]) => total + version, 0);
    const sums = `SELECT count(*), sum(v) FROM ${table}`;
    expect(await almanac.rows(sums), sums).to.deep.equal([[rows.size, sum]]);
    const lasts = `SELECT h, last_value(v ORDER BY almanac_timestamp) FROM ${table} GROUP BY h ORDER BY h`;
    expect(await almanac.rows(lasts), lasts).to.deep.equal(newestOf(all));
  }
});

/** Returns the version at the greatest time of each host. */
function newestOf(rows: readonly (readonly number[])[]): [string, number][] {
  const newest = new Map<number, readonly number[]>();
  for (const row of rows) {
    const [host, time] = row;
    const known = newest.get(host);
    if (known === undefined || known[1] < time) newest.set(host, row);
  }
  return [...newest.values()].map(([host, , version]): [string, number] => [`h${host}`, version]).sort();
}
