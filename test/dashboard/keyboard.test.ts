import { randomUUID } from 'node:crypto';

import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';

import { needChromium } from '#test/support/browser';
import { eventually } from '#test/support/conditions';
import { Dashboard } from '#test/support/dashboard';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
/** More places than any screen has. */
const TABS_MAX = 150;

/** Runs in the page. */
function hasFocus(element: { matches(selector: string): boolean }): boolean {
  return element.matches(':focus');
}

/** The dashboard from the first line to a killed query, without a mouse. */
describe('the dashboard by keyboard alone', function () {
  this.timeout(180_000);
  let dashboard: Dashboard;
  let page: Page;

  before(needChromium);

  before(async () => {
    dashboard = await Dashboard.start();
    page = await dashboard.open('');
    await page.getByText('ready', { exact: true }).waitFor();
  });

  after(async () => {
    await dashboard?.closePages();
    await dashboard?.stop();
  });

  /** Presses Tab until something has the focus. */
  async function tabTo(target: Locator): Promise<void> {
    await target.waitFor();
    for (let i = 0; i < TABS_MAX; i++) {
      if (await target.evaluate(hasFocus)) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`${String(target)} cannot be reached by Tab`);
  }

  const press = async (target: Locator, key = 'Enter'): Promise<void> => {
    await tabTo(target);
    await page.keyboard.press(key);
  };

  async function typeOver(target: Locator, text: string): Promise<void> {
    await tabTo(target);
    await page.keyboard.press('Control+a');
    await page.keyboard.type(text);
  }

  it('writes rows', async () => {
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    await press(page.getByRole('tab', { name: 'Line protocol' }));
    const nowNs = BigInt(Date.now()) * 1_000_000n;
    const lines = Array.from({ length: 20 }, (_, i) => `walk,host=a v=${i} ${nowNs - BigInt(i) * 60_000_000_000n}`);
    await typeOver(page.getByLabel('Lines', { exact: true }), lines.join('\n'));
    await press(page.getByRole('button', { name: 'Write' }));
    await page.getByText('20 lines were stored.').waitFor();
    expect(await dashboard.almanac.rows('SELECT count(*) FROM walk')).to.deep.equal([[20]]);
  });

  it('queries them, draws a chart and zooms into it', async () => {
    await page.keyboard.press('g');
    await page.keyboard.press('q');
    await typeOver(page.getByRole('textbox', { name: /^SQL\./ }), 'SELECT almanac_timestamp, v FROM walk');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+Enter');
    await page.getByText(/^20 rows in/).waitFor();
    await page.keyboard.press('Escape');
    await press(page.getByRole('tab', { name: 'Chart' }));
    const chart = page.getByRole('img', { name: /^1 series/ });
    const whole = await chart.getAttribute('aria-label');
    await press(chart, '+');
    await eventually(async () => (await chart.getAttribute('aria-label')) !== whole);
    // All screens keep the range, which has no newer lines.
    await page.goBack();
    await page.waitForURL((url) => !url.searchParams.has('from'));
  });

  it('keeps the query with a star', async () => {
    await press(page.getByRole('button', { name: 'History' }));
    await press(page.getByRole('button', { name: 'Add a star' }).first());
    await page.getByRole('button', { name: 'Remove the star' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'History' }).waitFor({ state: 'hidden' });
  });

  it('finds a log line and opens its trace', async () => {
    const nowNs = BigInt(Date.now()) * 1_000_000n;
    const values = [[String(nowNs), `payment refused trace_id=${TRACE_ID}`]];
    const logs = JSON.stringify({ streams: [{ stream: { app: 'shop' }, values }] });
    const json = { 'content-type': 'application/json' };
    expect((await dashboard.almanac.post('/v1/loki/api/v1/push', logs, json)).status).to.equal(204);
    const span = {
      traceId: TRACE_ID,
      spanId: '1112131415161718',
      name: 'charge the card',
      kind: 2,
      startTimeUnixNano: String(nowNs),
      endTimeUnixNano: String(nowNs + 5_000_000n),
    };
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] };
    const spans = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] });
    const sent = await dashboard.almanac.post('/v1/otlp/v1/traces', spans, {
      ...json,
      'x-greptime-pipeline-name': 'greptime_trace_v1',
    });
    expect(sent.status, sent.text).to.equal(200);
    await page.keyboard.press('g');
    await page.keyboard.press('l');
    await page.getByRole('heading', { name: 'Logs' }).waitFor();
    const search = page.getByRole('searchbox', { name: 'Search', exact: true });
    await search.waitFor();
    await page.keyboard.press('/');
    expect(await search.evaluate(hasFocus)).to.equal(true);
    await page.keyboard.type('refused');
    await page.keyboard.press('Enter');
    await page.getByText('payment').first().waitFor();
    await press(page.getByRole('button', { name: /^Fields of the line at/ }).first());
    await press(page.getByRole('main').getByRole('link', { name: /trace/i }).first());
    await page.getByText('charge the card').first().waitFor();
    expect(page.url()).to.contain(`id=${TRACE_ID}`);
  });

  it('kills a query', async () => {
    const id = randomUUID();
    const sql =
      'SELECT count(*) FROM generate_series(1, 300000) a(x), generate_series(1, 300000) b(y) WHERE x * y % 7 = 3';
    const running = dashboard.almanac.post('/v1/sql', sql, {
      'content-type': 'application/sql',
      'x-almanac-query-id': id,
    });
    await page.keyboard.press('g');
    await page.keyboard.press('u');
    await press(page.getByRole('button', { name: `Kill query ${id}` }));
    await press(page.getByRole('dialog').getByRole('button', { name: 'Kill', exact: true }));
    expect((await running).status).to.not.equal(200);
  });
});
