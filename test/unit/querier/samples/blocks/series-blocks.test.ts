import { expect } from 'chai';

import { blockRange, SeriesBlocks, type SeriesBlock } from '#services/querier/samples/blocks/series-blocks';
import type { LabelIndex } from '#services/querier/series/label-index';
import { NO_LABELS } from '#services/querier/series/labels';
import type { RegionManifest } from '#shared/contracts/gen/common';

const HOUR_MS = 3_600_000;
const RANGE = { fromMs: 0, toMs: 2 * HOUR_MS };

/** A block of series with one array of times. */
function block(seriesCount: number, samples: number): SeriesBlock {
  const times = new Float64Array(samples);
  const series = Array.from({ length: seriesCount }, () => {
    return { labels: NO_LABELS, times, values: new Float64Array(samples) };
  });
  return { bases: [], range: RANGE, series, isPlain: true, groups: [], live: undefined };
}

describe('SeriesBlocks', () => {
  it('removes the least recently used blocks at its limit', () => {
    const blocks = new SeriesBlocks(() => 100_000);
    blocks.keep('a', block(4, 1000));
    blocks.keep('b', block(4, 1000));
    expect(blocks.find('a')?.series).to.have.length(4);
    blocks.keep('c', block(4, 1000));
    expect(['a', 'b', 'c'].map((key) => blocks.find(key) !== undefined)).to.deep.equal([true, false, true]);
  });

  it('reports whether a number of samples fits', () => {
    const blocks = new SeriesBlocks(() => 100_000);
    expect([6000, 7000].map((samples) => blocks.fits('a', samples, 1))).to.deep.equal([true, false]);
    expect([10, 100].map((series) => blocks.fits('a', 4000, series))).to.deep.equal([true, false]);
  });

  it('knows for some queries that the block of a selector was too large', () => {
    const blocks = new SeriesBlocks(() => 100_000);
    blocks.keep('a', block(7, 1000));
    const answers = Array.from({ length: 65 }, () => blocks.fits('a', 10, 1));
    expect(answers.indexOf(true)).to.equal(64);
    expect(blocks.fits('b', 10, 1)).to.equal(true);
  });

  it('keeps no block that is larger than half of its limit, and removes the one that it would replace', () => {
    const blocks = new SeriesBlocks(() => 100_000);
    blocks.keep('a', block(2, 1000));
    blocks.keep('a', block(7, 1000));
    expect(blocks.find('a')).to.equal(undefined);
  });

  it('removes the blocks of a table whose index was replaced', () => {
    const blocks = new SeriesBlocks(() => 100_000);
    const [old, now] = [{}, {}].map((index) => index as LabelIndex);
    const of = (index: LabelIndex): SeriesBlock => {
      const basis = { at: 0, index, manifest: {} as RegionManifest, sids: new Int32Array(0), seriesCount: 0 };
      return { ...block(1, 10), bases: [basis] };
    };
    blocks.keep('1 a', of(old));
    blocks.keep('1 b', of(now));
    blocks.keep('12 a', of(old));
    blocks.removeTable(1, new Set([now]));
    const kept = (): boolean[] => ['1 a', '1 b', '12 a'].map((key) => blocks.find(key) !== undefined);
    expect(kept()).to.deep.equal([false, true, true]);
    blocks.removeTable(1);
    expect(kept()).to.deep.equal([false, false, true]);
  });

  it('counts times that series share once, and rows that are not flushed', () => {
    const blocks = new SeriesBlocks(() => 100_000);
    const own = block(4, 1000);
    blocks.keep('a', own);
    expect(blocks.find('a')).not.to.equal(undefined);
    blocks.keep('a', { ...own, live: { series: own.series, bytes: 10_000 } });
    expect(blocks.find('a')).to.equal(undefined);
  });
});

describe('blockRange', () => {
  it('covers whole periods of two hours, and the previous block if that is near', () => {
    const inner = { fromMs: 3 * HOUR_MS, toMs: 3.5 * HOUR_MS };
    expect(blockRange(inner, undefined)).to.deep.equal({ fromMs: 2 * HOUR_MS, toMs: 4 * HOUR_MS });
    expect(blockRange(inner, RANGE)).to.deep.equal({ fromMs: 0, toMs: 4 * HOUR_MS });
    const far = { fromMs: 20 * HOUR_MS, toMs: 21 * HOUR_MS };
    expect(blockRange(far, RANGE)).to.deep.equal({ fromMs: 20 * HOUR_MS, toMs: 22 * HOUR_MS });
  });

  it('does not grow with a window that moves', () => {
    let range = blockRange(RANGE, undefined);
    for (let hour = 0; hour < 100; hour++) {
      range = blockRange({ fromMs: hour * HOUR_MS, toMs: (hour + 1) * HOUR_MS }, range);
      expect(range.toMs - range.fromMs).to.be.at.most(8 * HOUR_MS);
    }
  });
});
