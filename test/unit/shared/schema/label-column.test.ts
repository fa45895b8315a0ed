import { expect } from 'chai';
import fc from 'fast-check';

import { columnOfLabel, labelOfColumn } from '#shared/schema/label-column';

describe('label names as column names', () => {
  it('escapes upper case and carets', () => {
    expect(columnOfLabel('Zone_A')).to.equal('^zone_^a');
    expect(columnOfLabel('a^b')).to.equal('a^^b');
    expect(columnOfLabel('zone.é')).to.equal('zone.é');
  });

  it('is reversible, and no two labels have one column in any case', () => {
    const text = fc.oneof(fc.string({ unit: fc.constantFrom('a', 'A', '^', 'b', 'É') }), fc.string());
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(labelOfColumn(columnOfLabel(a))).to.equal(a);
        const [first, second] = [columnOfLabel(a), columnOfLabel(b)].map((it) =>
          it.replace(/[A-Z]/g, (c) => c.toLowerCase()),
        );
        if (a !== b) expect(first).not.to.equal(second);
      }),
    );
  });
});
