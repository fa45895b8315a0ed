import { expect } from 'chai';

import { latestSchema } from '#services/querier/samples/latest-schema';
import { callError, type Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import { systemClock } from '#shared/clock/clock';
import { failureCode } from '#test/support/failure';
import { ManualClock } from '#test/support/manual-clock';

describe('latestSchema', () => {
  const TABLE = { tableId: 7 } as Table;

  it('returns the schema of the metadata service', async () => {
    const catalog = { renew: () => Promise.resolve(), knownById: () => TABLE };
    expect(await latestSchema(7, { catalog, clock: systemClock })).to.equal(TABLE);
  });

  it('fails when the table was dropped', async () => {
    const catalog = { renew: () => Promise.resolve(), knownById: () => undefined };
    expect(await failureCode(latestSchema(7, { catalog, clock: systemClock }))).to.equal('table_not_found');
  });

  it('fails after a time limit, because other readers of the table wait too', async () => {
    const clock = new ManualClock();
    const renew = (_: number, { signal }: Call): Promise<void> => {
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(callError(signal)));
      });
    };
    const result = failureCode(latestSchema(7, { catalog: { renew, knownById: () => TABLE }, clock }));
    await clock.advance(10_000);
    expect(await result).to.equal('region_not_ready');
  });
});
