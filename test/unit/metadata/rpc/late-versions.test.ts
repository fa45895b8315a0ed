import { expect } from 'chai';

import { haveVersions, type RowBounds } from '#services/metadata/rpc/late-versions';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

/** Expected result of `haveVersions`, with each segment compared with every other. */
function anyReplaced(segments: readonly RowBounds[]): boolean {
  return segments.some((late) =>
    segments.some((older) => {
      const isOlder = older.sequenceTo <= late.sequenceFrom;
      const hasTimes = older.timeFirst <= late.lateLast && older.timeLast >= late.lateFirst;
      return late.hasLate && isOlder && hasTimes && older.sidFirst <= late.sidLast && older.sidLast >= late.sidFirst;
    }),
  );
}

describe('haveVersions', () => {
  function drawn(random: SeededRandom): RowBounds {
    const [time, sid, sequence] = [random.below(30), random.below(12), random.below(8)];
    const late = time + random.below(6);
    return {
      timeFirst: BigInt(time),
      timeLast: BigInt(late + random.below(6)),
      sidFirst: sid,
      sidLast: sid + random.below(4),
      sequenceFrom: BigInt(sequence),
      sequenceTo: BigInt(sequence + 1 + random.below(3)),
      hasLate: random.fraction() < 0.3,
      lateFirst: BigInt(time),
      lateLast: BigInt(late),
    };
  }

  it('agrees with a comparison of all pairs of segments', () => {
    const found = [0, 0];
    for (let seed = 1; seed <= 4000; seed++) {
      const random = new SeededRandom(seed);
      const segments = Array.from({ length: 1 + random.below(12) }, () => drawn(random));
      const expected = anyReplaced(segments);
      expect(haveVersions(segments), `seed ${seed}`).to.equal(expected);
      found[Number(expected)]++;
    }
    expect(Math.min(...found)).to.be.greaterThan(500);
  });

  it('compares only those whose times overlap', () => {
    let comparisons = 0;
    const count = 20_000;
    const segments = Array.from({ length: count }, (_, at): RowBounds => {
      const [first, last] = [BigInt(at * 10), BigInt(at * 10 + 9)];
      return {
        timeFirst: first,
        timeLast: last,
        sidFirst: 0,
        sidLast: 9,
        sequenceFrom: BigInt(at),
        get sequenceTo(): bigint {
          comparisons++;
          return BigInt(at + 1);
        },
        hasLate: true,
        lateFirst: first,
        lateLast: last,
      };
    });
    expect(haveVersions(segments)).to.equal(false);
    expect(comparisons).to.be.within(count, 2 * count);
  });
});
