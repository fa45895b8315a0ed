import { expect } from 'chai';

import { DefinitionLookup } from '#services/ingester/memtable/series-registry';

const all = [3n, 1n, 2n].map((tsid) => ({ tsid, tags: Uint8Array.of(Number(tsid)) }));

describe('DefinitionLookup', () => {
  it('finds definitions in their order, repeatedly', () => {
    const definitions = new DefinitionLookup(all);
    for (let round = 0; round < 3; round++) for (const it of all) expect(definitions.find(it.tsid)).to.equal(it);
  });

  it('finds them in any other order', () => {
    const definitions = new DefinitionLookup(all);
    expect([2n, 4n, 3n, 2n, 1n, 2n, 2n].map((tsid) => definitions.find(tsid)?.tsid)).to.deep.equal([
      2n,
      undefined,
      3n,
      2n,
      1n,
      2n,
      2n,
    ]);
  });

  it('finds none in an empty list', () => {
    expect(new DefinitionLookup([]).find(1n)).to.equal(undefined);
  });
});
