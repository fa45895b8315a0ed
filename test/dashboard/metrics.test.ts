import { expect } from 'chai';
import type { Page } from 'playwright-core';

import { needChromium } from '#test/support/browser';
import { eventually } from '#test/support/conditions';
import { Dashboard, expectAccessible, expectAccessibleInBothThemes } from '#test/support/dashboard';
import { HOSTILE_TEXTS, writeSeries, type WrittenSeries } from '#test/support/dashboard-metrics';

const FROM_MS = Date.parse('2026-11-21T12:00:00Z');
const TO_MS = FROM_MS + 3_600_000;
const RANGE = `from=${FROM_MS}&to=${TO_MS}&tz=UTC`;
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const [COUNTER, GAUGE, HISTOGRAM] = [1, 2, 3];
const LATENCY_EXEMPLARS = [
  { labels: { note: HOSTILE_TEXTS.markup }, value: 0.2, timestamp: FROM_MS + 900_000 },
  { labels: { trace_id: TRACE_ID }, value: 0.7, timestamp: FROM_MS + 1_800_000 },
];
/** Enough for every chart but the one of too many samples. */
const SAMPLES_MAX = 100_000;

describe('the Metrics screen', function () {
  this.timeout(120_000);
  let dashboard: Dashboard;

  before(needChromium);

  before(async () => {
    dashboard = await Dashboard.start({ ALMANAC_PROMQL__MAX_SAMPLES: String(SAMPLES_MAX) });
    const seconds = (ms: number): number => (ms - FROM_MS) / 1000;
    const series: WrittenSeries[] = [];
    for (const job of ['api', 'web']) {
      for (const code of ['200', '404', '500']) {
        series.push({ labels: { __name__: 'http_requests_total', job, code }, value: (ms) => seconds(ms) * 2 });
      }
      series.push({ labels: { __name__: 'memory_bytes', job }, value: () => (job === 'api' ? 1024 : 3072) });
      for (const [le, share] of Object.entries({ '0.1': 0.5, '1': 0.9, '+Inf': 1 })) {
        const exemplars = job === 'api' && le === '1' ? LATENCY_EXEMPLARS : [];
        const labels = { __name__: 'latency_seconds_bucket', job, le };
        series.push({ labels, value: (ms) => seconds(ms) * share, exemplars });
      }
    }
    series.push(
      ...Object.values(HOSTILE_TEXTS).map((text) => ({ labels: { __name__: 'odd', label: text }, value: () => 1 })),
    );
    const metadata = [
      { type: COUNTER, metric_family_name: 'http_requests_total', help: 'Requests by status.', unit: '' },
      { type: GAUGE, metric_family_name: 'memory_bytes', help: HOSTILE_TEXTS.markup, unit: 'bytes' },
      { type: HISTOGRAM, metric_family_name: 'latency_seconds', help: 'How long requests take.', unit: 'seconds' },
    ];
    await writeSeries(dashboard.almanac, series, { fromMs: FROM_MS, toMs: TO_MS, stepMs: 15_000 }, metadata);
    const wide = Array.from({ length: 1200 }, (_, i) => ({
      labels: { __name__: 'wide', host: `host-${i}` },
      value: () => i,
    }));
    await writeSeries(dashboard.almanac, wide, { fromMs: FROM_MS, toMs: TO_MS, stepMs: 30_000 });
  });

  afterEach(() => dashboard.closePages());

  after(() => dashboard?.stop());

  const option = (page: Page, name: string) => page.getByRole('option', { name });
  const parameterOf = (page: Page, name: string): string | null => new URL(page.url()).searchParams.get(name);
  /** What the Prometheus API replies for the database of the tests. */
  const data = async <T>(path: string): Promise<T> => {
    const { text } = await dashboard.almanac.get(`/v1/prometheus/api/v1/${path}`);
    return (JSON.parse(text) as { data: T }).data;
  };

  it('lists metrics with type, help and number of series, and finds them by words in any order', async () => {
    const page = await dashboard.open(`metrics?${RANGE}`);
    const names = await data<string[]>('label/__name__/values');
    await page.getByText(`${names.length} metrics`, { exact: true }).waitFor();
    expect(await option(page, 'http_requests_total').textContent()).to.equal(
      'http_requests_total6Requests by status.counter',
    );
    await page.getByRole('searchbox', { name: 'Search metrics' }).fill('status requests');
    await page.getByText(`1 of ${names.length} metrics`, { exact: true }).waitFor();
    await page.getByRole('searchbox', { name: 'Search metrics' }).fill('no such metric');
    await page.getByText('No metric has these words.').waitFor();
  });

  it('charts a counter as the sum of its rates', async () => {
    const page = await dashboard.open(`metrics?${RANGE}`);
    await option(page, 'http_requests_total').click();
    await page.getByRole('img', { name: /^1 series, 2026-11-21 12:00 to 13:00, highest \{\} 12\/s$/ }).waitFor();
    expect(parameterOf(page, 'm')).to.equal('http_requests_total');
    await page.getByRole('tabpanel').getByText('Queries').click();
    await page.getByRole('textbox', { name: 'Minimum' }).fill('-5');
    await page.keyboard.press('Enter');
    await eventually(() => parameterOf(page, 'min') === '-5');
    await page.getByRole('link', { name: 'sum(rate(http_requests_total[300s]))' }).click();
    expect(new URL(page.url()).pathname).to.equal('/dashboard/query');
    expect(parameterOf(page, 'q')).to.equal('sum(rate(http_requests_total[300s]))');
  });

  it('charts a gauge as its average and extremes, in its unit', async () => {
    const page = await dashboard.open(`metrics?m=memory_bytes&${RANGE}`);
    await page.getByRole('img', { name: /^3 series, .* highest max 3 KiB$/ }).waitFor();
    const legend = page.getByRole('grid', { name: 'Series of memory_bytes' });
    const average = await legend.getByRole('row', { name: 'avg' }).last().getByRole('gridcell').allTextContents();
    expect(average[1]).to.equal('2 KiB');
    await page.getByLabel('Unit').selectOption('short');
    await page.getByRole('img', { name: /highest max 3.072k$/ }).waitFor();
    expect(parameterOf(page, 'unit')).to.equal('short');
  });

  it('charts a histogram as quantiles and the number of observations', async () => {
    const page = await dashboard.open(`metrics?m=latency_seconds_bucket&${RANGE}`);
    await page.getByRole('img', { name: /^3 series, .* highest p95 1 s$/ }).waitFor();
    await page.getByRole('img', { name: /^1 series, .* highest \{\} 2\/s$/ }).waitFor();
    const legend = page.getByRole('grid', { name: /^Series of quantiles/ });
    await legend.getByRole('row', { name: 'p50' }).waitFor();
  });

  it('marks exemplars, which open their traces, in ranges up to a day', async () => {
    const page = await dashboard.open(`metrics?m=latency_seconds_bucket&${RANGE}`);
    const chart = page.getByRole('figure', { name: /^quantiles of/ });
    await chart.getByText('2 exemplars', { exact: true }).click();
    const rows = chart.getByRole('region', { name: 'Exemplars' }).getByRole('row');
    await rows.filter({ hasText: HOSTILE_TEXTS.markup }).getByText('200 ms').waitFor();
    const link = rows.filter({ hasText: '700 ms' }).getByRole('link', { name: 'Open trace 0af76519…' });
    expect(await link.getAttribute('href')).to.match(new RegExp(`/dashboard/traces\\?.*id=${TRACE_ID}`));
    await expectAccessibleInBothThemes(page);
    const box = await chart.locator('.u-over').boundingBox();
    expect(box).to.not.equal(null);
    if (box === null) return;
    // The diamond is in the middle of the range, at a height that depends on the axis.
    let found = false;
    for (let y = 4; y < box.height && !found; y += 6) {
      await page.mouse.move(box.x + box.width / 2, box.y + y);
      found = (await chart.getByText(`trace_id="${TRACE_ID}"`).count()) > 1;
    }
    expect(found).to.equal(true);
    await page.mouse.down();
    await page.mouse.up();
    await eventually(() => parameterOf(page, 'id') === TRACE_ID);
    expect(new URL(page.url()).pathname).to.equal('/dashboard/traces');
    const query = encodeURIComponent('sum(rate(latency_seconds_bucket[5m]))');
    await page.goto(`${dashboard.almanac.url}/dashboard/query?mode=promql&view=chart&q=${query}&${RANGE}`);
    await page.getByText('2 exemplars', { exact: true }).click();
    // A chart of rates has no place for seconds.
    await page.getByRole('region', { name: 'Exemplars' }).getByRole('cell', { name: '0.7', exact: true }).waitFor();
    const calls: string[] = [];
    page.on('request', (request) => calls.push(request.url()));
    await page.goto(
      `${dashboard.almanac.url}/dashboard/metrics?m=latency_seconds_bucket&from=${TO_MS - 90_000_000}&to=${TO_MS}`,
    );
    await page.getByRole('img', { name: /^3 series, / }).waitFor();
    expect(calls.filter((url) => url.endsWith('/query_range'))).to.have.length.greaterThan(0);
    expect(calls.filter((url) => url.endsWith('/query_exemplars'))).to.deep.equal([]);
  });

  it('shows labels with the numbers of their values, which become filters', async () => {
    const page = await dashboard.open(`metrics?m=http_requests_total&tab=labels&${RANGE}`);
    await page.getByText('6 series', { exact: false }).first().waitFor();
    await page.getByText('code 3 values').click();
    const values = page.getByRole('region', { name: 'Values of code' });
    expect(await values.getByRole('row').nth(1).textContent()).to.match(/^200.*2.*33.33 %/);
    await values.getByRole('button', { name: 'Only code = 500' }).click();
    await page.getByRole('button', { name: 'Remove code="500"' }).waitFor();
    expect(parameterOf(page, 'f')).to.equal('code="500"');
    await page.getByText('job 2 values').click();
    await page.getByRole('button', { name: 'Without job = web' }).click();
    await eventually(() => parameterOf(page, 'f') === 'code="500", job!="web"');
    await page.getByRole('tab', { name: 'Charts' }).click();
    await page.getByRole('img', { name: /highest \{\} 2\/s$/ }).waitFor();
    await page.getByRole('button', { name: 'Remove code="500"' }).click();
    await page.getByRole('img', { name: /highest \{\} 6\/s$/ }).waitFor();
  });

  it('adds a filter by hand, and splits charts by a label', async () => {
    const page = await dashboard.open(`metrics?m=http_requests_total&${RANGE}`);
    const form = page.getByRole('form', { name: 'Add a filter' });
    await form.getByLabel('Label').selectOption('code');
    await form.getByLabel('Operator').selectOption('!=');
    await form.getByLabel('Value').fill('404');
    await page.keyboard.press('Enter');
    await page.getByRole('img', { name: /highest \{\} 8\/s$/ }).waitFor();
    await page.getByLabel('Split by').selectOption('job');
    await page.getByRole('img', { name: /^2 series, .* highest \{job="api"\} 4\/s$/ }).waitFor();
    expect([parameterOf(page, 'f'), parameterOf(page, 'by')]).to.deep.equal(['code!="404"', 'job']);
  });

  it('ignores filters that cannot be read, and says so', async () => {
    const page = await dashboard.open(`metrics?m=http_requests_total&f=code~%22x%22&${RANGE}`);
    await page.getByText('The filters in the address cannot be read').waitFor();
    await page.getByRole('img', { name: /highest \{\} 12\/s$/ }).waitFor();
  });

  it('shows what series consist of, with links to narrower views', async () => {
    const page = await dashboard.open(`metrics?tab=cardinality&${RANGE}`);
    const { headStats } = await data<{ headStats: { numSeries: number } }>('status/tsdb');
    const total = String(headStats.numSeries).replace(/\B(?=(\d{3})+$)/g, '\u202f');
    await page.getByText(`${total} series`).waitFor();
    const metrics = page.getByRole('region', { name: 'Metrics by series', exact: true });
    expect(await metrics.getByRole('row').nth(1).textContent()).to.match(/^wide1\u202f200\d/);
    const labels = page.getByRole('region', { name: 'Labels by values', exact: true });
    await labels.getByRole('link', { name: 'host', exact: true }).waitFor();
    await metrics.getByRole('link', { name: 'http_requests_total' }).click();
    await page.getByRole('img', { name: /highest \{\} 12\/s$/ }).waitFor();
  });

  it('counts the series that are active at the end of the range, compared with the day before', async () => {
    const page = await dashboard.open(`metrics?tab=cardinality&${RANGE}`);
    await page.getByRole('textbox', { name: 'Selector' }).fill('{job="api"}');
    await page.getByRole('button', { name: 'Count' }).click();
    const table = page.getByRole('region', { name: 'Table of active series' });
    await table.getByRole('row').nth(3).waitFor();
    const rows = await table.getByRole('row').allTextContents();
    expect(rows[1]).to.match(/^http_requests_total3\+342.86 %$/);
    expect(parameterOf(page, 'sel')).to.equal('{job="api"}');
  });

  it('is used by keys alone', async () => {
    const page = await dashboard.open(`query?${RANGE}`);
    await page.getByRole('heading', { name: 'Query' }).waitFor({ state: 'attached' });
    await page.locator('body').press('g');
    await page.keyboard.press('m');
    const search = page.getByRole('searchbox', { name: 'Search metrics' });
    await search.waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('bytes');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'memory_bytes' }).waitFor();
    await page.getByRole('tab', { name: 'Charts' }).focus();
    await page.keyboard.press('ArrowRight');
    expect(parameterOf(page, 'tab')).to.equal('labels');
  });

  it('works on the public listener', async () => {
    const options = { isPublic: true, allowedErrors: /status of 404/ };
    const page = await dashboard.open(`metrics?m=http_requests_total&${RANGE}`, options);
    await page.getByRole('img', { name: /highest \{\} 12\/s$/ }).waitFor();
    await page.getByRole('tab', { name: 'Cardinality' }).click();
    await page.getByRole('region', { name: 'Metrics by series', exact: true }).waitFor();
  });

  for (const theme of ['light', 'dark'] as const) {
    it(`has no state that axe objects to in the ${theme} theme`, async () => {
      const page = await dashboard.open(`metrics?m=http_requests_total&by=code&${RANGE}`, { theme });
      await page.getByRole('img', { name: /^3 series/ }).waitFor();
      await expectAccessible(page);
      await page.getByRole('tab', { name: 'Labels' }).click();
      await page.getByText('code 3 values').click();
      await expectAccessible(page);
      await page.getByRole('tab', { name: 'Cardinality' }).click();
      await page.getByRole('region', { name: 'Metrics by series', exact: true }).waitFor();
      await expectAccessible(page);
    });

    it(`says what to do in an empty database in the ${theme} theme`, async () => {
      await dashboard.almanac.rows('CREATE DATABASE IF NOT EXISTS nothing_here');
      const page = await dashboard.open(`metrics?db=nothing_here&${RANGE}`, { theme });
      await page.getByText('has no metrics yet').waitFor();
      await page.getByText('remote_write:').waitFor();
      await expectAccessible(page);
    });

    it(`shows hostile names as texts in the ${theme} theme`, async () => {
      const page = await dashboard.open(`metrics?m=odd&tab=labels&${RANGE}`, { theme });
      page.on('dialog', () => expect.fail('a name was executed'));
      await page.getByText('label 4 values').click();
      await page.getByRole('button', { name: `Only label = ${HOSTILE_TEXTS.markup}` }).click();
      await page.getByRole('button', { name: /^Remove label="<img/ }).waitFor();
      await page.getByRole('tab', { name: 'Charts' }).click();
      await page.getByRole('img', { name: /^3 series/ }).waitFor();
      await option(page, 'memory_bytes').getByText(HOSTILE_TEXTS.markup).waitFor();
      expect(await page.locator('img[src]').count()).to.equal(0);
      await expectAccessible(page);
    });

    it(`shows the server's message where a chart would be in the ${theme} theme`, async () => {
      const page = await dashboard.open(`metrics?m=wide&${RANGE}`, { theme });
      await page.getByRole('alert').filter({ hasText: 'too many samples' }).waitFor();
      await expectAccessible(page);
      await page.getByRole('tab', { name: 'Labels' }).click();
      await page.getByText('host 1\u202f200 values').waitFor();
    });
  }
});
