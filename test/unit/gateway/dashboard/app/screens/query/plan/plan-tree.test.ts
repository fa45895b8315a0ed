import { expect } from 'chai';

import { parsePlan, type PlanNode } from '#services/gateway/dashboard/app/screens/query/plan/plan-tree';

/** The names of operators, indented, those on the slowest way with a star. */
function drawn(nodes: readonly PlanNode[], depth = 0): string[] {
  return nodes.flatMap(({ name, ms, rows, isHot, children }) => [
    `${' '.repeat(depth)}${name} ${ms ?? '-'} ms ${rows ?? '-'} rows${isHot ? ' *' : ''}`,
    ...drawn(children, depth + 1),
  ]);
}

describe('plans', () => {
  it('have the operators of the engine, the slowest way marked', () => {
    const operator = (name: string, timing: number, children: object[] = []): object => {
      return { operator_name: name, operator_timing: timing, operator_cardinality: 3, extra_info: {}, children };
    };
    const plan = parsePlan(
      JSON.stringify({
        scans: ['scan public.t: 1 of 2 segments'],
        path: 'engine: a join',
        snapshot_ms: 1.5,
        engine_ms: 12,
      }),
      JSON.stringify({
        children: [
          operator('HASH_JOIN', 0.001, [
            operator('FILTER', 0.002, [operator('SCAN ', 0.004)]),
            operator('SCAN', 0.005),
          ]),
        ],
      }),
    );
    expect(drawn(plan.roots)).to.deep.equal([
      'hash join 1 ms 3 rows *',
      ' filter 2 ms 3 rows *',
      '  scan 4 ms 3 rows *',
      ' scan 5 ms 3 rows',
    ]);
    expect(plan.totalMs).to.equal(12);
    expect(plan.took).to.deep.equal([
      ['snapshot', 1.5],
      ['engine', 12],
    ]);
  });

  it('that were not run have expected rows and no times', () => {
    const plan = parsePlan(
      JSON.stringify({ scans: [], path: 'kernels' }),
      JSON.stringify([
        { name: 'FILTER', extra_info: { Expression: ['a > 1', 'b'], 'Estimated Cardinality': '20' }, children: [] },
      ]),
    );
    expect(drawn(plan.roots)).to.deep.equal(['filter - ms 20 rows']);
    expect(plan.roots[0].facts).to.deep.equal([['Expression', 'a > 1, b']]);
    expect([plan.took, plan.columns, plan.totalMs]).to.deep.equal([[], [], 0]);
  });

  it('say what kernels read', () => {
    const summary = {
      scans: [],
      path: 'kernels',
      columns: { row_groups_in_memory: 2, decoded_bytes: 8 },
      kernels_ms: 0.25,
    };
    const plan = parsePlan(JSON.stringify(summary), '{"children":[]}');
    expect(plan.columns).to.deep.equal([
      ['row groups in memory', 2],
      ['bytes decoded', 8],
    ]);
    expect(plan.roots).to.deep.equal([]);
  });
});
