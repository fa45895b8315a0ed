import { expect } from 'chai';

import { groupsOfSeries, type SelectedSeries } from '#services/querier/series/selected-series';
import { systemClock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';

/** Selects the series 0, 1 .. with these metric numbers. */
function selectedOf(metrics: readonly number[]): SelectedSeries {
  return {
    sids: Int32Array.from(metrics, (_, i) => i),
    metrics: Uint32Array.from(metrics),
    isMajority: true,
    isPart: false,
    share: 1,
  };
}

async function groupsOf(all: SelectedSeries, seriesMax: number): Promise<SelectedSeries[]> {
  const groups: SelectedSeries[] = [];
  for await (const group of groupsOfSeries(all, new Slices(systemClock), seriesMax)) groups.push(group);
  return groups;
}

/** Returns a group in a form that can be compared. */
function comparable({ sids, metrics, isPart, share }: SelectedSeries): unknown {
  return { sids: [...sids], metrics: metrics && [...metrics], isPart, share };
}

describe('groupsOfSeries', () => {
  it('returns a small selection unchanged', async () => {
    const all = selectedOf([3, 3, 1]);
    expect(await groupsOf(all, 3)).to.deep.equal([all]);
  });

  it('groups whole metrics, and splits only a metric that is larger than a group', async () => {
    const all = selectedOf([7, 2, 7, 9, 2, 7, 7, 4, 7, 9]);
    expect((await groupsOf(all, 4)).map(comparable)).to.deep.equal([
      { sids: [1, 4, 7], metrics: [2, 2, 4], isPart: false, share: 0.3 },
      { sids: [0, 2, 5, 6], metrics: [7, 7, 7, 7], isPart: true, share: 0.4 },
      { sids: [8], metrics: [7], isPart: true, share: 0.1 },
      { sids: [3, 9], metrics: [9, 9], isPart: false, share: 0.2 },
    ]);
  });

  it('returns each series once for any metrics', async () => {
    for (let seed = 1; seed <= 300; seed++) {
      let state = seed;
      const next = (below: number): number => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
        return (state >>> 8) % below;
      };
      const kinds = 1 + next(8);
      const all = selectedOf(Array.from({ length: next(60) }, () => next(kinds)));
      const seriesMax = 1 + next(12);
      const groups = await groupsOf(all, seriesMax);
      const seen = groups.flatMap(({ sids }) => [...sids]);
      expect(
        seen.toSorted((a, b) => a - b),
        `seed ${seed}`,
      ).to.deep.equal([...all.sids]);
      const partsOf = new Map<number, number>();
      for (const { sids, metrics, isPart } of groups) {
        expect(sids.length, `seed ${seed}`).to.be.at.most(seriesMax);
        expect([...sids], `seed ${seed}`).to.deep.equal([...sids].sort((a, b) => a - b));
        expect([...sids].map((sid) => all.metrics?.[sid])).to.deep.equal([...(metrics ?? [])]);
        for (const metric of new Set(metrics)) partsOf.set(metric, (partsOf.get(metric) ?? 0) + (isPart ? 0 : 1));
        if (isPart) expect(new Set(metrics).size, `seed ${seed}`).to.equal(1);
      }
      for (const count of partsOf.values()) expect(count, `seed ${seed}`).to.be.at.most(1);
    }
  });
});
