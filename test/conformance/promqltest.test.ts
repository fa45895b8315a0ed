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
  readonly total: { readonly total: number; readonly passed: number };
}

describe("Prometheus's own PromQL scripts", function () {
  this.timeout(300_000);
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(join(folder, 'data'));
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  it('pass as many evaluations over HTTP as the floor requires', async () => {
    const { promqltest: floor } = JSON.parse(readFileSync(join(FOLDER, 'floor.json'), 'utf8')) as {
      promqltest: number;
    };
    const file = join(folder, 'report.json');
    const args = ['--server', 'almanac', '--base', almanac.url, '--json', file, '--verbose', '5'];
    const runner = spawn(process.execPath, [join(FOLDER, 'promqltest', 'run.mjs'), ...args]);
    let output = '';
    for (const stream of [runner.stdout, runner.stderr]) {
      stream.on('data', (text: Buffer) => (output += text.toString()));
    }
    await new Promise((resolve) => runner.once('close', resolve));
    const { total } = JSON.parse(readFileSync(file, 'utf8')) as Report;
    expect(total.passed, output).to.equal(floor);
    expect(total.total).to.equal(floor);
  });
});
