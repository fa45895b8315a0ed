import { expect } from 'chai';

import { Greatest } from '#services/querier/samples/greatest';

describe('Greatest', () => {
  it('keeps the greatest counts, equal ones by name', () => {
    const greatest = new Greatest(3);
    for (const [name, value] of [
      ['c', 5],
      ['a', 1],
      ['b', 5],
      ['d', 9],
      ['e', 5],
    ] as const) {
      greatest.add(name, value);
    }
    expect(greatest.counts).to.deep.equal([
      { name: 'd', value: 9 },
      { name: 'b', value: 5 },
      { name: 'c', value: 5 },
    ]);
  });

  it('keeps nothing where nothing is wanted', () => {
    const greatest = new Greatest(0);
    greatest.add('a', 1);
    expect(greatest.counts).to.deep.equal([]);
  });
});
