import { expect } from 'chai';

import { parseUsers } from '#shared/auth/user-file';

describe('parseUsers', () => {
  const modeOf = (text: string, name: string): string | undefined => parseUsers(text).users.get(name)?.grants[0].mode;

  it('makes those who may read and write everything administrators if there is no other', () => {
    expect(modeOf('app=pw\nreader:ro=pw', 'app')).to.equal('admin');
    expect(modeOf('app=pw\nreader:ro=pw', 'reader')).to.equal('read');
    expect(modeOf('app@metrics=pw', 'app')).to.equal('read_write');
    expect(modeOf('app=pw\nroot:admin=pw', 'app')).to.equal('read_write');
  });

  it('makes no one an administrator while the line of one may be malformed', () => {
    for (const line of ['root:admin=scrypt:15:broken', 'root:admin=', 'root:admn=pw', 'root:admin']) {
      expect(parseUsers(`app=pw\n${line}`).malformed, line).to.deep.equal([2]);
      expect(modeOf(`app=pw\n${line}`, 'app'), line).to.equal('read_write');
    }
  });
});
