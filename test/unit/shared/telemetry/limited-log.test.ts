import { expect } from 'chai';

import { LimitedLog } from '#shared/telemetry/limited-log';
import { ManualClock } from '#test/support/manual-clock';
import { KeptLog } from '#test/support/quiet-log';

describe('LimitedLog', () => {
  it('writes one line per interval, with the number of lines that it left out', async () => {
    const log = new KeptLog();
    const clock = new ManualClock();
    const limited = new LimitedLog(log, clock, 1_000);
    for (const number of [1, 2, 3]) limited.warn({ number }, 'refused');
    await clock.advance(1_000);
    limited.warn({ number: 4 }, 'refused');
    await clock.advance(1_000);
    limited.warn({ number: 5 }, 'refused');
    expect(log.lines.map(({ fields }) => fields)).to.deep.equal([
      { number: 1 },
      { number: 4, omittedCount: 2 },
      { number: 5 },
    ]);
  });
});
