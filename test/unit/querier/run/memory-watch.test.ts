import { expect } from 'chai';

import { MemoryWatch } from '#services/querier/run/memory-watch';
import { ManualClock } from '#test/support/manual-clock';

const CHECKS_MS = 200;
/** Time after which memory is measured again. */
const READING_MS = 20;

describe('MemoryWatch', () => {
  let clock: ManualClock;
  let used: number[];
  let watch: MemoryWatch;
  let ended: string[];

  beforeEach(() => {
    clock = new ManualClock();
    used = [5, 5];
    watch = new MemoryWatch({ clock, kinds: [0, 1].map((kind) => ({ limitBytes: 10, usedBytes: () => used[kind] })) });
    ended = [];
  });

  function enter(name: string): () => void {
    return watch.enter(({ code }) => ended.push(`${name}: ${code}`));
  }

  it('cancels the youngest query of a growing process, and the next one after its memory is released', async () => {
    enter('oldest');
    const gone = enter('gone');
    const leave = enter('youngest');
    gone();
    used[0] = 11;
    await clock.advance(READING_MS);
    enter('started when memory was already high');
    await clock.advance(CHECKS_MS);
    expect(ended).to.deep.equal(['youngest: resources_exhausted']);
    await clock.advance(CHECKS_MS);
    expect(ended, "the first query's memory is not free yet").to.have.length(1);
    leave();
    await clock.advance(CHECKS_MS);
    expect(ended, 'nor after it has left, before a garbage collection').to.have.length(1);
    await clock.advance(CHECKS_MS);
    expect(ended.slice(1)).to.deep.equal(['oldest: resources_exhausted']);
  });

  it('cancels another query without waiting when memory keeps growing', async () => {
    enter('oldest');
    const leave = enter('youngest');
    used[0] = 11;
    await clock.advance(CHECKS_MS);
    expect(ended).to.deep.equal(['youngest: resources_exhausted']);
    leave();
    used[0] = 13;
    await clock.advance(100);
    expect(ended.slice(1)).to.deep.equal(['oldest: resources_exhausted']);
  });

  it('watches the next query at once when the cancelled one was the last', async () => {
    const leave = enter('last');
    used[0] = 11;
    await clock.advance(CHECKS_MS);
    leave();
    used[0] = 5;
    await clock.advance(CHECKS_MS);
    enter('next');
    used[0] = 11;
    await clock.advance(100);
    expect(ended.slice(1)).to.deep.equal(['next: resources_exhausted']);
  });

  it('discards its measurements while there are no queries', async () => {
    used[1] = 11;
    const leave = enter('early');
    await clock.advance(CHECKS_MS);
    leave();
    used[1] = 5;
    await clock.advance(CHECKS_MS);
    enter('late');
    used[1] = 11;
    await clock.advance(50);
    expect(ended).to.deep.equal([]);
  });

  it('cancels another query when the first one releases nothing', async () => {
    enter('oldest');
    enter('stuck');
    used[0] = 11;
    await clock.advance(10_000);
    expect(ended.map((text) => text.split(':')[0])).to.deep.equal(['stuck', 'oldest']);
  });

  it('watches each kind of memory separately', async () => {
    enter('one');
    used[1] = 11;
    await clock.advance(CHECKS_MS);
    expect(ended).to.deep.equal(['one: resources_exhausted']);
  });

  it('ignores a single high measurement, which is garbage that is collected soon', async () => {
    enter('one');
    for (let i = 0; i < 10; i++) {
      used[1] = i % 2 === 0 ? 11 : 5;
      await clock.advance(50);
    }
    expect(ended).to.deep.equal([]);
  });
});
