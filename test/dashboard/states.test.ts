import { needChromium } from '#test/support/browser';
import { Dashboard, expectAccessibleInBothThemes } from '#test/support/dashboard';
import { FULL_SCREENS, writeSampleData } from '#test/support/dashboard-data';
import { PrefixProxy } from '#test/support/prefix-proxy';

/** Screens that work without a request. */
const ALWAYS_FULL = /^(ingest|profiles)/;
const FAILURE = JSON.stringify({ code: 1003, error: 'the disk <b>failed</b>', execution_time_ms: 0 });

describe('every screen of the dashboard', function () {
  this.timeout(120_000);
  let dashboard: Dashboard;
  let proxy: PrefixProxy;

  before(needChromium);

  before(async () => {
    dashboard = await Dashboard.start({ ALMANAC_STANDALONE__SLOW_QUERY__THRESHOLD: '1ms' });
    await writeSampleData(dashboard.almanac);
    proxy = await PrefixProxy.open(dashboard.almanac.url);
  });

  afterEach(async () => {
    proxy.mode = { kind: 'pass' };
    await dashboard.closePages();
  });

  after(async () => {
    proxy?.close();
    await dashboard?.stop();
  });

  for (const { path } of FULL_SCREENS) {
    it(`has nothing that axe objects to while it loads, and after that failed: ${path}`, async () => {
      proxy.mode = { kind: 'hold' };
      const page = await dashboard.open(path, { origin: proxy.url });
      const heading = page.getByRole('main').getByRole('heading', { level: 1 });
      await heading.waitFor({ state: 'attached' });
      // The code of the screen is there.
      await page.getByRole('main').locator('.screen').waitFor();
      await expectAccessibleInBothThemes(page);
      proxy.mode = { kind: 'fail', status: 500, body: FAILURE };
      if (!ALWAYS_FULL.test(path)) {
        await page.getByRole('main').getByRole('alert').filter({ hasText: 'the disk <b>failed</b>' }).first().waitFor();
      }
      await expectAccessibleInBothThemes(page);
    });
  }
});
