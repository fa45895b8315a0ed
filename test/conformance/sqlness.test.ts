import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

/** `test/conformance`, relative to `dist`. */
const FOLDER = fileURLToPath(new URL('../../../test/conformance/', import.meta.url));

interface Report {
  readonly cases: readonly {
    readonly name: string;
    readonly total: number;
    readonly matched: number;
    readonly statements: readonly { readonly i: number; readonly ok?: boolean; readonly na?: string }[];
  }[];
}

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

describe("GreptimeDB's own SQL scripts", function () {
  this.timeout(300_000);
  let cleanUp: () => void = () => undefined;
  let report: Report;
  let output = '';

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    const environment = { ALMANAC_STANDALONE__NAMING: 'greptime' };
    const almanac = await Almanac.start(join(folder, 'data'), { environment });
    const file = join(folder, 'report.json');
    const runner = spawn(process.execPath, [join(FOLDER, 'sqlness', 'run.mjs'), '--no-sleep', '--json', file], {
      env: { PATH: process.env['PATH'], BASE: almanac.url, SQLNESS_HOME: join(folder, 'home') },
    });
    for (const stream of [runner.stdout, runner.stderr]) {
      stream.on('data', (text: Buffer) => (output += text.toString()));
    }
    await new Promise((resolve) => runner.once('close', resolve));
    await almanac.kill();
    report = readJson(file) as Report;
  });

  after(() => {
    cleanUp();
  });

  it('match in as many statements as the floor requires', () => {
    const { sqlness: floor } = readJson(join(FOLDER, 'floor.json')) as { sqlness: number };
    const sum = (key: 'total' | 'matched'): number => report.cases.reduce((count, it) => count + it[key], 0);
    expect(sum('total')).to.be.greaterThan(4_600);
    expect((100 * sum('matched')) / sum('total'), output).to.be.at.least(floor);
  });

  it('differ only where a reason is recorded', () => {
    const recorded = readJson(join(FOLDER, 'sqlness', 'mismatches.json')) as Record<string, Record<string, number[]>>;
    const known = new Set(
      Object.values(recorded).flatMap((cases) =>
        Object.entries(cases).flatMap(([name, numbers]) => numbers.map((i) => `${name} #${i}`)),
      ),
    );
    const different = report.cases.flatMap(({ name, statements }) =>
      statements.filter(({ ok, na }) => ok !== true && na === undefined).map(({ i }) => `${name} #${i}`),
    );
    expect(different.filter((statement) => !known.has(statement))).to.deep.equal([]);
  });
});
