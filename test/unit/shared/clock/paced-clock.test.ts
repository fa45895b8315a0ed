import { expect } from 'chai';

import { pacedClock } from '#shared/clock/paced-clock';
import { Slices } from '#shared/clock/slices';
import { ManualClock } from '#test/support/manual-clock';

const OTHERS_MS = 1;
const WORK_MS = 4;

/** A thread on which others have something to do in each round, or nothing at all. */
class BusyClock extends ManualClock {
  isBusy = true;
  rounds = 0;
  othersMs = 0;
  ownMs = 0;

  override async yield(): Promise<void> {
    this.rounds++;
    await super.yield();
    if (!this.isBusy) return;
    this.othersMs += OTHERS_MS;
    await this.jump(OTHERS_MS);
  }

  async work(): Promise<void> {
    this.ownMs += WORK_MS;
    await this.jump(WORK_MS);
  }
}

describe('a paced clock', () => {
  async function slices(clock: BusyClock, callers: number, count: number): Promise<void> {
    const paced = pacedClock(clock);
    const call = async (): Promise<void> => {
      for (let i = 0; i < count; i++) {
        await clock.work();
        await paced.yield();
      }
    };
    await Promise.all(Array.from({ length: callers }, call));
  }

  for (const callers of [1, 5]) {
    it(`leaves three quarters of a busy thread to other work, with ${callers} callers`, async () => {
      const clock = new BusyClock();
      await slices(clock, callers, 20);
      expect(clock.othersMs / clock.ownMs).to.be.within(2.9, 4);
    });
  }

  it('continues at once if there is no other work', async () => {
    const clock = new BusyClock();
    clock.isBusy = false;
    await slices(clock, 1, 20);
    expect(clock.othersMs).to.equal(0);
    expect(clock.rounds).to.be.at.most(2 * 20 + 1);
  });

  it('charges little for slices that waited for something else', async () => {
    const clock = new BusyClock();
    const paced = pacedClock(clock);
    for (let i = 0; i < 10; i++) {
      await clock.jump(50);
      await clock.yield();
      clock.rounds = 0;
      await paced.yield();
      expect(clock.rounds).to.be.at.most(4);
    }
  });

  it('cuts work by its duration', async () => {
    const clock = new ManualClock();
    const cut = new Slices(clock);
    const isOver = (): boolean => cut.isOver(100_000);
    expect(isOver()).to.equal(false);
    await clock.jump(1);
    expect(isOver()).to.equal(false);
    await clock.jump(1);
    expect(cut.isOver(1), 'too little work to look at the clock').to.equal(false);
    expect(isOver()).to.equal(true);
    await cut.yield();
    expect(isOver()).to.equal(false);
  });
});
