import { expect } from 'chai';
import type { Page, Route } from 'playwright-core';

import { needChromium } from '#test/support/browser';
import { eventually } from '#test/support/conditions';
import { Dashboard, replaceText } from '#test/support/dashboard';
import { FULL_SCREENS, writeSampleData } from '#test/support/dashboard-data';
import { PrefixProxy } from '#test/support/prefix-proxy';

/** Runs for years. */
const LONG =
  'SELECT count(*) FROM generate_series(1, 300000) a(x), generate_series(1, 300000) b(y) WHERE x * y % 7 = 3';

/** One of each way to load. */
const LOADING_SCREENS = FULL_SCREENS.filter(({ path }) =>
  /^(query\?q|metrics|logs|traces\?id|tables|cluster|queries)/.test(path),
);

const banner = (page: Page) => page.getByRole('alert').filter({ hasText: 'Nothing you typed is lost' });
const editor = (page: Page) => page.getByRole('textbox', { name: /^SQL\./ });
const runningCount = async ({ almanac }: Dashboard): Promise<number> =>
  (JSON.parse((await almanac.get('/v1/queries')).text) as { queries: unknown[] }).queries.length;

describe('the dashboard behind a proxy and without a network', function () {
  this.timeout(120_000);
  let dashboard: Dashboard;
  let proxy: PrefixProxy;

  before(needChromium);

  before(async () => {
    dashboard = await Dashboard.start({ ALMANAC_STANDALONE__SLOW_QUERY__THRESHOLD: '1ms' });
    await writeSampleData(dashboard.almanac);
    await dashboard.almanac.rows('SELECT sum(a.number) FROM numbers a, numbers b, numbers c');
    const stored = "SELECT count(*) FROM almanac_private.slow_queries WHERE query LIKE 'SELECT sum(a.number)%'";
    await eventually(async () => Number((await dashboard.almanac.rows(stored))[0][0]) > 0);
    proxy = await PrefixProxy.open(dashboard.almanac.url);
  });

  afterEach(() => dashboard.closePages());

  after(async () => {
    proxy?.close();
    await dashboard?.stop();
  });

  it('opens every screen below a path prefix, also by its link', async () => {
    const page = await dashboard.open('', { origin: proxy.url });
    const screens = page.getByRole('navigation', { name: 'Screens' }).getByRole('link');
    // The link of the name, and 14 screens.
    await screens.nth(14).waitFor();
    for (const link of await screens.all()) {
      await link.click();
      expect(page.url()).to.equal(new URL((await link.getAttribute('href')) ?? '', page.url()).href);
      expect(page.url()).to.match(new RegExp(`^${proxy.url}/dashboard/[a-z]+$`));
      await page.getByRole('main').getByRole('heading', { level: 1 }).waitFor({ state: 'attached' });
    }
    for (const { path, role, name } of LOADING_SCREENS) {
      await page.goto(`${proxy.url}/dashboard/${path}`);
      await page.getByRole('main').getByRole(role, { name }).first().waitFor();
    }
    await page.reload();
    const { path, role, name } = LOADING_SCREENS[LOADING_SCREENS.length - 1];
    expect(page.url()).to.equal(`${proxy.url}/dashboard/${path}`);
    await page.getByRole(role, { name }).first().waitFor();
  });

  it('redirects to its page below a path prefix, and shows addresses of the proxy', async () => {
    const page = await dashboard.open('', { origin: proxy.url });
    await page.goto(`${proxy.url}/dashboard`);
    expect(page.url()).to.equal(`${proxy.url}/dashboard/`);
    await page.goto(`${proxy.url}/dashboard/ingest`);
    const settings = await page.getByRole('region', { name: 'Prometheus' }).locator('pre').textContent();
    expect(settings).to.contain(`url: ${proxy.url}/v1/prometheus/write`);
  });

  it('keeps what its screens show without a network, and continues by itself', async () => {
    const opened = await Promise.all(
      LOADING_SCREENS.map(async (screen) => {
        const page = await dashboard.open(screen.path, { mayLoseServer: true });
        const content = page.getByRole('main').getByRole(screen.role, { name: screen.name }).first();
        await content.waitFor();
        return { page, content, screen };
      }),
    );
    for (const { page, content, screen } of opened) {
      await page.context().setOffline(true);
      await page.getByRole('button', { name: 'Load again', exact: true }).click();
      await banner(page).waitFor();
      expect(await content.isVisible(), screen.path).to.equal(true);
      await page.context().setOffline(false);
    }
    for (const { page, content, screen } of opened) {
      await banner(page).waitFor({ state: 'detached' });
      // Several regions of a screen may have one each: `waitFor` takes a single one.
      const alerts = page.getByRole('main').getByRole('alert');
      await eventually(async () => (await alerts.count()) === 0, 10_000).catch((error: unknown) =>
        expect.fail(`${screen.path}: ${String(error)}`),
      );
      expect(await content.isVisible(), screen.path).to.equal(true);
    }
  });

  it('loads a screen that was opened without a network when it is back', async () => {
    const page = await dashboard.open('ingest', { mayLoseServer: true });
    await page.getByRole('region', { name: 'Prometheus' }).waitFor();
    await page.context().setOffline(true);
    const link = page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Cluster' });
    await link.click();
    await page.getByRole('alert').filter({ hasText: 'This screen could not be loaded' }).waitFor();
    await banner(page).waitFor();
    await page.context().setOffline(false);
    await page.getByRole('table', { name: 'Nodes' }).waitFor();
  });

  it('is not reloaded without a network because of a reply that was late', async () => {
    const page = await dashboard.open('ingest', { mayLoseServer: true });
    await page.getByRole('region', { name: 'Prometheus' }).waitFor();
    const ready = await new Promise<Route>((resolve) => void page.route('**/ready', resolve));
    await page.context().setOffline(true);
    await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Cluster' }).click();
    const failure = page.getByRole('alert').filter({ hasText: 'This screen could not be loaded' });
    await failure.waitFor();
    await banner(page).waitFor();
    await ready.fulfill({ status: 200, body: '{}' });
    await page.waitForEvent('requestfailed', (request) => request.url().endsWith('/v1/health'));
    await banner(page).waitFor();
    expect(await failure.isVisible()).to.equal(true);
    await page.unroute('**/ready');
    await page.context().setOffline(false);
    await page.getByRole('table', { name: 'Nodes' }).waitFor();
  });

  it('loses nothing that was typed when the server is killed in a query, and continues by itself', async () => {
    const page = await dashboard.open('query', { mayLoseServer: true });
    const other = await dashboard.open('query', { origin: proxy.url });
    for (const each of [page, other]) {
      await replaceText(editor(each), `-- kept\n${LONG}`);
      await each.keyboard.press('Control+Enter');
    }
    await eventually(async () => (await runningCount(dashboard)) === 2, 30_000);
    await dashboard.almanac.kill();
    for (const each of [page, other]) {
      await banner(each).waitFor();
      await each.getByText('It runs again when the server is back.').waitFor();
      await editor(each).press('Control+Home');
      await each.keyboard.type('-- typed meanwhile\n');
    }
    await dashboard.restart();
    for (const each of [page, other]) await banner(each).waitFor({ state: 'detached' });
    await eventually(async () => (await runningCount(dashboard)) === 2, 30_000);
    for (const each of [page, other]) {
      await each.getByRole('button', { name: 'Cancel' }).click();
      await each.getByText(/^Cancelled after/).waitFor();
      expect(await editor(each).innerText()).to.match(/^-- typed meanwhile\n-- kept\nSELECT count/);
      await each.reload();
      expect(await editor(each).innerText()).to.match(/^-- typed meanwhile\n-- kept\nSELECT count/);
    }
    await eventually(async () => (await runningCount(dashboard)) === 0);
  });

  it('does not repeat a statement that writes when the server is back', async () => {
    await dashboard.almanac.rows('CREATE TABLE once (ts TIMESTAMP TIME INDEX, v DOUBLE)');
    const page = await dashboard.open('query', { origin: proxy.url });
    proxy.mode = { kind: 'fail', status: 502, body: 'bad gateway' };
    await replaceText(editor(page), 'INSERT INTO once VALUES (now(), 1)');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('alert').filter({ hasText: 'a proxy replied with status 502' }).waitFor();
    await banner(page).waitFor();
    proxy.mode = { kind: 'pass' };
    await banner(page).waitFor({ state: 'detached' });
    expect(await page.getByText('It runs again').count()).to.equal(0);
    await replaceText(editor(page), 'SELECT count(*) AS rows FROM once');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('gridcell', { name: '0', exact: true }).waitFor();
  });
});
