import { expect } from 'chai';

import { AppliedIds, type KeyRetention } from '#services/ingester/region/applied-ids';
import { ManualClock } from '#test/support/manual-clock';

function id(counter: number, incarnation = 1n): Uint8Array {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, incarnation, true);
  view.setBigUint64(8, BigInt(counter), true);
  return bytes;
}

/** Returns an id derived from a key: its highest bit is set. */
function keyed(number: number): Uint8Array {
  const bytes = id(number);
  bytes[7] |= 0x80;
  return bytes;
}

describe('AppliedIds', () => {
  let clock: ManualClock;
  let early: number;
  let keys: KeyRetention;
  beforeEach(() => {
    clock = new ManualClock();
    early = 0;
    keys = { clock, windowMs: 300_000, onEarlyDiscard: () => early++ };
  });

  it('knows what was applied, in any order', () => {
    const ids = new AppliedIds(keys);
    for (const counter of [5, 1, 2, 9, 3, 4]) ids.add(id(counter));
    for (const counter of [1, 2, 3, 4, 5, 9]) expect(ids.state(id(counter))).to.equal('applied');
    for (const counter of [0, 6, 8, 10]) expect(ids.state(id(counter))).to.equal('new');
    expect(ids.state(id(5, 2n))).to.equal('new');
  });

  it('reports ids that are too old to know', () => {
    const ids = new AppliedIds(keys);
    for (let counter = 0; counter < 5000; counter += 2) ids.add(id(counter));
    expect(ids.state(id(1))).to.equal('outdated');
    expect(ids.state(id(0))).to.equal('outdated');
    expect(ids.state(id(4998))).to.equal('applied');
    expect(ids.state(id(4997))).to.equal('new');
  });

  it('keeps the senders that were active last', () => {
    const ids = new AppliedIds(keys);
    ids.add(id(1, 1n));
    for (let sender = 2n; sender <= 256n; sender++) ids.add(id(1, sender));
    ids.add(id(2, 1n));
    ids.add(id(1, 1000n));
    expect(ids.state(id(1, 1n))).to.equal('applied');
    expect(ids.state(id(1, 2n))).to.equal('new');
  });

  it('encodes everything that it knows', () => {
    const ids = new AppliedIds(keys);
    for (const counter of [1, 2, 3, 7, 9]) ids.add(id(counter));
    ids.add(id(4, 2n));
    for (let counter = 0; counter < 5000; counter += 2) ids.add(id(counter, 3n));
    ids.add(keyed(1));
    const next = new AppliedIds(keys);
    next.add(id(8));
    next.merge(ids.encode());
    for (const counter of [1, 2, 3, 7, 8, 9]) expect(next.state(id(counter))).to.equal('applied');
    for (const counter of [4, 10]) expect(next.state(id(counter))).to.equal('new');
    expect(next.state(id(4, 2n))).to.equal('applied');
    expect(next.state(id(1, 3n))).to.equal('outdated');
    expect(next.state(id(4998, 3n))).to.equal('applied');
    expect(next.state(keyed(1))).to.equal('applied');
    expect(next.state(keyed(2))).to.equal('new');
  });

  it('decodes no bytes as nothing, and refuses another format', () => {
    const ids = new AppliedIds(keys);
    ids.merge(new Uint8Array(0));
    expect(ids.state(id(1))).to.equal('new');
    expect(() => ids.merge(new Uint8Array(12).fill(9))).to.throw('unknown format');
  });

  it('keeps the newest key ids, and encodes no more than its limit', () => {
    const ids = new AppliedIds(keys);
    for (let number = 0; number < 70_000; number++) ids.add(keyed(number));
    expect(ids.state(keyed(69_999))).to.equal('applied');
    expect(ids.state(keyed(0))).to.equal('new');
    for (let sender = 1n; sender <= 256n; sender++) {
      for (let counter = 0; counter < 2100; counter += 2) ids.add(id(counter, sender));
    }
    expect(ids.encode().length).to.be.lessThan(2_200_000);
  });

  it('encodes what it knows of every sender', () => {
    const ids = new AppliedIds(keys);
    for (let sender = 1n; sender <= 256n; sender++) ids.add(id(7, sender));
    const next = new AppliedIds(keys);
    next.merge(ids.encode());
    for (let sender = 1n; sender <= 256n; sender++) expect(next.state(id(7, sender))).to.equal('applied');
  });

  it('drops key ids after an hour, or later if configured', async () => {
    for (const [windowMs, keptMs] of [
      [300_000, 3_600_000],
      [7_200_000, 7_200_000],
    ]) {
      const ids = new AppliedIds({ ...keys, windowMs });
      ids.add(keyed(1));
      await clock.advance(keptMs);
      ids.add(keyed(2));
      ids.discardOld();
      expect(ids.state(keyed(1))).to.equal('applied');
      await clock.advance(1);
      ids.discardOld();
      expect([ids.state(keyed(1)), ids.state(keyed(2))]).to.deep.equal(['new', 'applied']);
    }
    expect(early).to.equal(0);
  });

  it('reports key ids that it drops too early', async () => {
    const ids = new AppliedIds(keys);
    for (let number = 0; number < 65_536; number++) ids.add(keyed(number));
    expect(early).to.equal(0);
    ids.add(keyed(65_536));
    expect(early).to.equal(1);
    await clock.advance(300_000);
    ids.add(keyed(65_537));
    expect(early).to.equal(1);
    expect([ids.state(keyed(1)), ids.state(keyed(2))]).to.deep.equal(['new', 'applied']);
  });
});
