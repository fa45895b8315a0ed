import { expect } from 'chai';

import { NATIVE_FUNCTIONS } from '#services/querier/sql/functions/native';
import { OWN_FUNCTIONS } from '#services/querier/sql/functions/registry';

import { readText, repositoryFiles } from './tree.js';

const files = repositoryFiles();
const SECTIONS = ['Added', 'Changed', 'Fixed', 'Removed', 'Security'];

/** Paths of sources and pages in backticks, whole or shortened: `write/writer.ts`, `docs/adr/`. */
function namedFiles(page: string): string[] {
  return [...readText(page).matchAll(/`([\w./@-]+(?:\.(?:ts|mjs|cjs|md|proto|toml|yml)|\/))`/g)].map(
    (match) => match[1],
  );
}

/** Folders and files that appear when the program is built or runs. */
const MADE = /^(dist\/|almanac-data\/|\/etc\/|\.\/almanac\.toml$)/;

function exists(name: string): boolean {
  if (MADE.test(name)) return true;
  const path = name.replace(/^\.\//, '');
  return files.some(
    (file) => `/${file}`.endsWith(`/${path}`) || (path.endsWith('/') && `/${file}`.includes(`/${path}`)),
  );
}

describe('documentation', () => {
  for (const page of ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md']) {
    it(`${page} is there and names only files that exist`, () => {
      expect(files).to.include(page);
      expect(namedFiles(page).filter((name) => !exists(name))).to.deep.equal([]);
    });
  }

  it('pages under docs/ name only files that exist', () => {
    const pages = files.filter((path) => path.startsWith('docs/') && path.endsWith('.md'));
    const missing = pages.flatMap((page) =>
      namedFiles(page)
        .filter((name) => !exists(name))
        .map((name) => `${page}: ${name}`),
    );
    expect(missing).to.deep.equal([]);
  });

  it('links between pages lead somewhere', () => {
    const broken = files
      .filter((path) => path.endsWith('.md'))
      .flatMap((page) => {
        const folder = page.includes('/') ? page.slice(0, page.lastIndexOf('/') + 1) : '';
        const targets = [...readText(page).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map((match) => match[1]);
        return targets
          .filter((target) => !/^[a-z]+:/.test(target))
          .map((target) => new URL(folder + target, 'file:///').pathname.slice(1))
          .filter(
            (target) =>
              !files.includes(target) && !files.some((file) => file.startsWith(`${target.replace(/\/$/, '')}/`)),
          )
          .map((target) => `${page}: ${target}`);
      });
    expect(broken).to.deep.equal([]);
  });

  it('names every SQL function that Almanac adds to those of the engine', () => {
    const page = readText('docs/sql-functions.md') + readText('docs/sql-types.md');
    const added = [...OWN_FUNCTIONS.keys()].filter((name) => /^\w+$/.test(name) && !NATIVE_FUNCTIONS.has(name));
    expect(added.filter((name) => !page.includes(`\`${name}\``))).to.deep.equal([]);
  });

  it('numbers its decisions without gaps and gives each the four parts', () => {
    const decisions = files.filter((path) => /^docs\/adr\/\d{4}-[a-z0-9-]+\.md$/.test(path)).sort();
    expect(decisions.map((path) => Number(path.slice('docs/adr/'.length).slice(0, 4)))).to.deep.equal(
      decisions.map((_, index) => index + 1),
    );
    for (const path of decisions) {
      const headings = [...readText(path).matchAll(/^## (.+)$/gm)].map((match) => match[1]);
      expect(headings.slice(0, 4), path).to.deep.equal(['Context', 'Decision', 'Measurement', 'Consequences']);
    }
  });
});

describe('CHANGELOG.md', () => {
  const lines = readText('CHANGELOG.md').split('\n');

  it('begins with what is not released yet', () => {
    expect(lines[0]).to.equal('# Changelog');
    expect(lines.find((line) => line.startsWith('## '))).to.equal('## Unreleased');
  });

  it('has releases by version and date, known sections, and one line for each change', () => {
    const releases = lines.filter((line) => line.startsWith('## ')).slice(1);
    expect(releases.filter((line) => !/^## \d+\.\d+\.\d+ \(\d{4}-\d{2}-\d{2}\)$/.test(line))).to.deep.equal([]);
    const sections = lines.filter((line) => line.startsWith('### ')).map((line) => line.slice(4));
    expect(sections.filter((section) => !SECTIONS.includes(section))).to.deep.equal([]);
    const body = lines.slice(lines.indexOf('## Unreleased')).filter((line) => line !== '' && !line.startsWith('#'));
    expect(body.filter((line) => !line.startsWith('- '))).to.deep.equal([]);
  });
});
