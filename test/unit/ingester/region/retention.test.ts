import { expect } from 'chai';

import { Region } from '#services/ingester/region/region';
import { expireRegionSegments } from '#services/ingester/region/retention';
import type { RegionManifest, Segment, Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { Metrics } from '#shared/telemetry/metrics';
import { failure } from '#test/support/failure';
import { ManualClock } from '#test/support/manual-clock';
import { KeptLog } from '#test/support/quiet-log';

const BOUNDS = { epoch: 1, watermark: 0n, truncatedSequence: 0n, version: 1n };
const TIME = { nullable: false, defaultSql: '', comment: '', backfillSql: '', formerTypes: [], indexes: [] };
const TABLE: Table = {
  ...{ tableId: 1, databaseId: 1, database: 'public', name: 't', schemaVersion: 1, options: {}, regions: [] },
  columns: [{ id: 1, name: 'time', type: 'TimestampNanosecond', kind: 'time', ...TIME }],
  ...{ createdMs: 0, primaryKey: [], ttl: '1h' },
};

/** Returns a manifest with one segment of 1900. */
function manifestOf(regionId: number): RegionManifest {
  const segments = [{ path: `s${regionId}`, timeLast: -(2n ** 61n) } as Segment];
  return { regionId, tableId: TABLE.tableId, ...BOUNDS, segments, seriesFiles: [] };
}

describe('expireRegionSegments', () => {
  it('continues with other regions when one fails', async () => {
    const clock = new ManualClock();
    const keys = { clock, windowMs: 0, onEarlyDiscard: () => undefined };
    const open = [1, 2, 3].map((regionId) => new Region(TABLE, manifestOf(regionId), 1n, keys));
    const log = new KeptLog();
    const metrics = new Metrics({ unprefixedProcess: false });
    const expired = expireRegionSegments({
      ...{ regions: { open }, clock, log },
      compactor: { without: (_, work) => work() },
      metadata: {
        expireSegments: ({ regionId }) => {
          if (regionId === 1) return Promise.reject(new AlmanacError('illegal_state', 'grant 1 is not open'));
          return Promise.resolve({ ...manifestOf(regionId), segments: [], version: 2n });
        },
      },
      metrics: { expiredSegments: metrics.counter({ name: 'expired', help: 'segments' }) },
    });
    expect((await failure(expired)).code).to.equal('illegal_state');
    expect(open.map(({ manifest }) => manifest.segments.length)).to.deep.equal([1, 0, 0]);
    expect(log.lines.map(({ level, fields }) => [level, fields['regionId']])).to.deep.equal([
      ['error', 1],
      ['info', 2],
      ['info', 3],
    ]);
  });
});
