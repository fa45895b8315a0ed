import { expect } from 'chai';

import { freeBuffer } from '#shared/bytes/free-buffer';

describe('freeBuffer', () => {
  it('releases memory, so that nothing can be read', () => {
    const bytes = Buffer.alloc(100_000, 'x');
    freeBuffer(bytes);
    expect(bytes.length).to.equal(0);
    expect(bytes[0]).to.equal(undefined);
  });

  it('leaves shared memory alone', () => {
    const bytes = Buffer.from('some text');
    freeBuffer(bytes);
    expect(bytes.toString()).to.equal('some text');
  });
});
