import { expect } from 'chai';

import { findDialect } from './language.js';
import { readText, repositoryFiles } from './tree.js';

/** Cases of other suites stay as their authors wrote them; the word list itself contains what it forbids. */
const EXCLUDED = /^test\/conformance\/[^/]+\/cases\/|^test\/tidy\/language(\.test)?\.ts$/;
const PROSE = /\.(ts|md|proto|sql|yml|toml|service)$|(^|\/)Dockerfile$/;

/** Findings that are meant literally: path and phrase. */
const LITERAL: ReadonlySet<string> = new Set([]);

describe('language', () => {
  it('uses the terms of the field instead of the words listed in language.ts', () => {
    const findings = repositoryFiles()
      .filter((path) => PROSE.test(path) && !EXCLUDED.test(path))
      .flatMap((path) => findDialect(path, readText(path)).map((finding) => ({ path, ...finding })))
      .filter(({ path, text }) => !LITERAL.has(`${path}: ${text}`))
      .map(({ path, line, text, instead }) => `${path}:${line}: "${text}": ${instead}`);
    expect(findings).to.deep.equal([]);
  });

  it('finds a phrase in comments, texts and test names, but not in code', () => {
    const source = "// Waits anew.\nconst anew = 1;\nit('asks twice', () => log.info({}, `told of ${anew}`));\n";
    const found = findDialect('example.ts', source).map(({ line, text }) => [line, text]);
    expect(found).to.deep.include.members([
      [1, 'anew'],
      [3, 'asks'],
      [3, 'told of'],
    ]);
    expect(found.filter(([line]) => line === 2)).to.deep.equal([]);
  });
});
