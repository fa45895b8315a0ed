import { expect } from 'chai';

import { EngineRows } from '#services/querier/snapshot/engine-rows';
import type { SegmentFiles } from '#services/querier/snapshot/segment-files';
import { systemClock } from '#shared/clock/clock';
import type { Table } from '#shared/contracts/gen/common';
import { openEngine } from '#shared/duckdb/engine';
import { seriesIndexes } from '#test/support/series-indexes';

const TABLE: Table = {
  ...{ tableId: 1, databaseId: 1, database: 'public', name: 't', schemaVersion: 1, createdMs: 0, ttl: '' },
  columns: ['host', 'rack'].map((name, i) => ({
    ...{ id: i + 1, name, type: 'String', kind: 'tag', nullable: true },
    ...{ defaultSql: '', comment: '', backfillSql: '', formerTypes: [], indexes: [] },
  })),
  ...{ options: {}, regions: [], primaryKey: [] },
};

describe('EngineRows', () => {
  it('lets its user wait for drops in progress: the engine never returns if their connection is closed', async () => {
    const engine = await openEngine({ threads: 1, memoryBytes: 128 * 1024 * 1024, spillFolder: '' });
    const [connection, appending] = [await engine.connect(), await engine.connect()];
    const files = { absolute: (path: string) => path } as SegmentFiles;
    const clock = systemClock;
    const indexes = seriesIndexes({ connection, files, clock, schemaOf: () => TABLE });
    const layout = new EngineRows({ connection, appending, files, clock, indexes });
    await layout.settled();
    const dropped: number[] = [];
    for (const number of [1, 2, 3]) {
      const series = await layout.createSeries(number, TABLE);
      if (series !== undefined) void layout.drop(series).then(() => dropped.push(number));
    }
    await layout.settled();
    expect(dropped).to.have.members([1, 2, 3]);
    for (const open of [connection, appending, engine]) open.closeSync();
  });
});
