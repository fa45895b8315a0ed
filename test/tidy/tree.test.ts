import { statSync } from 'node:fs';

import { expect } from 'chai';

import { readText, repositoryFiles } from './tree.js';

const BLOB_BYTES_MAX = 256 * 1024;
const PAGE_LINES_MAX = 600;
const TEXT_FILE = /(\.(ts|tsx|mjs|cjs|js|json|md|proto|sql|toml|yml|html|css)|(^|\/)(\.[a-z]+|run|LICENSE))$/;
const KNOWN_ENDING =
  /(\.(ts|tsx|mjs|cjs|json|md|proto|sql|toml|ya?ml|html|css|js|svg|bin|arrow|lp|txt|service)|(^|\/)(\.[a-z]+|run|LICENSE|Dockerfile))$/;
/** Cases of other suites stay as their authors wrote and named them. */
const CASES = /^test\/conformance\/[^/]+\/cases\//;
/** What must not be in a committed text, put together from parts so that this file does not find itself. */
const UNFINISHED = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK'].join('|')})\\b`);
const MACHINE_PATH = new RegExp(
  `(^|[\\s"'(=:])/(${['wo' + 'rk', 'ro' + 'ot', 'fa' + 'rm', 'ho' + 'me'].join('|')})/`,
  'm',
);
const TEMPORARY_PATH = new RegExp(`/tmp/${'ba' + 'sh'}`);
const REGISTRY_HOST = new RegExp(['registry\\.np' + 'm', 'deb\\.deb' + 'ian'].join('|'));

const files = repositoryFiles();
const texts = files.filter((path) => TEXT_FILE.test(path) && path !== 'package-lock.json');

function textsWith(pattern: RegExp): string[] {
  return texts.filter((path) => pattern.test(readText(path)));
}

describe('repository', () => {
  it('has no file over 256 KiB', () => {
    expect(files.filter((path) => statSync(path).size > BLOB_BYTES_MAX)).to.deep.equal([]);
  });

  it('has files of known kinds only', () => {
    const own = files.filter((path) => !CASES.test(path));
    expect(own.filter((path) => !KNOWN_ENDING.test(path))).to.deep.equal([]);
  });

  it('has no page longer than 600 lines', () => {
    const pages = texts.filter((path) => path.endsWith('.md'));
    expect(pages.filter((path) => readText(path).split('\n').length > PAGE_LINES_MAX)).to.deep.equal([]);
  });

  it('has no notes about unfinished work', () => {
    expect(textsWith(UNFINISHED).filter((path) => !CASES.test(path))).to.deep.equal([]);
  });

  it('has no paths of one machine and no registry hosts', () => {
    expect(textsWith(MACHINE_PATH)).to.deep.equal([]);
    expect(textsWith(TEMPORARY_PATH)).to.deep.equal([]);
    expect(textsWith(REGISTRY_HOST)).to.deep.equal([]);
  });

  it('names files in kebab-case', () => {
    const sources = files.filter((path) => /\.tsx?$/.test(path));
    expect(
      sources.filter((path) => !/^[a-z0-9-]+(\.test|\.d)?\.tsx?$/.test(path.slice(path.lastIndexOf('/') + 1))),
    ).to.deep.equal([]);
  });

  it('has every unit test at the path of what it tests', () => {
    const folders = new Set(files.map((path) => path.slice(0, path.lastIndexOf('/'))));
    const astray = files
      .filter((path) => path.startsWith('test/unit/') && path.endsWith('.test.ts'))
      .map((path) => path.slice('test/unit/'.length, path.lastIndexOf('/')))
      .filter((folder) => ![`services/${folder}`, `test/${folder}`, folder].some((path) => folders.has(path)));
    expect(astray).to.deep.equal([]);
  });
});
