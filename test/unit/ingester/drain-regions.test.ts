import { expect } from 'chai';

import { drainRegions } from '#services/ingester/drain-regions';
import { ManualClock } from '#test/support/manual-clock';

describe('drainRegions', () => {
  it('continues while there are regions and nodes to take them', async () => {
    const rounds = [[1, 2], [3], []];
    const given: number[] = [];
    const membership = {
      reportState: () => Promise.resolve({ regionIds: rounds.shift() ?? [], hasTakers: true, dataFolderKnown: true }),
    };
    const ingester = {
      handOver: (regionIds: readonly number[]) => Promise.resolve(void given.push(...regionIds)),
    };
    const clock = new ManualClock();
    const giving = drainRegions(membership, ingester, clock, new AbortController().signal);
    for (let i = 0; i < 3; i++) await clock.advance(200);
    await giving;
    expect(given).to.deep.equal([1, 2, 3]);
  });

  it('ends when the process stops, whatever regions are left', async () => {
    const membership = {
      reportState: () => Promise.resolve({ regionIds: [1], hasTakers: true, dataFolderKnown: true }),
    };
    const stopping = new AbortController();
    const giving = drainRegions(membership, { handOver: () => Promise.resolve() }, new ManualClock(), stopping.signal);
    stopping.abort();
    await giving;
  });
});
