import { expect } from 'chai';

import { Metrics } from '#shared/telemetry/metrics';
import { ManualClock } from '#test/support/manual-clock';

describe('metrics', () => {
  it('have gauges set when they are read, until the callback is removed', async () => {
    const metrics = new Metrics({ unprefixedProcess: false, ofProcess: false });
    const gauge = metrics.gauge({ name: 'test_reads', help: 'times that it was read' });
    let reads = 0;
    const end = metrics.beforePrint(() => gauge.set(++reads));
    expect(await metrics.print()).to.match(/^almanac_test_reads 1$/m);
    expect(await metrics.print()).to.match(/^almanac_test_reads 2$/m);
    end();
    expect(await metrics.print()).to.match(/^almanac_test_reads 2$/m);
  });

  it('are printed even if a callback fails', async () => {
    const metrics = new Metrics({ unprefixedProcess: false, ofProcess: false });
    metrics.gauge({ name: 'test_other', help: 'another one' }).set(7);
    for (const failing of [
      () => Promise.reject(new Error('the disk is gone')),
      () => {
        throw new Error('the catalog is closed');
      },
    ]) {
      metrics.beforePrint(failing);
      expect(await metrics.print()).to.match(/^almanac_test_other 7$/m);
    }
  });

  it('are printed even if a callback takes long, which is called again once it has returned', async () => {
    const clock = new ManualClock();
    const metrics = new Metrics({ unprefixedProcess: false, ofProcess: false, clock });
    const gauge = metrics.gauge({ name: 'test_answers', help: 'answers of a disk' });
    const answers: (() => void)[] = [];
    let asked = 0;
    metrics.beforePrint(async () => {
      asked++;
      await new Promise<void>((resolve) => answers.push(resolve));
      gauge.inc();
    });
    for (const round of [1, 2]) {
      const printed = metrics.print();
      await clock.advance(10_000);
      expect(await printed, `round ${round}`).to.match(/^almanac_test_answers 0$/m);
      expect(asked).to.equal(1);
    }
    answers.forEach((answer) => answer());
    await clock.yield();
    const printed = metrics.print();
    await clock.yield();
    expect(asked).to.equal(2);
    answers.forEach((answer) => answer());
    expect(await printed).to.match(/^almanac_test_answers 2$/m);
  });
});
