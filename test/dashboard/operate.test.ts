import { randomUUID } from 'node:crypto';
import { gunzipSync } from 'node:zlib';

import { expect } from 'chai';
import { Profile } from 'pprof-format';
import type { Locator, Page } from 'playwright-core';

import { needChromium } from '#test/support/browser';
import { eventually } from '#test/support/conditions';
import { Dashboard, expectAccessible } from '#test/support/dashboard';

const HOSTILE = '<img src=x onerror=alert(1)>\u202e\u0007';
/** Runs for years. */
const LONG = `SELECT count(*) AS "${HOSTILE}" FROM ${['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => `numbers ${name}`).join(', ')}
  WHERE a.number + b.number + c.number + d.number + e.number + f.number + g.number = 1 /* ${'long '.repeat(300)} */`;
const THEMES = ['light', 'dark'] as const;

describe('the Operate screens', function () {
  this.timeout(120_000);
  let dashboard: Dashboard;

  before(needChromium);

  before(async () => {
    dashboard = await Dashboard.start({
      ALMANAC_STANDALONE__SLOW_QUERY__THRESHOLD: '1ms',
      ALMANAC_STANDALONE__MEMORY__ENABLE_HEAP_PROFILING: 'false',
      ALMANAC_STANDALONE__QUERY__MAX_TIMEOUT: '10m',
      ALMANAC_STANDALONE__STORAGE__GC_GRACE: '15m',
    });
  });

  afterEach(async () => {
    for (const id of await runningIds()) await fetch(`${dashboard.almanac.url}/v1/queries/${id}`, { method: 'DELETE' });
    await dashboard.closePages();
  });

  after(() => dashboard?.stop());

  /** Starts a query that runs until it is ended. @returns its ID, and what its client gets. */
  function startLong(): { readonly id: string; readonly reply: Promise<Response> } {
    const id = randomUUID();
    const reply = fetch(`${dashboard.almanac.url}/v1/sql`, {
      method: 'POST',
      body: LONG,
      headers: { 'content-type': 'application/sql', 'x-almanac-timeout': '600s', 'x-almanac-query-id': id },
    });
    return { id, reply };
  }

  const runningIds = async (): Promise<string[]> => {
    const { text } = await dashboard.almanac.get('/v1/queries');
    return (JSON.parse(text) as { queries: { id: string }[] }).queries.map(({ id }) => id);
  };

  /** Whether an element is within the width of the page, without scrolling. */
  async function isInView(element: Locator): Promise<boolean> {
    const [box, size] = [await element.boundingBox(), element.page().viewportSize()];
    return box !== null && size !== null && box.x >= 0 && box.x + box.width <= size.width;
  }

  describe('Queries', () => {
    for (const isPublic of [false, true]) {
      for (const theme of THEMES) {
        it(`ends a running query, in the ${theme} theme, on the ${isPublic ? 'public' : 'main'} listener`, async () => {
          const page = await dashboard.open('queries', { isPublic, theme });
          await page.getByText('No query is running.').waitFor();
          await expectAccessible(page);
          const { id, reply } = startLong();
          const end = page.getByRole('button', { name: `Kill query ${id}` });
          await end.waitFor();
          expect(await isInView(end)).to.equal(true);
          await page.getByRole('table', { name: 'Running queries' }).getByText(HOSTILE.slice(0, 20)).first().waitFor();
          await expectAccessible(page);
          await end.click();
          const dialog = page.getByRole('dialog', { name: 'Kill this query?' });
          await dialog.waitFor();
          await expectAccessible(page);
          await dialog.getByRole('button', { name: 'Cancel' }).click();
          await dialog.waitFor({ state: 'detached' });
          expect(await runningIds()).to.include(id);
          await end.click();
          await dialog.getByRole('button', { name: 'Kill', exact: true }).click();
          await page.getByText(`The query ${id} was killed.`).waitFor();
          expect((await reply).status).to.equal(504);
          expect(await (await reply).json()).to.include({ code: 1005 });
          expect(await runningIds()).to.not.include(id);
          await end.waitFor({ state: 'detached' });
        });
      }
    }

    it('says so if the query has ended already', async () => {
      const page = await dashboard.open('queries');
      const { id, reply } = startLong();
      await page.getByRole('button', { name: `Kill query ${id}` }).click();
      await fetch(`${dashboard.almanac.url}/v1/queries/${id}`, { method: 'DELETE' });
      await reply;
      await page.getByRole('dialog').getByRole('button', { name: 'Kill', exact: true }).click();
      await page
        .getByRole('alert')
        .filter({ hasText: `no query with the ID "${id}" is running` })
        .waitFor();
      await expectAccessible(page);
    });

    for (const theme of THEMES) {
      it(`groups slow queries by their text without literals, in the ${theme} theme`, async () => {
        const marker = `marker_${theme}`;
        for (const number of [1, 2, 3]) {
          const sql = `SELECT sum(a.number) AS "${marker}", '${HOSTILE}' FROM numbers a, numbers b, numbers c WHERE a.number > ${number}`;
          await dashboard.almanac.rows(sql);
        }
        const stored = `SELECT count(*) FROM almanac_private.slow_queries WHERE query LIKE '%${marker}%' AND query NOT LIKE '%slow_queries%'`;
        await eventually(async () => Number((await dashboard.almanac.rows(stored))[0][0]) === 3);
        const page = await dashboard.open('queries?tab=slow', { theme });
        const row = page
          .getByRole('table', { name: 'Slow queries' })
          .getByRole('row')
          .filter({ hasText: `"${marker}", ? FROM numbers a` });
        await row.first().waitFor();
        expect(await row.getByRole('cell').nth(1).textContent()).to.equal('3');
        await expectAccessible(page);
        await row.locator('summary').first().click();
        await row.getByText(HOSTILE.slice(0, 20)).first().waitFor();
        await expectAccessible(page);
        await page.getByRole('button', { name: 'Count' }).click();
        expect(new URL(page.url()).searchParams.get('sort')).to.equal('count');
        await row.getByRole('link', { name: 'Open in Query' }).click();
        expect(new URL(page.url()).pathname).to.equal('/dashboard/query');
        expect(new URL(page.url()).searchParams.get('q')).to.contain(marker);
      });
    }

    it('explains how slow queries are recorded while there are none', async () => {
      const page = await dashboard.open('queries?tab=slow&from=2001-01-01&to=2001-01-02');
      await page.getByText('No slow query was recorded').waitFor();
      await expectAccessible(page);
    });
  });

  describe('Cluster', () => {
    for (const theme of THEMES) {
      it(`shows processes and regions, in the ${theme} theme`, async () => {
        const table = `cluster_${theme}`;
        await dashboard.almanac.written(`${table},host=a v=1 1\n${table},host=b v=2 2`);
        await dashboard.almanac.flush(table);
        const page = await dashboard.open('cluster', { theme });
        const row = page.getByRole('table', { name: 'Nodes' }).getByRole('row').filter({ hasText: 'standalone' });
        await row.getByText('ready').waitFor();
        await row.getByText(/^\d+ %$/).waitFor();
        const regions = page.getByRole('grid', { name: 'Regions' });
        await regions.getByRole('gridcell', { name: table, exact: true }).first().waitFor();
        await expectAccessible(page);
        await page.getByRole('searchbox', { name: 'Search tables' }).fill(table);
        await page
          .getByRole('status')
          .filter({ hasText: /\d+ regions?, 2 rows/ })
          .waitFor();
        await regions.getByRole('button', { name: /^Rows in segments/ }).click();
        const cells = await regions.getByRole('gridcell').allTextContents();
        expect(cells.slice(0, 2)).to.deep.equal(['public', table]);
        await page.getByRole('searchbox', { name: 'Search tables' }).fill('no such table');
        await page.getByText('No table has').waitFor();
        await expectAccessible(page);
      });
    }
  });

  it('says on the screen Users that no request needs one', async () => {
    const page = await dashboard.open('users');
    await page.getByText('This server checks no users').waitFor();
    await page.getByText('SQL manages no user yet.').waitFor();
  });

  describe('Profiles', () => {
    const graph = (page: Page): ReturnType<Page['getByRole']> =>
      page.getByRole('application', { name: /^Flame graph/ });

    for (const theme of THEMES) {
      it(`takes a CPU profile, and searches, zooms and stores it, in the ${theme} theme`, async () => {
        const page = await dashboard.open('profiles', { theme });
        await page.getByText('A profile shows which functions').waitFor();
        await expectAccessible(page);
        await page.getByRole('button', { name: 'Take a profile' }).click();
        await page.getByRole('progressbar', { name: 'Taking the profile' }).waitFor();
        await expectAccessible(page);
        await graph(page).waitFor();
        const functions = page.getByRole('grid', { name: 'Functions' });
        await functions.getByRole('gridcell', { name: 'thread main' }).first().waitFor();
        await expectAccessible(page);
        // By keyboard: down to the widest call, then it fills the graph.
        await graph(page).focus();
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Enter');
        const reset = page.getByRole('button', { name: 'Reset zoom' });
        expect(await reset.isEnabled()).to.equal(true);
        await page.keyboard.press('Escape');
        await reset.and(page.locator(':disabled')).waitFor();
        await page.getByRole('searchbox', { name: 'Search functions' }).fill('thread main');
        await page
          .getByRole('status')
          .filter({ hasText: /found, \d/ })
          .waitFor();
        await page.getByRole('checkbox', { name: 'Callers below' }).check();
        expect(new URL(page.url()).searchParams.get('invert')).to.equal('true');
        await graph(page).waitFor();
        const [download] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('button', { name: 'Download pprof' }).click(),
        ]);
        const chunks: Buffer[] = [];
        for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
        const profile = Profile.decode(gunzipSync(Buffer.concat(chunks)));
        expect(profile.stringTable.strings).to.include.members(['cpu', 'nanoseconds', 'thread main']);
        // The browser keeps it.
        await page.reload();
        await graph(page).waitFor();
        await page.getByRole('searchbox', { name: 'Search functions' }).fill('no such function anywhere');
        await page.getByText('No function or file has these words').waitFor();
        await expectAccessible(page);
      });
    }

    it('ends a profile that is cancelled, so that another can be taken', async () => {
      const page = await dashboard.open('profiles?seconds=300');
      await page.getByRole('button', { name: 'Take a profile' }).click();
      await page.getByRole('button', { name: 'Cancel' }).click();
      await page.getByRole('button', { name: 'Take a profile' }).waitFor();
      await eventually(
        async () => (await dashboard.almanac.get('/debug/prof/cpu?seconds=1&output=json')).status === 200,
      );
    });

    it('says so while another profile is taken', async () => {
      const page = await dashboard.open('profiles');
      const abort = new AbortController();
      const url = `${dashboard.almanac.url}/debug/prof/cpu?seconds=300`;
      // The profiles that the test tries may be the first to begin.
      const take = async (): Promise<void> => {
        const reply = await fetch(url, { signal: abort.signal });
        // A reply that is not read keeps its connection.
        await reply.arrayBuffer();
        if (reply.status === 409) await take();
      };
      const other = take().catch(() => undefined);
      await eventually(async () => (await dashboard.almanac.get('/debug/prof/cpu?seconds=1')).status === 409);
      await page.getByRole('button', { name: 'Take a profile' }).click();
      await page.getByRole('alert').waitFor();
      await expectAccessible(page);
      abort.abort();
      await other;
    });

    it('profiles memory once allocations are sampled', async () => {
      const page = await dashboard.open('profiles?kind=heap');
      await page.getByText('Allocations are not sampled.').waitFor();
      await page.getByRole('button', { name: 'Take a profile' }).click();
      await page.getByRole('alert').filter({ hasText: 'Memory profiling is not enabled' }).waitFor();
      await page.getByRole('button', { name: 'Start sampling' }).click();
      await page.getByText('Allocations are sampled.').waitFor();
      expect((await dashboard.almanac.get('/debug/prof/mem/status')).text).to.equal('{"active":true}');
      await page.getByRole('button', { name: 'Take a profile' }).click();
      await graph(page).waitFor();
      await page.getByText(/[KMG]iB in all/).waitFor();
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Take a profile' }).click();
      await page.getByRole('combobox', { name: 'Compared with' }).selectOption({ index: 1 });
      await page.getByRole('grid', { name: 'Changes' }).getByRole('columnheader', { name: 'Self before' }).waitFor();
      await page.getByText(/, before 100\.0 %/).waitFor();
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Stop sampling' }).click();
      await page.getByText('Allocations are not sampled.').waitFor();
    });
  });

  describe('Configuration', () => {
    for (const theme of THEMES) {
      it(`finds keys and those that are changed, in the ${theme} theme`, async () => {
        const page = await dashboard.open('config', { theme });
        const http = page.getByRole('table', { name: 'http', exact: true });
        await http.getByText('enable_api_server', { exact: true }).waitFor();
        await expectAccessible(page);
        await page.getByRole('checkbox', { name: 'Changed from the default' }).check();
        await http.getByText('ALMANAC_STANDALONE__HTTP__ENABLE_API_SERVER').waitFor();
        expect(await page.getByText('body_limit').count()).to.equal(0);
        await page.getByRole('searchbox', { name: 'Search keys' }).fill('threshold');
        await page.getByRole('table', { name: 'slow_query' }).getByText('"1ms"').waitFor();
        expect(await http.count()).to.equal(0);
        const { searchParams } = new URL(page.url());
        expect([searchParams.get('s'), searchParams.get('changed')]).to.deep.equal(['threshold', 'true']);
        await page.getByRole('searchbox', { name: 'Search keys' }).fill('no such key');
        await page.getByText('No key, value or source has').waitFor();
        await expectAccessible(page);
      });
    }

    it('changes the log level for some time, and shows why a filter is refused', async () => {
      const page = await dashboard.open('config');
      const filter = page.getByRole('textbox', { name: 'Filter' });
      await page.getByRole('status').filter({ hasText: 'info' }).waitFor();
      await filter.fill('info,querier=debug');
      await page.getByRole('combobox', { name: 'for' }).selectOption('30m');
      await page.getByRole('button', { name: 'Change', exact: true }).click();
      await page
        .getByRole('status')
        .filter({ hasText: /info,querier=debug until .* then info changed/ })
        .waitFor();
      const state = JSON.parse((await dashboard.almanac.get('/debug/log_level?output=json')).text) as object;
      expect(state).to.include({ filter: 'info,querier=debug', next: 'info' });
      await filter.fill(HOSTILE);
      await page.getByRole('button', { name: 'Change', exact: true }).click();
      await page.getByRole('alert').filter({ hasText: 'Invalid filter' }).waitFor();
      await expectAccessible(page);
      await filter.fill('info');
      await page.getByRole('combobox', { name: 'for' }).selectOption('until the next start');
      await page.getByRole('button', { name: 'Change', exact: true }).click();
      await page.getByRole('alert').waitFor({ state: 'detached' });
      await eventually(async () => {
        const { text } = await dashboard.almanac.get('/debug/log_level?output=json');
        return text === '{"filter":"info","until":null,"next":null}';
      });
    });

    it('turns the tracing of requests on and off', async () => {
      const page = await dashboard.open('config');
      await page.getByText('Spans of requests are not recorded.').waitFor();
      await page.getByRole('button', { name: 'Start tracing in all processes' }).click();
      await page.getByText('Spans of requests are recorded.').waitFor();
      expect((await dashboard.almanac.get('/debug/enable_trace')).text).to.equal('trace enabled');
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Stop tracing in all processes' }).click();
      await page.getByText('Spans of requests are not recorded.').waitFor();
    });
  });

  it('are only those of the public listener there', async () => {
    const page = await dashboard.open('queries', { isPublic: true });
    await page.getByText('No query is running.').waitFor();
    const links = await page.getByRole('navigation', { name: 'Screens' }).getByRole('link').allTextContents();
    expect(links).to.include('Queries');
    expect(links).to.not.include.members(['Cluster']);
    expect(links.filter((link) => ['Cluster', 'Profiles', 'Configuration'].includes(link))).to.deep.equal([]);
  });

  it('are opened by keys', async () => {
    const page = await dashboard.open('queries');
    await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Cluster' }).waitFor();
    for (const [key, screen] of [
      ['c', 'cluster'],
      ['u', 'queries'],
      ['f', 'profiles'],
      ['o', 'config'],
    ]) {
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      await page.waitForURL(`**/dashboard/${screen}`);
    }
  });

  it('fit a narrow window', async () => {
    for (const screen of ['queries', 'cluster', 'profiles', 'config']) {
      const page = await dashboard.open(screen);
      await page.setViewportSize({ width: 700, height: 800 });
      await page.getByRole('main').waitFor();
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect(overflow, screen).to.equal(0);
    }
  });
});
