import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { QueryLimitOptions } from '#services/querier/promql/runtime/limits';
import { runPromql, series, type EvaluationTimes } from '#test/support/promql-source';

const HOUR_OF_SECONDS = Array.from({ length: 3600 }, (_, i) => i);
const TOO_MANY = 'query processing would load too many samples into memory in query execution';

async function fails(
  query: string,
  text: string,
  at: EvaluationTimes = { atS: 3600 },
  limits: Partial<QueryLimitOptions> = {},
): Promise<AlmanacError> {
  const began = systemClock.monotonicMs();
  const failure: unknown = await runPromql([series('m_total', {}, HOUR_OF_SECONDS, 1)], query, at, limits).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure, query.slice(0, 99)).to.be.instanceOf(AlmanacError);
  expect((failure as AlmanacError).message, query.slice(0, 99)).to.equal(text);
  expect(systemClock.monotonicMs() - began, query).to.be.lessThan(5000);
  return failure as AlmanacError;
}

describe('limits of a query', () => {
  it('apply to samples that are read or computed', async () => {
    await fails('m_total[1h]', TOO_MANY, { atS: 3600 }, { samplesMax: 3000 });
    await fails('m_total + m_total', TOO_MANY, { atS: 0, endS: 3599, stepS: 1 }, { samplesMax: 9000 });
    const { value } = await runPromql(
      [series('m', {}, [1])],
      'm + m + m + m',
      { endS: 240, stepS: 1 },
      { samplesMax: 1000 },
    );
    expect(value.kind).to.equal('vector');
  });

  it('reject too many steps', async () => {
    const text =
      'exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)';
    await fails('m_total', text, { atS: 0, endS: 10_000_000, stepS: 1 });
    await fails('m_total', text, { atS: 0, endS: 11_001, stepS: 1 });
    expect((await runPromql([], 'm', { endS: 11_000, stepS: 1 })).steps).to.equal(11_001);
  });

  it('reject subqueries with too many steps, also nested ones', async () => {
    await fails('count_over_time(vector(1)[100y:1ms])', TOO_MANY);
    await fails(
      'sum_over_time(time()[1000000000s:1s])',
      '1:15: parse error: subquery is only allowed on instant vector, got scalar instead',
    );
    const nested = 'max_over_time('.repeat(5) + 'm_total' + '[30d:1s])'.repeat(5);
    await fails(nested, TOO_MANY);
    await fails('count_over_time(m_total[280y:1h])', TOO_MANY, { atS: 3600 }, { samplesMax: 100_000 });
  });

  it('reject invalid durations', async () => {
    await fails('m_total[99999999999y]', '1:9: parse error: duration out of range');
    await fails('m_total[1/0]', '1:10: parse error: division by zero');
    await fails('m_total[10^300]', '8:14: duration is out of range');
    await fails('m_total offset (1y*1e9)', '15:23: duration is out of range');
  });

  it('reject range queries of range vectors and strings', async () => {
    const type = (name: string): string =>
      `invalid expression type "${name}" for range query, must be Scalar or instant Vector`;
    await fails('m_total[5m]', type('range vector'), { atS: 0, endS: 60, stepS: 60 });
    await fails('"a"', type('string'), { atS: 0, endS: 60, stepS: 60 });
  });

  it('end a query at its deadline, also during computation', async () => {
    let looks = 0;
    const hurried = { ...systemClock, monotonicMs: () => looks++ * 10 };
    const text = 'query timed out in expression evaluation';
    const error = await fails(
      'quantile_over_time(0.5, m_total[1h])',
      text,
      { atS: 0, endS: 3600, stepS: 1 },
      { clock: hurried, timeoutMs: 50 },
    );
    expect(error.code).to.equal('deadline_exceeded');
  });

  it('end a cancelled query', async () => {
    const gone = AbortSignal.abort();
    const error = await fails('m_total', 'query was canceled in expression evaluation', {}, { signal: gone });
    expect(error.code).to.equal('cancelled');
    const late = AbortSignal.abort(new AlmanacError('deadline_exceeded', 'late'));
    await fails('m_total', 'query timed out in expression evaluation', {}, { signal: late });
  });

  it('reject label values and regular expressions that are too large', async () => {
    const doubled =
      'label_join('.repeat(30) + 'label_replace(m_total, "a", "xx", "", "")' + ', "a", "x", "a", "a")'.repeat(30);
    await fails(doubled, 'a label value of the query is longer than 65536 characters');
    const many = `label_replace(m_total, "b", "${'$1'.repeat(20_000)}", "__name__", "(.*)")`;
    await fails(many, 'a label value of the query is longer than 65536 characters');
    const large = '1:9: parse error: error parsing regexp: expression too large';
    await fails(`m_total{a=~"${'(x+x+)+y|'.repeat(10_000)}"}`, large);
    await fails(`m_total{a=~"${'[\\\\pL\\\\pN]{900}'.repeat(10)}"}`, large);
    await runPromql([], `m{a=~"${Array.from({ length: 20_000 }, (_, i) => `host${i}`).join('|')}"}`);
  });

  it('match expressions that are exponential in backtracking engines', async () => {
    const hostile = [series('m', { a: 'a'.repeat(50_000) }, [1])];
    const began = systemClock.monotonicMs();
    await runPromql(hostile, 'm{a=~"(a*)*b"}');
    await runPromql(hostile, 'm{a=~"(a|aa)+$"}');
    await runPromql(hostile, 'label_replace(m, "b", "$1", "a", "(a+)+b")');
    expect(systemClock.monotonicMs() - began).to.be.lessThan(5000);
  });
});
