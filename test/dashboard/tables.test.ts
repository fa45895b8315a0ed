import { expect } from 'chai';

import { needChromium } from '#test/support/browser';
import { Dashboard, expectAccessible } from '#test/support/dashboard';

const HOSTILE = '<img src=x onerror=alert(1)>';

describe('the Tables screen', function () {
  this.timeout(120_000);
  let dashboard: Dashboard;

  before(needChromium);

  before(async () => {
    dashboard = await Dashboard.start();
  });

  afterEach(() => dashboard.closePages());

  after(() => dashboard?.stop());

  it('says how to write the first rows', async () => {
    for (const theme of ['light', 'dark'] as const) {
      const page = await dashboard.open('tables', { theme });
      const command = page.getByRole('region', { name: 'Line protocol' }).locator('pre');
      expect(await command.textContent()).to.contain(`${dashboard.almanac.url}/v1/lineproto/write`);
      await expectAccessible(page);
    }
    await dashboard.almanac.sql('CREATE DATABASE other');
    const page = await dashboard.open('tables?db=other');
    const settings = page.getByRole('region', { name: 'OpenTelemetry, as environment' }).locator('pre');
    expect(await settings.textContent()).to.contain('\nOTEL_EXPORTER_OTLP_HEADERS=x-almanac-db-name=other');
  });

  it('lists tables, and finds them by their columns', async () => {
    await dashboard.almanac.write(
      `cpu,host=a usage=1 1\nmemory,host=a free=2 1\n${HOSTILE.replaceAll(' ', '\\ ').replaceAll('=', '\\=')} v=1 1`,
    );
    for (const isPublic of [false, true]) {
      const page = await dashboard.open('tables', { isPublic });
      const links = page.getByRole('navigation', { name: 'Tables' }).getByRole('link');
      await links.filter({ hasText: HOSTILE }).waitFor();
      await page.getByRole('searchbox').fill('free');
      await links.filter({ hasText: 'cpu' }).waitFor({ state: 'detached' });
      await links.filter({ hasText: 'memory' }).click();
      await page.getByRole('heading', { name: 'memory table' }).waitFor();
      expect(page.url()).to.contain('t=memory');
    }
  });

  it('shows columns, newest rows, storage and definition', async () => {
    for (const theme of ['light', 'dark'] as const) {
      const page = await dashboard.open('tables?t=cpu', { theme });
      await page.getByRole('row', { name: 'host string tag' }).waitFor();
      await page.getByText('1970-01-01 00:00:00.000000001').first().waitFor();
      await expectAccessible(page);
      await page.getByRole('tab', { name: 'Rows' }).click();
      await page.getByRole('grid', { name: 'Newest rows' }).getByRole('gridcell', { name: 'a', exact: true }).waitFor();
      await expectAccessible(page);
      await page.getByRole('tab', { name: 'Definition' }).click();
      await page.getByText('CREATE TABLE').waitFor();
      await page.getByRole('tab', { name: 'Storage' }).click();
      await page.getByRole('button', { name: 'Flush' }).waitFor();
      await expectAccessible(page);
    }
  });

  it('flushes, keeps rows for a time, renames and drops', async () => {
    const { almanac } = dashboard;
    await almanac.write('short,host=a usage=1');
    const page = await dashboard.open('tables?t=short&tab=storage');
    await page.getByRole('button', { name: 'Flush' }).click();
    await page.getByText('All rows are in segments.').waitFor();
    await page.getByLabel('Keep rows for').fill('30d');
    await page.getByRole('button', { name: 'Set' }).click();
    await page.getByText('Rows are kept for 30d.').waitFor();
    expect(JSON.stringify(await almanac.rows('SHOW CREATE TABLE short'))).to.contain("ttl = '30days'");
    await page.getByLabel('Keep rows for').fill('nonsense');
    await page.getByRole('button', { name: 'Set' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('New name').fill('long "one"');
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('heading', { name: 'long "one" table' }).waitFor();
    await page.getByRole('tab', { name: 'Storage' }).click();
    const drop = page.getByRole('button', { name: 'Drop' });
    expect(await drop.isDisabled()).to.equal(true);
    await page.getByLabel('To drop the table').fill('long "one"');
    await drop.click();
    await page.getByText('Choose a table').waitFor();
    expect(JSON.stringify(await almanac.rows('SHOW TABLES'))).to.not.contain('long');
  });
});
