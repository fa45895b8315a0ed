import { expect } from 'chai';

import {
  EXEMPLARS_SHOWN_MAX,
  exemplarsToShow,
  exemplarTrace,
  type ChartExemplar,
} from '#services/gateway/dashboard/app/widgets/chart/exemplars/exemplar-choice';

const at = (timeMs: number, value: number, labels = {}): ChartExemplar => {
  return { timeMs, value, labels, series: {}, isComparable: true };
};
const RANGE = { fromMs: 1000, toMs: 2000 };

describe('the exemplars of a chart', () => {
  it('are those of the range, by time', () => {
    const all = [at(1500, 1), at(999, 2), at(1000, 3), at(2001, 4), at(1200, NaN)];
    expect(exemplarsToShow(all, RANGE)).to.deep.equal({ shown: [at(1000, 3), at(1500, 1)], totalCount: 2 });
  });

  it('are, of many, the greatest of each interval', () => {
    const all = Array.from({ length: 1001 }, (_, i) => at(1000 + i, i % 5));
    const { shown, totalCount } = exemplarsToShow(all, RANGE);
    expect(totalCount).to.equal(1001);
    expect(shown).to.have.length(EXEMPLARS_SHOWN_MAX);
    expect(shown.every(({ value }) => value === 4)).to.equal(true);
    const late = Array.from({ length: 500 }, (_, i) => at(1999, i));
    expect(exemplarsToShow(late, RANGE).shown).to.deep.equal([at(1999, 499)]);
  });

  it('name a trace in the usual spellings', () => {
    for (const name of ['trace_id', 'traceID', 'traceId', 'trace-id']) {
      expect(exemplarTrace(at(1, 1, { span_id: 'b', [name]: 'AB12' }))).to.equal('ab12');
    }
    expect(exemplarTrace(at(1, 1, { trace_id: '../x' }))).to.equal(undefined);
    expect(exemplarTrace(at(1, 1, { id: 'ab' }))).to.equal(undefined);
  });
});
