import { expect } from 'chai';

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
    });
  }

  it('says so for a screen that does not exist', async () => {
    const page = await dashboard.open('nothing');
    await page.getByRole('heading', { name: 'No such screen' }).waitFor();
    await page.getByRole('link', { name: 'Open Query' }).click();
    expect(new URL(page.url()).pathname).to.equal('/dashboard/query');
  });
});
