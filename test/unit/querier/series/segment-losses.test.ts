import { expect } from 'chai';

import { SegmentLosses } from '#services/querier/series/segment-losses';
import type { RegionManifest, Segment } from '#shared/contracts/gen/common';

function manifest(paths: readonly string[], truncatedSequence = 0n): RegionManifest {
  const segments = paths.map((path) => ({ path }) as Segment);
  const bounds = { epoch: 1, watermark: 0n, truncatedSequence, version: 1n };
  return { regionId: 1, tableId: 1, ...bounds, segments, seriesFiles: [] };
}

describe('SegmentLosses', () => {
  it('returns equal numbers only if a later manifest has all segments of the earlier one', () => {
    const losses = new SegmentLosses();
    const first = losses.generationOf(manifest(['a', 'b']));
    expect(losses.generationOf(manifest(['a', 'b']))).to.equal(first);
    expect(losses.generationOf(manifest(['b', 'a', 'c']))).to.equal(first);
    const merged = losses.generationOf(manifest(['d', 'c']));
    expect(merged).not.to.equal(first);
    expect(losses.generationOf(manifest(['d', 'c', 'e'])), 'another segment added').to.equal(merged);
    expect(losses.generationOf(manifest(['d', 'c', 'e'], 7n)), 'truncated').not.to.equal(merged);
    // A manifest of an earlier read.
    const older = losses.generationOf(manifest(['a', 'b']));
    expect(older).not.to.be.oneOf([first, merged]);
  });
});
