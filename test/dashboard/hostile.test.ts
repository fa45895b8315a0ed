import { expect } from 'chai';
import type { Page } from 'playwright-core';

import { needChromium } from '#test/support/browser';
import { eventually } from '#test/support/conditions';
import { Dashboard, expectAccessibleInBothThemes } from '#test/support/dashboard';
import {
  BREAKOUT,
  CONTROL,
  DIRECTION,
  EMOJI,
  HOSTILE_TRACE_ID,
  LONG,
  MARKUP,
  quoted,
  SCRIPT,
  VALUES,
  writeHostileData,
  writeHostileLogs,
} from '#test/support/hostile-data';

/** Runs in each page before its own scripts: a text that is executed calls it. */
const ATTACK = 'window.attack = () => { window.attacks = (window.attacks ?? 0) + 1; }';

/** Runs in the page. @returns what a text has become other than text, and what is wider than the page. */
const FAULTS = `(() => {
  const faults = [];
  const look = (root) => {
    for (const element of root.querySelectorAll('*')) {
      const handler = [...element.attributes].find(({ name }) => name.startsWith('on'));
      if (handler !== undefined) faults.push('a handler: ' + handler.name);
      if (/^(script|img|iframe|object|embed)$/i.test(element.tagName) && !element.src?.includes('/assets/')) {
        faults.push('an element: ' + element.outerHTML.slice(0, 100));
      }
      if (/^(javascript|data):/i.test(element.getAttribute('href') ?? '')) faults.push('a link: ' + element.href);
      if (element.shadowRoot) look(element.shadowRoot);
    }
  };
  look(document);
  if (window.attacks) faults.push(window.attacks + ' attacks');
  const excess = document.documentElement.scrollWidth - innerWidth;
  if (excess > 0) faults.push('wider than the page by ' + excess);
  return faults;
})()`;

describe('the dashboard with hostile texts', function () {
  this.timeout(180_000);
  let dashboard: Dashboard;
  let page: Page;

  before(needChromium);

  before(async () => {
    dashboard = await Dashboard.start({ ALMANAC_STANDALONE__SLOW_QUERY__THRESHOLD: '1ms' });
    await writeHostileData(dashboard.almanac);
    page = await dashboard.open('ingest');
    await page.addInitScript(ATTACK);
    page.on('dialog', () => expect.fail('a text was executed'));
  });

  afterEach(() => expectHarmless());

  after(async () => {
    await dashboard?.closePages();
    await dashboard?.stop();
  });

  const open = async (path: string): Promise<void> =>
    void (await page.goto(`${dashboard.almanac.url}/dashboard/${path}`));
  const q = encodeURIComponent;
  const editor = (name: RegExp) => page.getByRole('textbox', { name });

  async function expectHarmless(): Promise<void> {
    expect(await page.evaluate(FAULTS)).to.deep.equal([]);
    await expectAccessibleInBothThemes(page);
  }

  it('shows tables, columns and rows', async () => {
    for (const name of [MARKUP, LONG, '__proto__', 'constructor']) {
      for (const tab of ['schema', 'rows', 'storage', 'ddl', 'constructor']) {
        await open(`tables?t=${q(name)}&tab=${tab}`);
        await page.getByRole('article').getByRole('heading', { level: 2 }).waitFor();
        expect(await page.evaluate(FAULTS), `${name} ${tab}`).to.deep.equal([]);
      }
    }
    await open(`tables?t=${q(MARKUP)}&tab=rows`);
    await page.getByRole('grid', { name: 'Newest rows' }).getByRole('gridcell').first().waitFor();
    await expectHarmless();
    await page.getByRole('tab', { name: 'Columns' }).click();
    await page.getByRole('rowheader', { name: SCRIPT }).waitFor();
    await page.getByRole('searchbox').fill('onerror');
  });

  it('shows results as a table, a chart and JSON', async () => {
    await open(`query?q=${q(`SELECT * FROM ${quoted(MARKUP)}`)}`);
    await page.getByRole('gridcell', { name: MARKUP, exact: true }).first().waitFor();
    await expectHarmless();
    for (const view of ['Chart', 'JSON']) {
      await page.getByRole('tab', { name: view }).click();
      await page.getByRole(view === 'JSON' ? 'tab' : 'img', { name: view === 'JSON' ? view : /series/ }).waitFor();
      await expectHarmless();
    }
    await open(`query?mode=promql&instant=1&q=${q('constructor')}`);
    await page
      .getByRole('grid', { name: 'Series' })
      .getByRole('gridcell', { name: MARKUP, exact: true })
      .first()
      .waitFor();
  });

  it('opens a cell of a mebibyte', async () => {
    await open(`query?q=${q(`SELECT ${quoted(SCRIPT)} FROM ${quoted('constructor')}`)}`);
    await page.getByRole('gridcell').first().dblclick();
    await page.getByRole('dialog').getByText('The first').waitFor();
    await expectHarmless();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.getByRole('tab', { name: 'JSON' }).click();
    await page.getByLabel('Result as JSON').getByText('onerror').waitFor();
  });

  it('shows errors, tabs and the history of queries', async () => {
    await open('query');
    const tabs = [MARKUP, LONG].map((name, i) => ({
      id: i + 1,
      name,
      mode: 'sql',
      sql: SCRIPT,
      promql: '',
      view: 'table',
    }));
    await page.evaluate(
      `localStorage.setItem('almanac/query-tabs', ${JSON.stringify(JSON.stringify({ tabs, activeId: 1 }))})`,
    );
    await page.reload();
    await page.getByRole('tablist', { name: 'Queries' }).getByRole('tab', { name: MARKUP }).waitFor();
    await editor(/^SQL\./).fill(
      `SELECT ${quoted(MARKUP + DIRECTION)} FROM ${quoted(LONG)} WHERE ${quoted(SCRIPT)} = 1`,
    );
    await page.keyboard.press('Control+Enter');
    await page.getByRole('alert').waitFor();
    await expectHarmless();
    await page.getByRole('button', { name: 'History' }).click();
    await page.getByRole('dialog', { name: 'History' }).getByText(MARKUP).first().waitFor();
  });

  it('shows metrics, labels, buckets and cardinality', async () => {
    for (const metric of ['constructor', '__proto__', 'odd', 'odd_bucket']) {
      await open(`metrics?m=${metric}&by=host`);
      await page
        .getByRole('img', { name: /series/ })
        .first()
        .waitFor();
      expect(await page.evaluate(FAULTS), metric).to.deep.equal([]);
    }
    await open(`metrics?m=odd&by=host&f=${q('number!="99"')}`);
    await page
      .getByRole('img', { name: /series/ })
      .first()
      .waitFor();
    await expectHarmless();
    await page.getByRole('tab', { name: 'Labels' }).click();
    await page
      .getByText(/^constructor/)
      .first()
      .click();
    await page.getByRole('region', { name: 'Values of constructor' }).getByText(MARKUP).first().waitFor();
    await expectHarmless();
    await open(`metrics?tab=cardinality&sel=${q('{host="' + MARKUP + '"}')}`);
    await page.getByRole('region', { name: 'Metrics by series', exact: true }).waitFor();
  });

  it('shows lines, fields and their context', async () => {
    await open('logs');
    await page
      .getByRole('button', { name: /^Fields of the line/ })
      .first()
      .waitFor();
    await expectHarmless();
    await open(`logs?s=${q('SUM')}`);
    await page.getByRole('button', { name: 'constructor', exact: true }).click();
    await page
      .getByRole('button', { name: /^Fields of the line/ })
      .first()
      .click();
    await page.getByRole('button', { name: 'Show context' }).waitFor();
    await expectHarmless();
    await page.getByRole('button', { name: 'Show context' }).click();
    await page.getByRole('region', { name: 'Context of a line' }).getByRole('listitem').nth(5).waitFor();
    await expectHarmless();
    for (const view of ['table', 'json']) {
      await open(`logs?view=${view}`);
      await page.getByRole('main').getByText('onerror').first().waitFor();
      await expectHarmless();
    }
    await open('logs?live=1');
    await page.getByRole('button', { name: 'Live' }).waitFor();
    await writeHostileLogs(dashboard.almanac);
    await page.getByRole('main').getByText('onerror').first().waitFor();
  });

  it('shows traces, spans and attributes', async () => {
    await open(`traces?service=${q(MARKUP)}`);
    await page.getByRole('img', { name: /^1 trace/ }).waitFor();
    await expectHarmless();
    await open(`traces?id=${HOSTILE_TRACE_ID}&span=${'2'.padStart(16, '0')}`);
    await page.getByRole('treeitem').nth(10).waitFor();
    for (const tab of [/^Events/, /^Resource/, /^Logs/, /^Attributes/]) {
      await page.getByRole('tab', { name: tab }).click();
      expect(await page.evaluate(FAULTS), String(tab)).to.deep.equal([]);
    }
    await page.getByRole('rowheader', { name: MARKUP }).first().waitFor();
  });

  it('shows pipelines, and what was pasted', async () => {
    await open('pipelines');
    const text = `description: ${JSON.stringify(MARKUP + DIRECTION)}\nprocessors:\n  - ${JSON.stringify(SCRIPT)}: {}\n`;
    await editor(/^Pipeline in YAML/).fill(text);
    await page.getByLabel(/^Samples:/).fill(VALUES.join('\n'));
    await page
      .getByText(/script/)
      .last()
      .waitFor();
    await page.getByRole('alert').first().waitFor();
    await expectHarmless();
    await page.getByLabel('Name').fill(MARKUP);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').nth(1).waitFor();
    const named = await dashboard.almanac.post(`/v1/pipelines/${q(MARKUP)}`, 'transform: [{field: n, type: int32}]', {
      'content-type': 'application/x-yaml',
    });
    await open(`pipelines?name=${q(MARKUP)}`);
    if (named.status === 200)
      {await page.getByRole('region', { name: 'Versions' }).getByRole('listitem').first().waitFor();}
    await open('ingest?kind=lines');
    await page.getByLabel('Lines', { exact: true }).fill(`${MARKUP}\n${BREAKOUT}${LONG} v=<b>`);
    await page.getByRole('button', { name: 'Write' }).click();
    await page
      .getByRole('alert')
      .getByText(/^line 2: /)
      .waitFor();
  });

  it('shows what runs, what was slow and where tables are stored', async () => {
    const sql = `SELECT sum(a.number) AS ${quoted(MARKUP + LONG.slice(0, 200))}, '${SCRIPT}${EMOJI}' FROM numbers a, numbers b, numbers c`;
    await dashboard.almanac.rows(sql);
    const stored = "SELECT count(*) FROM almanac_private.slow_queries WHERE query LIKE '%numbers c%'";
    await eventually(async () => Number((await dashboard.almanac.rows(stored))[0][0]) > 0);
    await open('queries?tab=slow');
    await page.getByRole('table', { name: 'Slow queries' }).locator('summary', { hasText: 'onerror' }).first().click();
    await expectHarmless();
    await open('cluster');
    await page
      .getByRole('grid', { name: 'Regions' })
      .getByRole('gridcell', { name: MARKUP, exact: true })
      .first()
      .waitFor();
  });

  it('shows what its address says', async () => {
    const screens = [
      'query',
      'metrics',
      'logs',
      'traces',
      'tables',
      'pipelines',
      'ingest',
      'cluster',
      'queries',
      'profiles',
      'config',
    ];
    const names = [
      'db',
      'q',
      'mode',
      'view',
      'm',
      'f',
      'by',
      'sel',
      't',
      's',
      'cols',
      'row',
      'at',
      'stream',
      'id',
      'span',
    ];
    names.push(
      'service',
      'op',
      'tags',
      'min',
      'max',
      'zoom',
      'find',
      'name',
      'version',
      'user',
      'sort',
      'node',
      'kind',
    );
    names.push(
      'tab',
      'from',
      'to',
      'tz',
      'refresh',
      'step',
      'y',
      'unit',
      'off',
      'seconds',
      'limit',
      'order',
      'g0.expr',
    );
    for (const [i, value] of [MARKUP, 'constructor', '__proto__', CONTROL].entries()) {
      const query = new URLSearchParams(names.map((name): [string, string] => [name, value])).toString();
      for (const screen of screens) {
        await open(`${screen}?${query}`);
        await page.getByRole('main').getByRole('heading', { level: 1 }).waitFor({ state: 'attached' });
        expect(await page.evaluate(FAULTS), screen).to.deep.equal([]);
        if (i === 0) await expectHarmless();
      }
    }
  });
});
