import { expect } from 'chai';

import { fingerprintOf } from '#services/gateway/dashboard/app/screens/queries/fingerprint';
import { groupSlowRuns, type SlowRun } from '#services/gateway/dashboard/app/screens/queries/slow-groups';

describe('fingerprints of queries', () => {
  for (const [text, expected] of [
    ["SELECT * FROM cpu WHERE host = 'a' AND usage > 1.5e3", 'SELECT * FROM cpu WHERE host = ? AND usage > ?'],
    ["SELECT 'it''s', 'a\\'b'", 'SELECT ?, ?'],
    ['SELECT  a\n\t, b -- why\nFROM t /* x\ny */ LIMIT 10', 'SELECT a , b FROM t LIMIT ?'],
    ['SELECT "a 1", `b 2` FROM t1', 'SELECT "a 1", `b 2` FROM t1'],
    ['SELECT * FROM t WHERE x IN (1, 2,3) OR y IN (4)', 'SELECT * FROM t WHERE x IN (?, ..) OR y IN (?)'],
    ["SELECT 'open", "SELECT 'open"],
  ]) {
    it(`reduces ${JSON.stringify(text)}`, () => {
      expect(fingerprintOf(text, false)).to.equal(expected);
    });
  }

  it('take texts in double quotes and durations of PromQL for literals', () => {
    const text = 'sum by (job) (rate(http_requests_total{code=~"5..",job="api"}[5m] offset 1h)) / 2';
    expect(fingerprintOf(text, true)).to.equal(
      'sum by (job) (rate(http_requests_total{code=~?,job=?}[?] offset ?)) / ?',
    );
  });

  it('of long texts are made of their beginnings', () => {
    const text = `SELECT ${'column_name, '.repeat(100_000)}1`;
    expect(fingerprintOf(text, false)).to.have.length(2000);
  });
});

describe('groups of slow queries', () => {
  const run = (costMs: number, query: string, database = 'public'): SlowRun => {
    return { startMs: costMs * 10, costMs, query, isPromql: false, database, user: '', plan: '' };
  };

  it('join queries with the same text but for literals, those with most time first', () => {
    const [first, second, third] = groupSlowRuns([
      run(5, 'SELECT 1'),
      run(100, "SELECT * FROM t WHERE a = 'x'"),
      run(300, "SELECT * FROM t WHERE a = 'y'"),
      run(6, 'SELECT 2'),
      run(7, 'SELECT 3', 'other'),
    ]);
    expect(first).to.deep.include({ fingerprint: 'SELECT * FROM t WHERE a = ?', count: 2, totalMs: 400, maxMs: 300 });
    expect(first).to.include({ averageMs: 200, lastMs: 3000 });
    expect(first.runs.map(({ costMs }) => costMs)).to.deep.equal([300, 100]);
    expect([second, third].map(({ fingerprint, database, totalMs }) => [fingerprint, database, totalMs])).to.deep.equal(
      [
        ['SELECT ?', 'public', 11],
        ['SELECT ?', 'other', 7],
      ],
    );
  });

  it('have the nearest rank as p95', () => {
    const costs = Array.from({ length: 100 }, (_, i) => run(i + 1, 'SELECT 1'));
    expect(groupSlowRuns(costs)[0].p95Ms).to.equal(95);
    expect(groupSlowRuns([run(3, 'SELECT 1')])[0].p95Ms).to.equal(3);
    expect(groupSlowRuns([])).to.deep.equal([]);
  });
});
