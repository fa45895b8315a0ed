import { expect } from 'chai';

import { readText } from './tree.js';

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly resolved?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const lock = JSON.parse(readText('package-lock.json')) as Lock;
const manifest = JSON.parse(readText('package.json')) as LockedPackage;

/** Where Node.js would find `name` from the package at `path`: in its own folder or in one above. */
function resolves(path: string, name: string): boolean {
  let folder = path;
  for (;;) {
    if (`${folder === '' ? '' : `${folder}/`}node_modules/${name}` in lock.packages) return true;
    if (folder === '') return false;
    const parent = folder.lastIndexOf('node_modules/');
    folder = parent <= 0 ? '' : folder.slice(0, parent - 1);
  }
}

describe('package-lock.json', () => {
  it('has an entry for every optional dependency, or npm 11 refuses the checkout', () => {
    const missing = Object.entries(lock.packages).flatMap(([path, { optionalDependencies }]) =>
      Object.keys(optionalDependencies ?? {})
        .filter((name) => !resolves(path, name))
        .map((name) => `${path}: ${name}`),
    );
    expect(missing).to.deep.equal([]);
  });

  it('names no registry host', () => {
    const hosts = Object.values(lock.packages).filter(({ resolved }) => resolved?.startsWith('http') === true);
    expect(hosts).to.deep.equal([]);
  });
});

describe('package.json', () => {
  it('pins every dependency to one version', () => {
    const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).to.deep.equal([]);
  });
});
