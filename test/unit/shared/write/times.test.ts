import { expect } from 'chai';

import type { TimeUnit } from '#shared/schema/data-type';
import { convertTimes } from '#shared/write/times';

function convert(times: bigint[], from: TimeUnit, to: TimeUnit): { times: bigint[]; outside: number[] } {
  const array = BigInt64Array.from(times);
  const outside = convertTimes(array, from, to);
  return { times: [...array], outside };
}

describe('convertTimes', () => {
  it('accepts the ends of each range and rejects times beyond them', () => {
    const ends: [TimeUnit, bigint][] = [
      ['s', 8_640_000_000_000n],
      ['ms', 8_640_000_000_000_000n],
      ['us', 8_640_000_000_000_000_000n],
      ['ns', 9_223_372_036_854_775_806n],
    ];
    for (const [unit, end] of ends) {
      expect(convert([end, end + 1n, -end, -end - 1n, 0n, -1n], unit, unit).outside, unit).to.deep.equal([1, 3]);
    }
    expect(convert([-9_223_372_036_854_775_808n], 'ns', 'ns').outside).to.deep.equal([0]);
  });

  it('leaves times of the same unit as they are', () => {
    const times = [9_007_199_254_740_993n, -1n, 4_294_967_296n];
    expect(convert(times, 'us', 'us')).to.deep.equal({ times, outside: [] });
  });

  it('rounds down to coarser units', () => {
    expect(convert([1_999n, -1n, -1_000n, -1_001n], 'us', 'ms').times).to.deep.equal([1n, -1n, -1n, -2n]);
    expect(convert([9_223_372_036_854_775_807n], 'ns', 's')).to.deep.equal({ times: [9_223_372_036n], outside: [] });
  });

  it('rejects times that a finer unit cannot hold', () => {
    const converted = convert([9_223_372_036_854n, 9_223_372_036_855n], 'ms', 'ns');
    expect(converted.times[0]).to.equal(9_223_372_036_854_000_000n);
    expect(converted.outside).to.deep.equal([1]);
  });
});
