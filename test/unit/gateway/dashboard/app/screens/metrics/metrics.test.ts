import { expect } from 'chai';

import {
  filtersText,
  parseFilters,
  selectorText,
  withFilter,
  type LabelFilter,
} from '#services/gateway/dashboard/app/screens/metrics/filters';
import { comparedCounts, countLabels, pairOf } from '#services/gateway/dashboard/app/screens/metrics/label-counts';
import { kindOfMetric, metricCharts, rateWindow } from '#services/gateway/dashboard/app/screens/metrics/metric-kind';
import { listMetrics, searchMetrics } from '#services/gateway/dashboard/app/screens/metrics/search-metrics';

const isA = (label: string, value: string): LabelFilter => ({ label, operator: '=', value });
const isNot = (label: string, value: string): LabelFilter => ({ label, operator: '!=', value });

describe('filters of the Metrics screen', () => {
  it('are matchers, which can be read again', () => {
    const filters = [isA('job', 'a "quoted" \\ one'), isNot('my.label', '<img src=x onerror=alert(1)>\n\u202e, b="c"')];
    const text = filtersText(filters);
    expect(text.startsWith('job="a \\"quoted\\" \\\\ one", "my.label"!=')).to.equal(true);
    expect(parseFilters(text)).to.deep.equal(filters);
    expect(parseFilters('')).to.deep.equal([]);
  });

  it('are not guessed from a text that is none', () => {
    for (const text of ['job', 'job=node', 'job=~"a"', '="a"', 'a="b" c="d"', 'a="\\x"']) {
      expect(parseFilters(text), text).to.equal(undefined);
    }
  });

  it('replace those that they contradict', () => {
    expect(withFilter([isA('a', '1'), isA('b', '1')], isA('a', '2'))).to.deep.equal([isA('b', '1'), isA('a', '2')]);
    expect(withFilter([isNot('a', '1')], isNot('a', '2'))).to.deep.equal([isNot('a', '1'), isNot('a', '2')]);
    expect(withFilter([isA('a', '1')], isNot('a', '1'))).to.deep.equal([isNot('a', '1')]);
  });

  it('are a selector together with any name', () => {
    expect(selectorText('up', [])).to.equal('up');
    expect(selectorText('up', [isA('job', 'x')])).to.equal('up{job="x"}');
    expect(selectorText('my.metric', [])).to.equal('{"my.metric"}');
    expect(selectorText('my"metric', [isNot('a', '')])).to.equal('{"my\\"metric", a!=""}');
  });
});

describe('charts of a metric', () => {
  const facts = (name: string, type = ''): Parameters<typeof kindOfMetric>[0] & { help: string; unit: string } => ({
    ...{ name, type, help: '', unit: '' },
  });

  it('are chosen by type, else by name and labels', () => {
    expect(kindOfMetric(facts('http_requests_total'), [])).to.equal('counter');
    expect(kindOfMetric(facts('hits', 'counter'), [])).to.equal('counter');
    expect(kindOfMetric(facts('latency_bucket'), ['le'])).to.equal('histogram');
    expect(kindOfMetric(facts('latency', 'histogram'), [])).to.equal('native histogram');
    expect(kindOfMetric(facts('latency', 'summary'), ['quantile'])).to.equal('summary');
    expect(kindOfMetric(facts('memory_bytes'), [])).to.equal('gauge');
  });

  it('average gauges, with their extremes if they are not split', () => {
    const [chart] = metricCharts(facts('memory_bytes'), ['host'], [isA('host', 'a')], '', '5m');
    expect(chart.unit).to.equal('bytes');
    expect(chart.queries).to.deep.equal([
      { name: 'avg', query: 'avg(memory_bytes{host="a"})' },
      { name: 'min', query: 'min(memory_bytes{host="a"})' },
      { name: 'max', query: 'max(memory_bytes{host="a"})' },
    ]);
    const [split] = metricCharts(facts('memory_bytes'), ['host'], [], 'host', '5m');
    expect(split.queries).to.deep.equal([{ name: '', query: 'avg by (host) (memory_bytes)' }]);
  });

  it('add up the rates of counters', () => {
    const [chart] = metricCharts(facts('sent_bytes_total'), [], [], '', '5m');
    expect(chart.unit).to.equal('bytes/s');
    expect(chart.queries[0].query).to.equal('sum(rate(sent_bytes_total[5m]))');
  });

  it('compute quantiles and the number of observations of histograms', () => {
    const [quantiles, count] = metricCharts(facts('latency_seconds_bucket'), ['le', 'job'], [], 'job', '300s');
    expect(quantiles.unit).to.equal('seconds');
    expect(quantiles.queries.map(({ name }) => name)).to.deep.equal(['p50', 'p95', 'p99']);
    expect(quantiles.queries[1].query).to.equal(
      'histogram_quantile(0.95, sum by (le, job) (rate(latency_seconds_bucket[300s])))',
    );
    expect(count.queries[0].query).to.equal('sum by (job) (rate(latency_seconds_bucket{le="+Inf"}[300s]))');
    expect(metricCharts(facts('x_bucket'), ['le'], [], '', '5m')[0].bucketQuery).to.equal(
      'sum by (le) (rate(x_bucket[5m]))',
    );
    expect(quantiles.bucketQuery).to.equal(undefined);
    const [native] = metricCharts(facts('latency_seconds', 'histogram'), [], [], '', '300s');
    expect(native.queries[2].query).to.equal('histogram_quantile(0.99, sum(rate(latency_seconds[300s])))');
  });

  it('keep the fields of a table apart', () => {
    const [chart] = metricCharts(facts('cpu'), ['__field__', 'host'], [], 'host', '5m');
    expect(chart.queries).to.deep.equal([{ name: '', query: 'avg by (__field__, host) (cpu)' }]);
  });

  it('have rates over at least two steps', () => {
    expect([15, 3600].map(rateWindow)).to.deep.equal(['300s', '7200s']);
  });
});

describe('the list of metrics', () => {
  const metadata = {
    http_requests: [{ type: 'counter', help: 'Requests by status.' }],
    latency: [{ type: 'histogram', help: 'How long it takes.' }],
  };
  const names = ['constructor', 'http_requests_total', 'latency_bucket', 'up'];
  const list = listMetrics(names, metadata, new Map([['up', 3]]));

  it('has the description of the family, and the number of series', () => {
    expect(list.map(({ type, seriesCount }) => [type, seriesCount])).to.deep.equal([
      ['', undefined],
      ['counter', undefined],
      ['histogram', undefined],
      ['', 3],
    ]);
  });

  it('is searched by words in any order, in name, type and help', () => {
    const found = (words: string): string[] => searchMetrics(list, words).map(({ name }) => name);
    expect(found('requests HTTP')).to.deep.equal(['http_requests_total']);
    expect(found('histogram takes')).to.deep.equal(['latency_bucket']);
    expect(found('  ')).to.deep.equal(names);
    expect(found('nothing')).to.deep.equal([]);
  });
});

describe('labels of a metric', () => {
  it('are counted, those with most values first', () => {
    const series = [
      { __name__: 'up', job: 'a', host: 'x' },
      { __name__: 'up', job: 'a', host: 'y' },
      { __name__: 'up', job: 'b' },
    ];
    expect(countLabels(series)).to.deep.equal([
      {
        name: 'host',
        values: [
          { value: 'x', count: 1 },
          { value: 'y', count: 1 },
        ],
      },
      {
        name: 'job',
        values: [
          { value: 'a', count: 2 },
          { value: 'b', count: 1 },
        ],
      },
    ]);
  });

  it('are compared with what they were, also those that are gone', () => {
    const [now, before] = [
      new Map([
        ['a', 1],
        ['b', 5],
      ]),
      new Map([
        ['b', 2],
        ['c', 7],
      ]),
    ];
    expect(comparedCounts(now, before)).to.deep.equal([
      { name: 'b', count: 5, before: 2 },
      { name: 'a', count: 1, before: 0 },
      { name: 'c', count: 0, before: 7 },
    ]);
  });

  it('have names that end at the first equals sign', () => {
    expect(pairOf('path=/a?b=c')).to.deep.equal({ name: 'path', value: '/a?b=c' });
  });
});
