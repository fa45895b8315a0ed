import { expect } from 'chai';

import { AppliedIds } from '#services/ingester/region/applied-ids';

function id(counter: number, incarnation = 1n): Uint8Array {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, incarnation, true);
  view.setBigUint64(8, BigInt(counter), true);
  return bytes;
}

describe('AppliedIds', () => {
  it('knows what was applied, in any order', () => {
    const ids = new AppliedIds();
    for (const counter of [5, 1, 2, 9, 3, 4]) ids.add(id(counter));
    for (const counter of [1, 2, 3, 4, 5, 9]) expect(ids.state(id(counter))).to.equal('applied');
    for (const counter of [0, 6, 8, 10]) expect(ids.state(id(counter))).to.equal('new');
    expect(ids.state(id(5, 2n))).to.equal('new');
  });

  it('refuses what is older than it remembers', () => {
    const ids = new AppliedIds();
    for (let counter = 0; counter < 5000; counter += 2) ids.add(id(counter));
    expect(ids.state(id(1))).to.equal('forgotten');
    expect(ids.state(id(0))).to.equal('forgotten');
    expect(ids.state(id(4998))).to.equal('applied');
    expect(ids.state(id(4997))).to.equal('new');
  });

  it('remembers the senders that were active last', () => {
    const ids = new AppliedIds();
    ids.add(id(1, 1n));
    for (let sender = 2n; sender <= 256n; sender++) ids.add(id(1, sender));
    ids.add(id(2, 1n));
    ids.add(id(1, 1000n));
    expect(ids.state(id(1, 1n))).to.equal('applied');
    expect(ids.state(id(1, 2n))).to.equal('new');
  });
});
