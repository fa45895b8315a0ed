import { expect } from 'chai';
import type { Page } from 'playwright-core';

import { needChromium } from '#test/support/browser';
import { Dashboard, expectAccessible } from '#test/support/dashboard';

describe('the dashboard', function () {
  this.timeout(120_000);
  let dashboard: Dashboard;

  before(needChromium);

  before(async () => {
    dashboard = await Dashboard.start();
  });

  afterEach(() => dashboard.closePages());

  after(() => dashboard?.stop());

  for (const theme of ['light', 'dark'] as const) {
    it(`shows its frame, and nothing that axe objects to, in the ${theme} theme`, async () => {
      const page = await dashboard.open('', { theme });
      await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Query' }).waitFor();
      await page.getByText('ready', { exact: true }).waitFor();
      await expectAccessible(page);
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog', { name: 'Commands' }).waitFor();
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: /^Last 1h/ }).click();
      await page.getByRole('dialog', { name: 'Time range' }).waitFor();
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      await expectChosenThemes(page, theme);
    });
  }

  it('says so for a screen that does not exist, and keeps database, range and zone on every way', async () => {
    const kept = { db: 'elsewhere', from: 'now-2h', to: 'now-1h', tz: 'Asia/Tokyo' };
    const page = await dashboard.open(`nothing?unknown=1&${String(new URLSearchParams(kept))}`);
    const expectScreen = async (name: string): Promise<void> => {
      await page.waitForURL(`**/dashboard/${name}?**`);
      expect(Object.fromEntries(new URL(page.url()).searchParams)).to.deep.equal(kept);
    };
    await page.getByRole('heading', { name: 'No such screen' }).waitFor();
    const address = page.url();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).to.equal('Open Query');
    expect(page.url()).to.equal(address);
    await page.getByRole('link', { name: 'Open Query' }).click();
    await expectScreen('query');
    await page.getByRole('link', { name: 'Tables' }).click();
    await expectScreen('tables');
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    await expectScreen('ingest');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Commands' }).waitFor();
    await page.keyboard.type('Open Flows');
    await page.keyboard.press('Enter');
    await expectScreen('flows');
    const share = page.getByRole('button', { name: 'Copy the link to this page' });
    await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))");
    await share.click();
    await page.getByText('The browser did not allow copying.').waitFor();
    await page.evaluate(
      'navigator.clipboard.writeText = (text) => { window.shared = text; return Promise.resolve(); }',
    );
    await share.click();
    await page.getByText('Link copied').waitFor({ state: 'attached' });
    expect(await page.evaluate('window.shared')).to.equal(page.url());
  });
});

/** Chooses the themes one after the other. The code, charts and the page itself take their colours in different ways. */
async function expectChosenThemes(page: Page, system: 'light' | 'dark'): Promise<void> {
  const backgrounds = new Map<string, string>();
  for (const theme of ['system', 'light', 'dark']) {
    const button = page.getByRole('button', { name: `Theme: ${theme}` });
    const colours = await page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
    backgrounds.set(theme, colours);
    await button.click();
  }
  expect(backgrounds.get('light')).to.equal('rgb(255, 255, 255)');
  expect(backgrounds.get('dark')).to.equal('rgb(20, 23, 28)');
  expect(backgrounds.get('system')).to.equal(backgrounds.get(system));
}
