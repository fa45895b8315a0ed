import { expect } from 'chai';

import { groupRuns, joinRuns, WindowGrid, type WindowRun } from '#services/querier/flows/window-grid';
import { QueryConnections } from '#shared/duckdb/query-connection';
import { DuckDBInstance } from '@duckdb/node-api';

const MINUTE_NS = 60_000_000_000n;

describe('WindowGrid', () => {
  it('numbers windows from their origin, before 1970 too', () => {
    const grid = new WindowGrid({ kind: 'fixed', stepNs: MINUTE_NS, originNs: 3_000_000_000n }, 'ms');
    expect([2_999n, 3_000n, 62_999n, 63_000n, -57_001n].map((time) => grid.numberOf(time))).to.deep.equal([
      -1n,
      0n,
      0n,
      1n,
      -2n,
    ]);
    expect([-2n, 0n, 1n].map((number) => grid.startOf(number))).to.deep.equal([-117_000n, 3_000n, 63_000n]);
  });

  it('numbers months, quarters and years', () => {
    const time = BigInt(Date.UTC(2024, 4, 31, 23, 59, 59, 999));
    for (const [months, start, next] of [
      [1, Date.UTC(2024, 4, 1), Date.UTC(2024, 5, 1)],
      [3, Date.UTC(2024, 3, 1), Date.UTC(2024, 6, 1)],
      [12, Date.UTC(2024, 0, 1), Date.UTC(2025, 0, 1)],
    ] as const) {
      const grid = new WindowGrid({ kind: 'months', months }, 'ms');
      const number = grid.numberOf(time);
      expect([grid.startOf(number), grid.startOf(number + 1n)]).to.deep.equal([BigInt(start), BigInt(next)]);
    }
  });

  it('computes the same numbers in SQL', async () => {
    const connections = new QueryConnections(await DuckDBInstance.create(':memory:'));
    const signal = new AbortController().signal;
    const windows = [
      { kind: 'fixed', stepNs: 7n * MINUTE_NS, originNs: -3_000_000_000n },
      { kind: 'fixed', stepNs: 604_800n * 1_000_000_000n, originNs: -259_200n * 1_000_000_000n },
      { kind: 'months', months: 1 },
      { kind: 'months', months: 3 },
    ] as const;
    const units = {
      s: 'make_timestamp(1000000::BIGINT * t)::TIMESTAMP_S',
      ms: 'make_timestamp_ms(t)',
      us: 'make_timestamp(t)',
      ns: 'make_timestamp_ns(t)',
    };
    await connections.use(async (connection) => {
      for (const window of windows) {
        for (const [unit, sql] of Object.entries(units)) {
          const grid = new WindowGrid(window, unit as keyof typeof units);
          for (const time of [-1_000_001_000n, -1000n, 0n, 419n, 1_700_000_000n]) {
            const text = `SELECT ${grid.numberSql('t')} FROM (SELECT ${sql.replace('t)', `${time})`)} AS t)`;
            const [block] = (await connection.run(text, signal)).blocks();
            expect(Number(block.cells(0)[0]), text).to.equal(Number(grid.numberOf(time)));
          }
        }
      }
    });
    connections.close();
  });
});

const run = (first: number, last: number): WindowRun => ({ first: BigInt(first), last: BigInt(last) });

describe('joinRuns', () => {
  it('joins runs that overlap or touch', () => {
    expect(joinRuns([run(5, 6), run(1, 2), run(3, 3), run(2, 2), run(9, 9)], 10)).to.deep.equal([
      run(1, 3),
      run(5, 6),
      run(9, 9),
    ]);
  });

  it('joins runs with at most that many windows between them', () => {
    const runs = [run(0, 0), run(3, 3), run(7, 7)];
    expect(joinRuns(runs, 10, 2n)).to.deep.equal([run(0, 3), run(7, 7)]);
    expect(joinRuns(runs, 10, 3n)).to.deep.equal([run(0, 7)]);
  });

  it('joins the nearest runs until there are few enough', () => {
    const joined = joinRuns([run(0, 0), run(10, 10), run(12, 12), run(100, 100), run(103, 103)], 3);
    expect(joined.length).to.be.at.most(3);
    expect(joined).to.deep.equal([run(0, 0), run(10, 12), run(100, 103)]);
  });
});

describe('groupRuns', () => {
  it('puts runs into a group with at most that many windows between neighbours', () => {
    const runs = [run(-9, -9), run(0, 1), run(4, 4), run(7, 7), run(11, 11)];
    expect(groupRuns(runs, 2n, 4n)).to.deep.equal([[runs[0]], [runs[1], runs[2], runs[3]], [runs[4]]]);
    expect(groupRuns([], 2n, 4n)).to.deep.equal([]);
  });

  it('lets no group reach over more than the given multiple of its windows', () => {
    const runs = [run(0, 0), run(3, 3), run(9, 9), run(12, 15), run(30, 30)];
    expect(groupRuns(runs, 100n, 2n)).to.deep.equal([[runs[0], runs[1]], [runs[2], runs[3]], [runs[4]]]);
    expect(groupRuns(runs, 100n, 4n)).to.deep.equal([runs]);
  });
});
