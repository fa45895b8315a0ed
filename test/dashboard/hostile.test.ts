import { expect } from 'chai';
import type { Page } from 'playwright-core';

import { needChromium } from '#test/support/browser';
import { eventually } from '#test/support/conditions';
import { Dashboard, expectAccessibleInBothThemes, replaceText } from '#test/support/dashboard';
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

  after(async () => {
    try {
      await dashboard?.closePages();
    } finally {
      await dashboard?.stop();
    }
  });

  const open = async (path: string): Promise<void> =>
    void (await page.goto(`${dashboard.almanac.url}/dashboard/${path}`));
  const q = encodeURIComponent;
  const editor = (name: RegExp) => page.getByRole('textbox', { name });

  const expectText = async (where = ''): Promise<void> => {
    expect(await page.evaluate(FAULTS), where).to.deep.equal([]);
  };

  async function expectHarmless(): Promise<void> {
    await expectText();
    await expectAccessibleInBothThemes(page);
  }

  it('shows tables, columns and rows', async () => {
    for (const name of [MARKUP, LONG, '__proto__']) {
      await open(`tables?t=${q(name)}&tab=constructor`);
      await page.getByRole('rowheader', { name: SCRIPT }).waitFor();
      for (const tab of ['Definition', 'Storage', 'Rows']) {
        await page.getByRole('tab', { name: tab }).click();
        await expectText(`${name} ${tab}`);
      }
    }
    await page.getByRole('grid', { name: 'Newest rows' }).getByRole('gridcell').first().waitFor();
    await page.getByRole('searchbox').fill('onerror');
    await expectHarmless();
  });

  it('shows results as a table, a chart and JSON', async () => {
    await open(`query?q=${q(`SELECT * FROM ${quoted(MARKUP)}`)}`);
    await page.getByRole('gridcell', { name: MARKUP, exact: true }).first().waitFor();
    await expectText();
    for (const view of ['Chart', 'JSON']) {
      await page.getByRole('tab', { name: view }).click();
      await page.getByRole(view === 'JSON' ? 'tab' : 'img', { name: view === 'JSON' ? view : /series/ }).waitFor();
      await expectText(view);
    }
    await open(`query?mode=promql&instant=1&q=${q('constructor')}`);
    await page
      .getByRole('grid', { name: 'Series' })
      .getByRole('gridcell', { name: MARKUP, exact: true })
      .first()
      .waitFor();
    await expectText();
  });

  it('opens a cell of a mebibyte', async () => {
    await open(`query?q=${q(`SELECT text FROM large`)}`);
    await page.getByRole('gridcell').first().dblclick();
    await page.getByRole('dialog').getByText('The first').waitFor();
    await expectHarmless();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.getByRole('tab', { name: 'JSON' }).click();
    await page.getByLabel('Result as JSON').getByText('onerror').waitFor();
    await expectText();
  });

  it('shows errors, tabs and the history of queries', async () => {
    // Query would store its own tabs when it is left.
    await open('config');
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
    await open('query');
    await page.getByRole('tablist', { name: 'Queries' }).getByRole('tab', { name: MARKUP }).waitFor();
    await replaceText(
      editor(/^SQL\./),
      `SELECT ${quoted(MARKUP + DIRECTION)} FROM ${quoted(LONG)} WHERE ${quoted(SCRIPT)} = 1`,
    );
    await page.keyboard.press('Control+Enter');
    await page.getByRole('alert').waitFor();
    await expectHarmless();
    await page.getByRole('button', { name: 'History' }).click();
    await page.getByRole('dialog', { name: 'History' }).getByText(MARKUP).first().waitFor();
    await expectHarmless();
  });

  it('shows metrics, labels, buckets and cardinality', async () => {
    for (const metric of ['constructor', '__proto__', 'odd', 'odd_bucket']) {
      await open(`metrics?m=${metric}&by=host`);
      await page
        .getByRole('img', { name: /series/ })
        .first()
        .waitFor();
      await expectText(metric);
    }
    await open(`metrics?m=odd&by=host&f=${q('number!="99"')}`);
    await page
      .getByRole('img', { name: /series/ })
      .first()
      .waitFor();
    await expectText();
    await page.getByRole('tab', { name: 'Labels' }).click();
    await page
      .getByRole('tabpanel')
      .getByText(/^constructor \d/)
      .click();
    await page.getByRole('region', { name: 'Values of constructor' }).getByText(MARKUP).first().waitFor();
    await expectHarmless();
    await open(`metrics?tab=cardinality&sel=${q('{host="' + MARKUP + '"}')}`);
    await page.getByRole('region', { name: 'Metrics by series', exact: true }).waitFor();
    await expectText();
  });

  it('shows lines, fields and their context', async () => {
    await open('logs');
    await page
      .getByRole('button', { name: /^Fields of the line/ })
      .first()
      .waitFor();
    await expectText();
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
    await expectText();
    for (const view of ['table', 'json']) {
      await open(`logs?view=${view}`);
      const role = view === 'table' ? 'gridcell' : 'listitem';
      await page.getByRole('main').getByRole(role).filter({ hasText: 'onerror' }).first().waitFor();
      await expectText(view);
    }
    await open('logs?live=1');
    await page.getByRole('button', { name: 'Live' }).waitFor();
    await eventually(async () => {
      // Lines that are written before the tail is connected are not sent.
      await writeHostileLogs(dashboard.almanac);
      return (await page.getByRole('listitem').filter({ hasText: 'onerror' }).count()) > 0;
    });
    await expectText();
  });

  it('shows traces, spans and attributes', async () => {
    await open(`traces?service=${q(MARKUP)}`);
    await page.getByRole('img', { name: /^1 trace/ }).waitFor();
    await expectText();
    await open(`traces?id=${HOSTILE_TRACE_ID}&span=${'2'.padStart(16, '0')}`);
    await page.getByRole('treeitem').nth(10).waitFor();
    for (const tab of [/^Events/, /^Resource/, /^Logs/, /^Attributes/]) {
      await page.getByRole('tab', { name: tab }).click();
      await expectText(String(tab));
    }
    await page.getByRole('rowheader', { name: MARKUP }).first().waitFor();
    await expectHarmless();
  });

  it('shows pipelines, and what was pasted', async () => {
    await open('pipelines');
    const text = `description: ${JSON.stringify(MARKUP + DIRECTION)}\nprocessors:\n  - ${JSON.stringify(SCRIPT)}: {}\n`;
    await replaceText(editor(/^Pipeline in YAML/), text);
    await page.getByLabel(/^Samples:/).fill(VALUES.join('\n'));
    await page
      .getByText(/script/)
      .last()
      .waitFor();
    await page.getByRole('alert').first().waitFor();
    await expectText();
    await page.getByLabel('Name').fill(MARKUP);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').nth(1).waitFor();
    const named = await dashboard.almanac.post(`/v1/pipelines/${q(MARKUP)}`, 'transform: [{field: n, type: int32}]', {
      'content-type': 'application/x-yaml',
    });
    await open(`pipelines?name=${q(MARKUP)}`);
    if (named.status === 200) {
      await page.getByRole('region', { name: 'Versions' }).getByRole('listitem').first().waitFor();
    }
    await open('ingest?kind=lines');
    await page.getByLabel('Lines', { exact: true }).fill(`${MARKUP}\n${BREAKOUT}${LONG} v=<b>`);
    await page.getByRole('button', { name: 'Write' }).click();
    await page.getByRole('alert').filter({ hasText: 'Not stored' }).waitFor();
    await expectHarmless();
  });

  it('shows what runs, what was slow and where tables are stored', async () => {
    const sql = `SELECT sum(a.number) AS ${quoted(MARKUP + LONG.slice(0, 200))}, '${SCRIPT}${EMOJI}' FROM numbers a, numbers b, numbers c`;
    await dashboard.almanac.rows(sql);
    const stored = "SELECT count(*) FROM almanac_private.slow_queries WHERE query LIKE '%numbers c%'";
    await eventually(async () => Number((await dashboard.almanac.rows(stored))[0][0]) > 0);
    await open('queries?tab=slow');
    await page.getByRole('table', { name: 'Slow queries' }).locator('summary', { hasText: 'onerror' }).first().click();
    await expectText();
    await open('cluster');
    await page
      .getByRole('grid', { name: 'Regions' })
      .getByRole('gridcell', { name: MARKUP, exact: true })
      .first()
      .waitFor();
    await expectHarmless();
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
      'users',
      'flows',
      'dashboards',
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
      'd',
      'edit',
      'flow',
      'var-a',
    );
    const values = [MARKUP, 'constructor', '__proto__', CONTROL];
    for (const [i, screen] of screens.entries()) {
      for (const value of [MARKUP, values[i % values.length]]) {
        await open(`${screen}?${new URLSearchParams(names.map((name): [string, string] => [name, value])).toString()}`);
        await page.getByRole('main').getByRole('heading', { level: 1 }).waitFor({ state: 'attached' });
        await page.getByRole('main').locator('.screen').waitFor();
        await expectText(screen);
      }
    }
  });
});
