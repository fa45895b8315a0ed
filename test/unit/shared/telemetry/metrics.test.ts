import { expect } from 'chai';

import { Metrics } from '#shared/telemetry/metrics';

describe('metrics', () => {
  it('have gauges set when they are read, until that is ended', async () => {
    const metrics = new Metrics({ unprefixedProcess: false, ofProcess: false });
    const gauge = metrics.gauge({ name: 'test_reads', help: 'times that it was read' });
    let reads = 0;
    const end = metrics.beforePrint(() => gauge.set(++reads));
    expect(await metrics.print()).to.match(/^almanac_test_reads 1$/m);
    expect(await metrics.print()).to.match(/^almanac_test_reads 2$/m);
    end();
    expect(await metrics.print()).to.match(/^almanac_test_reads 2$/m);
  });

  it('are read all the same when one of them cannot be told', async () => {
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
});
