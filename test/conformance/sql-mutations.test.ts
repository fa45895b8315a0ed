import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect } from 'chai';

import { SeededRandom } from '#test/bench/tsbs/seeded-random';
import { Almanac } from '#test/support/almanac';
import { peakMemoryMib } from '#test/support/process-figures';
import { mutate, readScripts } from '#test/support/sql-mutations';
import { tempFolder } from '#test/support/temp-folder';

const CASES =
  process.env['SQL_CASES'] ?? fileURLToPath(new URL('../../../test/conformance/sqlness/cases', import.meta.url));
const SEEDS = Number(process.env['SQL_SEEDS'] ?? 300);
const FIRST_SEED = Number(process.env['SQL_FIRST_SEED'] ?? 1);
/** Statements of a seed; those before are run as they are, so that there are tables to work on. */
const STATEMENTS = 12;
const DEADLINE_SECONDS = 5;
/** More than the deadline: a reply has to come although the statement cannot be stopped at once. */
const REPLY_MS_MAX = 4 * DEADLINE_SECONDS * 1000;
const SHOWN = 300;
const SECRET = 'PINEAPPLE-7312';
/** Codes whose HTTP status is 5xx by definition: a failure of the statement itself (a cast, a division), and its deadline. */
const OWN_FAILURES: ReadonlySet<number> = new Set([3001, 1005, 1008, 6000]);

describe('mutated SQL statements', function () {
  this.timeout(20 * 60_000);
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let outside: string;
  let almanac: Almanac;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    outside = join(folder, 'outside');
    for (const name of ['outside', 'home', 'tmp']) mkdirSync(join(folder, name));
    writeFileSync(join(outside, 'secret.csv'), `a,b\n1,${SECRET}\n`);
    almanac = await Almanac.start(join(folder, 'data'), {
      environment: {
        HOME: join(folder, 'home'),
        TMPDIR: join(folder, 'tmp'),
        ALMANAC__NAMING: 'greptime',
        ALMANAC_MEMORY__LIMIT: '2GiB',
      },
    });
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  /** Sends a statement. @returns nothing when the reply is one that a statement may get. */
  async function problemOf(sql: string, database: string): Promise<string | undefined> {
    const body = new URLSearchParams({ sql, db: database }).toString();
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'x-greptime-timeout': `${DEADLINE_SECONDS}s`,
    };
    const signal = AbortSignal.timeout(REPLY_MS_MAX);
    const startedMs = performance.now();
    try {
      const response = await fetch(`${almanac.url}/v1/sql`, { method: 'POST', body, headers, signal });
      const text = await response.text();
      if (text.includes(SECRET) && !sql.includes(SECRET)) return 'reads a file';
      if (response.status < 500) return undefined;
      const { code } = JSON.parse(text) as { code: number };
      return OWN_FAILURES.has(code) ? undefined : `${response.status} ${text}`;
    } catch (error) {
      // Rows that were sent before the deadline stay sent.
      const isCutShort = !signal.aborted && performance.now() - startedMs >= DEADLINE_SECONDS * 1000;
      return isCutShort ? undefined : String(error);
    }
  }

  it(`of ${SEEDS} seeds are answered, without a fault of the server or a file`, async () => {
    const scripts = readScripts(CASES);
    const problems: string[] = [];
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      const random = new SeededRandom(seed);
      const script = random.pick(scripts);
      const database = `s${seed}`;
      await almanac.rows(`CREATE DATABASE ${database}`);
      const first = random.below(Math.max(1, script.length - STATEMENTS));
      for (const statement of script.slice(0, first)) await problemOf(statement, database);
      for (const statement of script.slice(first, first + STATEMENTS)) {
        const mutated = mutate(statement, { scripts, random, folder: outside });
        const problem = await problemOf(mutated, database);
        if (problem !== undefined) problems.push(`seed ${seed}: ${problem.slice(0, 300)}: ${mutated.slice(0, SHOWN)}`);
      }
      expect((await almanac.get('/health')).status, `seed ${seed}`).to.equal(200);
      await problemOf(`DROP DATABASE ${database}`, 'public');
    }
    expect(problems).to.deep.equal([]);
    expect(readdirSync(outside)).to.deep.equal(['secret.csv']);
    expect(readFileSync(join(outside, 'secret.csv'), 'utf8')).to.contain(SECRET);
    expect(readdirSync(join(folder, 'home'))).to.deep.equal([]);
    expect(readdirSync(join(folder, 'tmp'))).to.deep.equal([]);
    expect(peakMemoryMib(almanac.pid)).to.be.below(2048);
  });
});
