import { expect } from 'chai';

import { freeBuffer } from '#shared/bytes/free-buffer';

describe('freeBuffer', () => {
  it('gives memory back, so that nothing is left to read', () => {
    const bytes = Buffer.alloc(100_000, 'x');
    freeBuffer(bytes);
    expect(bytes.length).to.equal(0);
    expect(bytes[0]).to.equal(undefined);
  });

  it('leaves memory alone that others share', () => {
    const bytes = Buffer.from('some text');
    freeBuffer(bytes);
    expect(bytes.toString()).to.equal('some text');
  });
});
