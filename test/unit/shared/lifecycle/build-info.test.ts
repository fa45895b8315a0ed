import { execFileSync } from 'node:child_process';

import { expect } from 'chai';

import { readBuildInfo } from '#shared/lifecycle/build-info';

describe('readBuildInfo', () => {
  it('returns the version of the package and the commit of the checkout', () => {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
    const info = readBuildInfo();
    expect(info.version).to.match(/^\d+\.\d+\.\d+$/);
    expect(info.commit).to.equal(commit);
  });
});
