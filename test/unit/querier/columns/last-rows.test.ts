import { expect } from 'chai';

import { asGroup, lastRowsOf } from '#services/querier/columns/last-rows';
import { sortedRuns } from '#services/querier/columns/runs';
import { timeAt } from '#services/querier/kernels/time-grid';

/** Runs of rows by series and time. */
function runsWith(rows: readonly (readonly [sid: number, time: number])[]): ReturnType<typeof sortedRuns> {
  const order = Uint32Array.from(rows, (_, i) => i);
  const sids = Uint32Array.from(rows, ([sid]) => sid);
  return sortedRuns({ order, sids, times: Float64Array.from(rows, ([, time]) => time) }, 100n);
}

const numbers = (
  values: readonly number[],
  valid?: number,
): NonNullable<Parameters<typeof lastRowsOf>[0]['fields'][0]> => ({
  values: Float64Array.from(values),
  base: 0n,
  valid: valid === undefined ? undefined : Uint8Array.of(valid),
});

describe('lastRowsOf', () => {
  it('takes the last row of each run, with its time and values', () => {
    const runs = runsWith([
      [1, 10],
      [1, 20],
      [1, 30],
      [2, 5],
      [4, 1],
      [4, 7],
    ]);
    const group = {
      rowCount: 6,
      runs,
      fields: [numbers([1, 2, 3, 4, 5, 6]), numbers([1, 2, 3, 4, 5, 6], 0b011011), undefined],
    };
    const last = asGroup(lastRowsOf(group, [7, 8, 9], undefined), [8, 7, 9]);
    expect(last?.rowCount).to.equal(3);
    expect([...(last?.runs.sids ?? [])]).to.deep.equal([1, 2, 4]);
    expect([0, 1, 2].map((run) => last && timeAt(last.runs, run, run))).to.deep.equal([30, 5, 7]);
    expect(last?.runs.base).to.equal(100n);
    const [partial, whole, missing] = last?.fields ?? [];
    expect([...(whole?.values ?? [])]).to.deep.equal([3, 4, 6]);
    expect(partial?.valid?.[0]).to.equal(0b010);
    expect(missing).to.equal(undefined);
  });

  it('takes all rows with the last time of a series', () => {
    const runs = runsWith([
      [1, 10],
      [1, 20],
      [1, 20],
      [1, 20],
      [2, 9],
      [2, 11],
    ]);
    const group = { rowCount: 6, runs, fields: [numbers([1, 2, 3, 4, 5, 6])] };
    const last = asGroup(lastRowsOf(group, [7], undefined), [7]);
    expect([...(last?.runs.rows ?? [])]).to.deep.equal([0, 3, 4]);
    expect([...(last?.fields[0]?.values ?? [])]).to.deep.equal([2, 3, 4, 6]);
    expect(last && [timeAt(last.runs, 0, 0), timeAt(last.runs, 0, 2), timeAt(last.runs, 1, 3)]).to.deep.equal([
      20, 20, 11,
    ]);
  });

  it('adds fields to those that are known, and is incomplete without them', () => {
    const runs = runsWith([
      [1, 10],
      [1, 20],
    ]);
    const first = lastRowsOf({ rowCount: 2, runs, fields: [numbers([1, 2])] }, [7], undefined);
    expect(asGroup(first, [7, 8])).to.equal(undefined);
    const both = lastRowsOf({ rowCount: 2, runs, fields: [numbers([3, 4])] }, [8], first);
    expect(asGroup(both, [8, 7])?.fields.map((field) => field?.values[0])).to.deep.equal([4, 2]);
    expect(both.bytes).to.be.greaterThan(first.bytes);
    expect(asGroup(undefined, [])).to.equal(undefined);
  });
});
