import { expect } from 'chai';

import { Labels } from '#services/querier/series/labels';
import { seriesResponse, type SeriesContext } from '#services/querier/rpc/prom/series';
import { CALL } from '#test/support/storage-rig';

describe('seriesResponse', () => {
  const all = Array.from({ length: 10_000 }, (_, i) => Labels.of([['host', `h${i}`]]));

  /** Returns the response for a database with these series. */
  function answer(found: readonly Labels[]): Promise<Iterable<string>> {
    const databases = { read: () => Promise.resolve(found), warnings: [] };
    const request = { kind: 'series', database: 'public', name: '', matches: [], fromMs: 0, toMs: 1 };
    return seriesResponse(request, { databases, call: CALL } as unknown as SeriesContext);
  }

  it('formats series lazily', async () => {
    let looks = 0;
    const watched = new Proxy(all, {
      get(target, key, receiver): unknown {
        looks++;
        return Reflect.get(target, key, receiver);
      },
    });
    const texts = (await answer(watched))[Symbol.iterator]();
    for (let i = 0; i < 10; i++) texts.next();
    expect(looks).to.be.below(100);
  });

  it('returns each series of several databases once, sorted', async () => {
    const parsed = JSON.parse([...(await answer(all))].join('')) as { data: { host: string }[] };
    expect(parsed.data.map(({ host }) => host)).to.deep.equal(all.map((labels) => labels.get('host')));
  });
});
