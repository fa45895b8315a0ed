import { rmSync } from 'node:fs';

import { expect } from 'chai';

import { Disk, exportDiskGauges } from '#services/ingester/disk-gauges';
import { Metrics } from '#shared/telemetry/metrics';
import { tempFolder } from '#test/support/temp-folder';

describe('disk gauges', () => {
  it('are exported for one disk and removed for another that does not answer', async () => {
    const cleanUps: (() => void)[] = [];
    const [storeFolder, walFolder] = [0, 1].map(() => tempFolder((cleanUp) => cleanUps.push(cleanUp)));
    const metrics = new Metrics({ unprefixedProcess: false, ofProcess: false });
    const { signal } = new AbortController();
    exportDiskGauges({ store: new Disk(storeFolder), wal: new Disk(walFolder) }, metrics, signal);
    rmSync(storeFolder, { recursive: true });
    const printed = await metrics.print();
    cleanUps.forEach((cleanUp) => cleanUp());
    expect(printed).not.to.match(/^almanac_ingester_store_(free|total)_bytes/m);
    expect(printed).to.match(/^almanac_ingester_wal_free_bytes [1-9]/m);
    expect(printed).to.match(/^almanac_ingester_wal_total_bytes [1-9]/m);
  });
});
