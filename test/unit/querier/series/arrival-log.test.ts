import { expect } from 'chai';

import { ArrivalLog } from '#services/querier/series/arrival-log';

describe('ArrivalLog', () => {
  it('returns the lowest time of the arrivals, and -Infinity for sequences that were not recorded', () => {
    const log = new ArrivalLog();
    log.add(0n, 10n, 500);
    log.add(10n, 20n, 300);
    log.add(25n, 30n, 400);
    expect(log.firstTimeOf(0n, 20n)).to.equal(300);
    expect(log.firstTimeOf(3n, 10n)).to.equal(500);
    expect(log.firstTimeOf(10n, 30n)).to.equal(-Infinity);
    expect(log.firstTimeOf(25n, 30n)).to.equal(400);
    expect(log.firstTimeOf(30n, 30n)).to.equal(Infinity);
    expect(log.firstTimeOf(30n, 31n)).to.equal(-Infinity);
  });

  it('stays small for contiguous arrivals and for arrivals with gaps', () => {
    for (const gap of [0n, 1n]) {
      const log = new ArrivalLog();
      const last = 10_000n;
      for (let i = 1n; i <= last; i++) log.add(i * 10n, i * 10n + 10n - gap, Number(i));
      expect(log.length).to.be.at.most(1024);
      expect(log.firstTimeOf(last * 10n, last * 10n + 9n)).to.be.at.most(Number(last));
      expect(log.firstTimeOf(10n, last * 10n + 9n)).to.equal(gap === 0n ? 1 : -Infinity);
    }
  });
});
