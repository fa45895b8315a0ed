import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const ROOT = new URL('../../../', import.meta.url).pathname;
/** What the container image takes, beside the packages (deploy/Dockerfile). */
const TAKEN = [
  'package.json',
  'proto',
  'dist/bundle',
  'services/cli/almanac.cjs',
  'services/cli/program.cjs',
  'services/metadata/store/migrations',
];

describe('the bundled program', function () {
  this.timeout(120_000);
  const cleanUps: (() => unknown)[] = [];
  let root = '';

  before(() => {
    execFileSync(process.execPath, [join(ROOT, 'deploy/bundle.mjs')]);
  });
  beforeEach(() => {
    root = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    for (const path of TAKEN) cpSync(join(ROOT, path), join(root, path), { recursive: true, preserveTimestamps: true });
    symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  function run(...args: string[]): string {
    return execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  }

  it('needs no file of the compiled tree', async () => {
    const almanac = await Almanac.start(join(root, 'data'), { program: join(root, 'services/cli/almanac.cjs') });
    cleanUps.push(() => almanac.kill());
    await almanac.written('m,h=a v=1 1');
    await almanac.flush('m');
    expect(await almanac.rows('SELECT h, v FROM m')).to.deep.equal([['a', 1]]);
    expect((await almanac.get('/v1/prometheus/api/v1/query?query=1%2B1')).text).to.contain('"2"');
    expect(await almanac.stop()).to.equal(0);
  });

  it('has cached code that V8 accepts', () => {
    const check = `const { compileBundle, LOAD_FACTOR, setGrowthFactor } = require('./services/cli/program.cjs');
      setGrowthFactor(LOAD_FACTOR);
      console.log(compileBundle().script.cachedDataRejected);`;
    expect(run('-e', check)).to.equal('false\n');
  });

  it('has one byte for each character, as V8 keeps it', () => {
    const bytes = readFileSync(join(root, 'dist/bundle/almanac/almanac.cjs'));
    const units = 'ns|us|µs';
    expect(bytes.includes(Buffer.from(units, 'latin1'))).to.equal(true);
    expect(bytes.includes(units)).to.equal(false);
  });

  it('is ignored as soon as the tree is newer', () => {
    const compiled = join(root, 'dist/services/cli/main.js');
    const mark = join(root, 'dist/tsconfig.tsbuildinfo');
    mkdirSync(join(compiled, '..'), { recursive: true });
    writeFileSync(compiled, `export const run = () => console.log('compiled tree');`);
    writeFileSync(mark, '');
    expect(run('services/cli/almanac.cjs', '--version')).to.equal('compiled tree\n');
    utimesSync(mark, 1, 1);
    expect(run('services/cli/almanac.cjs', '--version')).to.match(/^almanac \d/);
  });
});
