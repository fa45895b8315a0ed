import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';

const HUNDRED_DAYS_MS = 100 * 24 * 3_600_000;

describe('the system clock', () => {
  it('waits for longer than its timers can', async () => {
    const over: string[] = [];
    const ending = new AbortController();
    const timer = systemClock.after(HUNDRED_DAYS_MS, () => over.push('timer'));
    const sleep = systemClock.sleep(HUNDRED_DAYS_MS, ending.signal).then(() => over.push('sleep'));
    // A delay that is too long for a timer would be one of a millisecond.
    await systemClock.sleep(5);
    expect(over).to.deep.equal([]);
    timer.cancel();
    ending.abort();
    await sleep;
  });
});
