import { expect } from 'chai';

import { nextPlace, settled } from '#services/gateway/dashboard/app/screens/dashboards/layout';

function places(
  ...all: [x: number, y: number, w: number, h: number][]
): { x: number; y: number; w: number; h: number }[] {
  return all.map(([x, y, w, h]) => ({ x, y, w, h }));
}

describe('the places of panels', () => {
  it('leave no room above a panel, and no panel is over another', () => {
    expect(settled(places([0, 5, 6, 4], [6, 0, 6, 3], [0, 7, 12, 2]))).to.deep.equal(
      places([0, 0, 6, 4], [6, 0, 6, 3], [0, 4, 12, 2]),
    );
  });

  it('are kept by the panel that was moved, and others make room', () => {
    const moved = places([0, 0, 6, 4], [0, 0, 6, 4]);
    expect(settled(moved, 1)).to.deep.equal(places([0, 4, 6, 4], [0, 0, 6, 4]));
    expect(settled(moved, 0)).to.deep.equal(places([0, 0, 6, 4], [0, 4, 6, 4]));
  });

  it('stay within the grid', () => {
    expect(settled(places([10, 0, 6, 2], [-3, 9, 40, 2]))).to.deep.equal(places([6, 0, 6, 2], [0, 2, 12, 2]));
    expect(nextPlace(places([0, 0, 6, 4], [6, 0, 6, 9]), 6, 8)).to.deep.equal({ x: 0, y: 9, w: 6, h: 8 });
    expect(nextPlace([], 6, 8)).to.deep.equal({ x: 0, y: 0, w: 6, h: 8 });
  });

  it('are beside the last panel for another one, where nothing else is', () => {
    const beside = { x: 6, y: 4, w: 6, h: 8 };
    expect(nextPlace(places([0, 4, 6, 4], [0, 0, 12, 4]), 6, 8)).to.deep.equal(beside);
    expect(nextPlace(places([0, 0, 6, 4], [6, 0, 6, 4], [0, 4, 6, 4]), 6, 8)).to.deep.equal(beside);
    expect(nextPlace(places([0, 0, 6, 4], [6, 0, 6, 5], [0, 4, 6, 4]), 6, 8)).to.deep.equal({ ...beside, x: 0, y: 8 });
    expect(nextPlace(places([1, 0, 6, 4]), 6, 8)).to.deep.equal({ ...beside, x: 0, y: 4 });
  });
});
