import { readFileSync } from 'node:fs';

import { expect } from 'chai';
import type { Page } from 'playwright-core';

import { needChromium } from '#test/support/browser';
import { eventually } from '#test/support/conditions';
import { Dashboard, expectAccessible } from '#test/support/dashboard';

const HOSTILE = '<img src=x onerror=alert(1)>';
const FROM_MS = Date.parse('2026-11-21T12:00:00Z');
const RANGE = `from=${FROM_MS}&to=${FROM_MS + 3_600_000}`;

describe('the Dashboards screen', function () {
  this.timeout(120_000);
  let dashboard: Dashboard;

  before(needChromium);

  before(async () => {
    dashboard = await Dashboard.start();
    const lines = Array.from({ length: 120 }, (_, i) => {
      return `load,host=web-${i % 3} value=${i % 10} ${BigInt(FROM_MS + i * 30_000) * 1_000_000n}`;
    });
    expect((await dashboard.almanac.write(lines.join('\n'))).status).to.equal(204);
  });

  afterEach(() => dashboard.closePages());

  after(() => dashboard?.stop());

  async function stored(name: string): Promise<Record<string, unknown>> {
    const { text } = await dashboard.almanac.get(`/v1/dashboards/${encodeURIComponent(name)}`);
    const [{ definition }] = (JSON.parse(text) as { dashboards: { definition: string }[] }).dashboards;
    return JSON.parse(definition) as Record<string, unknown>;
  }

  async function store(name: string, document: object): Promise<void> {
    const url = `${dashboard.almanac.url}/v1/dashboards/${encodeURIComponent(name)}`;
    const response = await fetch(url, { method: 'POST', body: JSON.stringify({ almanac: 1, ...document }) });
    expect(response.status).to.equal(200);
  }

  const panel = (page: Page, name: string): ReturnType<Page['getByRole']> =>
    page.getByRole('region', { name, exact: true });

  it('makes a dashboard with panels, moves them by keys, and stores it', async () => {
    const page = await dashboard.open(`dashboards?${RANGE}`);
    await page.getByText('A dashboard shows the results of several queries').waitFor();
    await expectAccessible(page);
    await page.getByLabel('New dashboard').fill('Web servers');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('Add the first panel.').waitFor();
    const add = page.getByRole('button', { name: 'Add a panel' });
    const place = await add.boundingBox();
    await add.click();
    await page.getByText('Not saved yet').waitFor();
    // The second half of a double click must not press another button.
    expect(await add.boundingBox()).to.deep.equal(place);
    await add.click();
    const added = panel(page, 'Panel without a title');
    await eventually(async () => (await added.count()) === 2);
    expect((await added.last().boundingBox())?.y).to.equal((await added.first().boundingBox())?.y);
    await added.last().getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Change' }).click();
    const dialog = page.getByRole('dialog', { name: 'Panel' });
    await dialog.getByLabel('Title').fill('Load by host');
    await dialog.getByLabel('Language').selectOption('sql');
    await dialog
      .getByLabel('Query', { exact: true })
      .fill('SELECT almanac_timestamp, host, value FROM load WHERE $__timeFilter(almanac_timestamp)');
    await dialog.getByLabel('Name of the series').fill('{{host}} load');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await panel(page, 'Load by host')
      .getByRole('img', { name: /^3 series/ })
      .waitFor();
    await expectAccessible(page);
    const handle = panel(page, 'Load by host').getByTitle(/^Arrows move/);
    await handle.press('ArrowRight');
    await handle.press('Shift+ArrowDown');
    await page.getByText('Not saved yet').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Not saved yet').waitFor({ state: 'detached' });
    expect((await stored('Web servers'))['panels']).to.deep.equal([
      {
        ...{ title: 'Load by host', type: 'chart', mode: 'sql', x: 1, y: 0, w: 6, h: 9 },
        queries: [
          {
            q: 'SELECT almanac_timestamp, host, value FROM load WHERE $__timeFilter(almanac_timestamp)',
            legend: '{{host}} load',
          },
        ],
      },
    ]);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    for (const undo of [
      () => dialog.getByRole('button', { name: 'Cancel' }).click(),
      () => page.keyboard.press('Escape'),
    ]) {
      await page.getByRole('button', { name: 'Change' }).click();
      await dialog.getByLabel('Title').fill('Something else');
      await page.getByText('Not saved yet').waitFor();
      await undo();
      await panel(page, 'Load by host').waitFor();
      await page.getByText('Not saved yet').waitFor({ state: 'detached' });
    }
    await page.reload();
    await panel(page, 'Load by host').getByText('web-1 load').first().waitFor();
    await expectAccessible(page);
  });

  it('replaces what another user saved only on request', async () => {
    const document = (title: string): object => ({ title, panels: [] });
    await store('shared', document('First'));
    const page = await dashboard.open('dashboards?d=shared&edit=true');
    const title = page.getByLabel('Title', { exact: true });
    const save = page.getByRole('button', { name: 'Save' });
    await title.fill('Mine');
    await store('shared', document('Theirs'));
    await save.click();
    const question = page.getByRole('dialog', { name: 'Replace the stored dashboard?' });
    await question.waitFor();
    await expectAccessible(page);
    await question.getByRole('button', { name: 'Cancel' }).click();
    expect((await stored('shared'))['title']).to.equal('Theirs');
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('heading', { name: 'Theirs' }).waitFor();

    await title.fill('Mine again');
    expect((await fetch(`${dashboard.almanac.url}/v1/dashboards/shared`, { method: 'DELETE' })).status).to.equal(200);
    await save.click();
    await question.getByRole('button', { name: 'Replace' }).click();
    await page.getByText('Not saved yet').waitFor({ state: 'detached' });
    expect((await stored('shared'))['title']).to.equal('Mine again');
  });

  it('draws all kinds of panels in both themes, on the public listener too', async () => {
    const sql = (q: string): object => ({ mode: 'sql', queries: [{ q }] });
    await store('kinds', {
      title: 'All kinds',
      variables: [{ name: 'host', mode: 'sql', query: 'SELECT DISTINCT host FROM load ORDER BY host' }],
      panels: [
        {
          title: 'Newest',
          type: 'stat',
          x: 0,
          y: 0,
          w: 4,
          h: 4,
          ...sql("SELECT max(value) AS top FROM load WHERE host = '$host'"),
        },
        {
          title: 'Rows',
          type: 'table',
          x: 4,
          y: 0,
          w: 8,
          h: 8,
          ...sql("SELECT host, value FROM load WHERE host = '$host' LIMIT 5"),
        },
        { title: 'Note', type: 'text', x: 0, y: 4, w: 4, h: 4, text: `Read this ${HOSTILE}` },
        { title: 'Broken', type: 'chart', x: 0, y: 8, w: 6, h: 6, ...sql('SELECT nothing FROM nowhere') },
        { title: 'Writes', type: 'table', x: 6, y: 8, w: 6, h: 6, ...sql('DROP TABLE load') },
        { title: 'One', type: 'stat', x: 0, y: 14, w: 6, h: 4, mode: 'promql', queries: [{ q: 'vector(41) + 1' }] },
        {
          title: 'Low',
          type: 'chart',
          x: 6,
          y: 14,
          w: 6,
          h: 5,
          ...sql('SELECT almanac_timestamp, host, value FROM load'),
        },
      ],
    });
    for (const theme of ['light', 'dark'] as const) {
      const page = await dashboard.open(`dashboards?d=kinds&${RANGE}`, { theme, isPublic: theme === 'dark' });
      await panel(page, 'Newest').getByText('9', { exact: true }).waitFor();
      await panel(page, 'Rows').getByRole('gridcell', { name: 'web-0' }).first().waitFor();
      await panel(page, 'Note').getByText(HOSTILE).waitFor();
      await panel(page, 'Broken')
        .getByRole('alert')
        .getByText(/nowhere/)
        .waitFor();
      await panel(page, 'Writes').getByText('The statements of a panel may only read.').waitFor();
      await panel(page, 'One').getByText('42', { exact: true }).waitFor();
      const names = panel(page, 'Low').getByRole('list', { name: 'Series of Low' }).getByRole('listitem');
      await eventually(async () => (await names.allTextContents()).join() === 'web-0,web-1,web-2');
      await expectAccessible(page);
    }
    const page = await dashboard.open(`dashboards?d=kinds&${RANGE}`);
    await page.getByLabel('host').selectOption('web-2');
    await panel(page, 'Rows').getByRole('gridcell', { name: 'web-2' }).first().waitFor();
    expect(new URL(page.url()).searchParams.get('var-host')).to.equal('web-2');
    await page.setViewportSize({ width: 700, height: 800 });
    await eventually(async () => (await page.evaluate('document.documentElement.scrollWidth - innerWidth')) === 0);
    expect(await dashboard.almanac.rows('SELECT count(*) FROM load')).to.deep.equal([[120]]);
  });

  it('imports a dashboard of Grafana, and says what it leaves out', async () => {
    const page = await dashboard.open(`dashboards?${RANGE}`);
    await page.getByRole('button', { name: 'Import' }).click();
    const source = {
      title: `Imported ${HOSTILE}`,
      panels: [
        { type: 'stat', title: 'Number', gridPos: { x: 0, y: 0, w: 6, h: 4 }, targets: [{ expr: 'vector(7)' }] },
        { type: 'geomap', title: HOSTILE, targets: [] },
      ],
    };
    await page.getByLabel('Or its text').fill('{');
    await page.getByRole('alert').waitFor();
    await expectAccessible(page);
    const file = { name: 'x.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(source)) };
    await page.getByLabel('File of Grafana, Perses or Almanac').setInputFiles(file);
    await page.getByText('1 panel and 0 variables can be shown.').waitFor();
    await page.getByText(`panel "${HOSTILE}": the type geomap`).waitFor();
    await expectAccessible(page);
    await page.getByLabel('Name', { exact: true }).fill('imported');
    await page.getByRole('button', { name: 'Save' }).click();
    await panel(page, 'Number').getByText('7', { exact: true }).waitFor();
    await page.getByRole('heading', { name: `Imported ${HOSTILE}` }).waitFor();

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'JSON' }).click(),
    ]);
    expect(JSON.parse(readFileSync(await download.path(), 'utf8'))).to.deep.equal(await stored('imported'));
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Import' }).waitFor();
    expect((await dashboard.almanac.get('/v1/dashboards/imported')).status).to.equal(404);
  });

  it('shows what is wrong with a dashboard that it cannot read', async () => {
    await fetch(`${dashboard.almanac.url}/v1/dashboards/odd`, { method: 'POST', body: HOSTILE });
    const page = await dashboard.open('dashboards?d=odd');
    await page.getByText('The dashboard odd is no JSON').waitFor();
    await expectAccessible(page);
    const missing = await dashboard.open('dashboards?d=missing');
    await missing.getByText('There is no dashboard missing.').waitFor();
    const list = await dashboard.open('dashboards');
    await list.getByRole('link', { name: 'odd' }).waitFor();
    await expectAccessible(list);
  });
});
