import { expect } from 'chai';

import { AGGREGATIONS } from '#services/querier/promql/aggregations/registry';
import { FUNCTION_FAMILIES, FUNCTIONS } from '#services/querier/promql/functions/registry';
import { runPromql, series } from '#test/support/promql-source';

const HISTOGRAM = {
  ...{ schema: 0, count: 4, sum: 9, hint: 'unknown' as const, zeroThreshold: 0.001, zeroCount: 1, custom: [] },
  ...{ positive: { indexes: [0, 1], counts: [1, 2] }, negative: { indexes: [], counts: [] } },
};
const SERIES = [
  series('m', { a: 'x', le: '1' }, [1, 2, 3]),
  series('m', { a: 'h' }, [HISTOGRAM, HISTOGRAM, HISTOGRAM]),
];

const ARGUMENTS = { scalar: '0.5', string: '"b"', vector: 'm', matrix: 'm[2m]' } as const;
/** Calls of functions that need other arguments. */
const CALLS: Readonly<Record<string, string>> = {
  label_replace: 'label_replace(m, "b", "x", "a", ".*")',
  histogram_quantiles: 'histogram_quantiles(m, "b", 0.5)',
  info: 'info(m)',
  sort_by_label: 'sort_by_label(m, "a")',
};

describe('function records', () => {
  it('have unique names', () => {
    const names = Object.values(FUNCTION_FAMILIES).flatMap((functions) => functions.map(({ name }) => name));
    expect(names).to.have.length(FUNCTIONS.size);
    expect(new Set([...names, ...AGGREGATIONS.keys()])).to.have.length(FUNCTIONS.size + AGGREGATIONS.size);
  });

  it('have a sentence for the documentation', () => {
    for (const { name, doc } of [...FUNCTIONS.values(), ...AGGREGATIONS.values()]) {
      expect(doc, name)
        .to.match(/^[A-Z].*\.$/)
        .and.not.contain('|');
    }
  });

  for (const { name, args, returns, keepsName = false } of FUNCTIONS.values()) {
    if (returns !== 'vector') continue;
    it(`say whether the metric name is kept: ${name}`, async () => {
      const call = CALLS[name] ?? `${name}(${args.map((type) => ARGUMENTS[type]).join(', ')})`;
      const { value } = await runPromql(SERIES, call, { atS: 120 });
      const all = value.kind === 'vector' ? value.series : [];
      expect(all.every(({ labels }) => (labels.get('__name__') === 'm') === keepsName)).to.equal(true);
      if (!/^absent|^start_timestamp/.test(name)) expect(all, call).to.not.have.length(0);
    });
  }
});
