import { expect } from 'chai';

import { MemoryWatch } from '#services/querier/run/memory-watch';
import { systemClock } from '#shared/clock/clock';
import type { AlmanacError } from '#shared/errors/almanac-error';

describe('MemoryWatch', () => {
  it('ends the youngest query under which the process grew too large, then the next', async () => {
    let usedBytes = 5;
    const watch = new MemoryWatch({ clock: systemClock, kinds: [{ limitBytes: 10, usedBytes: () => usedBytes }] });
    const ended: string[] = [];
    const query = (name: string): Promise<AlmanacError> =>
      new Promise((resolve) =>
        watch.enter((error) => {
          ended.push(name);
          resolve(error);
        }),
      );
    const oldest = query('oldest');
    const leave = watch.enter(() => ended.push('gone'));
    const youngest = query('youngest');
    leave();
    usedBytes = 11;
    void query('begun when it was large already');
    expect((await youngest).code).to.equal('resources_exhausted');
    expect(ended).to.deep.equal(['youngest']);
    await oldest;
    expect(ended).to.deep.equal(['youngest', 'oldest']);
  });

  it('watches each kind of memory by itself', async () => {
    const used = [0, 0];
    const kinds = used.map((_, kind) => ({ limitBytes: 10, usedBytes: () => used[kind] }));
    const watch = new MemoryWatch({ clock: systemClock, kinds });
    const ended = new Promise<AlmanacError>((resolve) => watch.enter(resolve));
    used[1] = 11;
    expect((await ended).code).to.equal('resources_exhausted');
  });
});
