import { expect } from 'chai';

import { pickRuns } from '#services/ingester/compaction/pick';
import { chainsOf, type SortedRun } from '#services/ingester/compaction/runs';
import type { Segment } from '#shared/contracts/gen/common';

const DAY = 100n;

/** Returns a segment with this name: the output of a flush for a window. */
function segment(path: string, sequence: number, [first, last]: readonly [number, number], rowCount = 1): Segment {
  const times = { timeFirst: BigInt(first), timeLast: BigInt(last) };
  const sequences = { sequenceFrom: BigInt(sequence), sequenceTo: BigInt(sequence + 1) };
  return { path, rowCount, ...times, ...sequences } as unknown as Segment;
}

function names(chains: readonly (readonly SortedRun[])[]): string[] {
  return chains.map((chain) => chain.map((run) => run.segments.map(({ path }) => path).join('+')).join(' ')).sort();
}

describe('chainsOf', () => {
  it('collects the segments of a window in sequence order, those of one run together', () => {
    const segments = [
      segment('b', 2, [5, 60]),
      segment('a1', 1, [0, 50]),
      segment('a2', 1, [3, 99]),
      segment('x', 1, [100, 120]),
      segment('y', 3, [-1, -1]),
    ];
    expect(names(chainsOf(segments, DAY))).to.deep.equal(['a1+a2 b', 'x', 'y']);
  });

  it('splits a window where a longer segment with rows of the same times is in between', () => {
    const wide = segment('wide', 2, [50, 150]);
    const segments = [segment('a', 1, [0, 60]), wide, segment('b', 3, [0, 60]), segment('c', 4, [0, 60])];
    expect(names(chainsOf(segments, DAY))).to.deep.equal(['a', 'b c', 'wide']);
    const elsewhere = [segment('a', 1, [0, 40]), wide, segment('b', 3, [0, 40])];
    expect(names(chainsOf(elsewhere, DAY))).to.deep.equal(['a b', 'wide']);
  });

  it('assigns segments of any length to windows, over all of time', () => {
    const [first, last] = [-(2n ** 63n), 2n ** 63n - 1n];
    const whole = { ...segment('whole', 1, [0, 0]), timeFirst: first, timeLast: last };
    expect(names(chainsOf([whole, { ...whole, path: 'again' }], 1n))).to.deep.equal(['whole+again']);
  });
});

describe('pickRuns', () => {
  const options = { runsMin: 4, ratio: 1.2, runsMax: 12 };

  function chain(...rowCounts: readonly number[]): SortedRun[] {
    const [found] = chainsOf(
      rowCounts.map((rowCount, i) => segment(String(i), i, [0, 1], rowCount)),
      DAY,
    );
    return found;
  }

  function picked(runs: readonly SortedRun[]): number[] {
    return pickRuns(runs, options).map(({ rowCount }) => rowCount);
  }

  it('picks nothing if there is little to merge', () => {
    expect(picked(chain(1, 1, 1))).to.deep.equal([]);
    expect(picked(chain(1000, 30, 3, 1))).to.deep.equal([]);
  });

  it('picks neighbors of similar size, and leaves a large one alone', () => {
    expect(picked(chain(1000, 10, 10, 11, 9))).to.deep.equal([10, 10, 11, 9]);
  });

  it('picks as many as match in size', () => {
    expect(picked(chain(10, 10, 10, 10, 10, 10))).to.have.length(6);
  });

  it('picks the smallest of many that do not match', () => {
    const doubled = Array.from({ length: 13 }, (_, i) => 3 ** (13 - i));
    expect(picked(chain(...doubled))).to.deep.equal([81, 27, 9, 3]);
  });

  it('keeps the number of runs and of rewrites per row small while rows keep arriving', () => {
    let runs: number[] = [];
    let written = 0;
    const flushes = 2000;
    for (let i = 0; i < flushes; i++) {
      runs.push(100 + (i % 7));
      for (;;) {
        const all = chain(...runs);
        const merged = pickRuns(all, options);
        if (merged.length === 0) break;
        const at = all.indexOf(merged[0]);
        const rowCount = merged.reduce((sum, run) => sum + run.rowCount, 0);
        written += rowCount;
        runs = [...runs.slice(0, at), rowCount, ...runs.slice(at + merged.length)];
      }
      expect(runs.length).to.be.at.most(12);
    }
    const rows = runs.reduce((sum, rowCount) => sum + rowCount, 0);
    expect(written / rows).to.be.below(Math.log2(flushes));
  });
});
