import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { PROGRAM_ROOT } from '#shared/fs/program-root';

const FOLDER = join(PROGRAM_ROOT, 'dist/dashboard');
const KIB = 1024;

const files = readdirSync(join(FOLDER, 'assets')).filter((name) => /\.(js|css)$/.test(name));
const bytesOf = (name: string): number => statSync(join(FOLDER, 'assets', `${name}.gz`)).size;
const sum = (names: Iterable<string>): number => [...names].reduce((total, name) => total + bytesOf(name), 0);

/** Returns a file and everything that it imports before it runs. */
function withImports(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  if (!name.endsWith('.js')) return found;
  const text = readFileSync(join(FOLDER, 'assets', name), 'utf8');
  for (const [, imported] of text.matchAll(/(?:from|import)\s*["`']\.\/([\w.-]+\.js)["`']/g)) {
    withImports(imported, found);
  }
  return found;
}

describe('sizes of the dashboard, compressed with gzip', () => {
  it('are at most 120 KiB for a file, and 450 KiB in all', () => {
    expect(files).to.have.length.greaterThan(20);
    const large = files.filter((name) => bytesOf(name) > 120 * KIB);
    expect(large.map((name) => [name, bytesOf(name)])).to.deep.equal([]);
    expect(sum(files)).to.be.lessThan(450 * KIB);
  });

  const page = readFileSync(join(FOLDER, 'index.html'), 'utf8');
  const frame = [...page.matchAll(/assets\/([\w.-]+\.(?:js|css))"/g)].map((match) => match[1]);

  it('of the frame include neither editor nor charts', () => {
    const all = new Set<string>();
    for (const name of frame) withImports(name, all);
    expect([...all].filter((name) => /^(editor|chart)-/.test(name))).to.deep.equal([]);
    expect(sum(all)).to.be.lessThan(35 * KIB);
  });

  for (const [language, parts] of Object.entries({
    SQL: ['sql-language', 'arrow'],
    PromQL: ['promql-language'],
  })) {
    it(`are at most 240 KiB for Query with editor, ${language}, table and chart`, () => {
      const scripts = ['query-screen', 'result-chart', ...parts].map(
        (part) => files.find((name) => name.startsWith(`${part}-`) && name.endsWith('.js')) ?? part,
      );
      const styles = files.filter((name) => /^(query-screen|grid|chart)-.*\.css$/.test(name));
      const all = new Set<string>(styles);
      for (const name of [...frame, ...scripts]) withImports(name, all);
      expect(sum(all)).to.be.lessThan(240 * KIB);
    });
  }

  it('are at most 60 KiB for the frame with a screen, apart from editor and charts', () => {
    const screens = files.filter((name) => /-screen-[\w-]{8}\.js$/.test(name));
    expect(screens).to.have.length.greaterThan(5);
    for (const screen of screens) {
      const scripts = new Set(frame);
      for (const name of [...frame, screen]) {
        scripts.delete(name);
        withImports(name, scripts);
      }
      const style = files.filter(
        (name) => name.startsWith(screen.replace(/-[\w-]{8}\.js$/, '-')) && name.endsWith('.css'),
      );
      const own = [...scripts, ...style].filter((name) => !/^(editor|chart)-/.test(name));
      expect(own).to.have.length.greaterThan(frame.length);
      expect(sum(own), screen).to.be.lessThan(60 * KIB);
    }
  });
});
