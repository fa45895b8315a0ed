import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';
import type { Page } from 'playwright-core';

import { basic, sendAs, sqlAs } from '#test/support/as-user';
import { needChromium } from '#test/support/browser';
import { eventually } from '#test/support/conditions';
import { Dashboard, expectAccessibleInBothThemes, replaceText } from '#test/support/dashboard';
import { tempFolder } from '#test/support/temp-folder';

const ROOT = basic('root', 'right');
const READER = { name: 'reader', password: 'read' };
const HOSTILE = '<img src=x onerror=alert(1)>';
/** Buttons whose requests a reader may not send. */
const WRITES = /^(Write|Save|Flush|Compact|Merge|Rename|Drop|Set|Delete|Change|Take a profile|Start sampling)$/;
const SCREENS = ['query', 'metrics?m=cpu', 'logs', 'traces', 'tables?t=cpu&tab=storage', 'tables?t=cpu&tab=rows'];
SCREENS.push('tables?t=cpu&tab=ddl', 'pipelines', 'ingest', 'ingest?kind=lines', 'ingest?kind=items', 'queries');
SCREENS.push('queries?tab=slow', 'pipelines?name=kept');
const PUBLIC_SCREENS = ['tables?t=cpu&tab=storage', 'ingest?kind=lines', 'queries', 'pipelines?name=kept'];

describe('the dashboard for users who may not do everything', function () {
  this.timeout(120_000);
  let dashboard: Dashboard;
  let cleanUp: () => void = () => undefined;
  let users = '';

  before(needChromium);

  before(async () => {
    users = join(
      tempFolder((after) => (cleanUp = after)),
      'users',
    );
    writeFileSync(users, 'root:admin=right\nreader:ro=read\n');
    dashboard = await Dashboard.start({ ALMANAC_STANDALONE__USER_PROVIDER: `watch_file_user_provider:${users}` });
    const written = await sendAs(`${dashboard.almanac.url}/v1/lineproto/write`, ROOT, 'cpu,host=a v=1');
    expect(written.status, written.text).to.equal(204);
    const stored = await fetch(`${dashboard.almanac.url}/v1/pipelines/kept`, {
      method: 'POST',
      body: 'transform: [{field: n, type: int32}]',
      headers: { authorization: ROOT, 'content-type': 'application/yaml' },
    });
    expect(stored.status).to.equal(200);
  });

  afterEach(() => dashboard.closePages());

  after(async () => {
    await dashboard?.stop();
    cleanUp();
  });

  const editor = (page: Page) => page.getByRole('textbox', { name: /^SQL\./ });

  for (const isPublic of [false, true]) {
    it(`offers a reader nothing that would be refused, on the ${isPublic ? 'public' : 'main'} listener`, async () => {
      const page = await dashboard.open('query', { isPublic, user: READER });
      const refused: string[] = [];
      page.on('response', (reply) => {
        if (reply.status() === 403) refused.push(`${page.url()}: ${reply.request().method()} ${reply.url()}`);
      });
      const links = page.getByRole('navigation', { name: 'Screens' }).getByRole('link');
      await page.getByText('user reader').waitFor();
      const origin = isPublic ? dashboard.publicUrl : dashboard.almanac.url;
      for (const path of isPublic ? PUBLIC_SCREENS : SCREENS) {
        const facts = page.waitForResponse(/\/v1\/whoami/);
        await page.goto(`${origin}/dashboard/${path}`);
        await (await facts).finished();
        await page.getByRole('main').locator('.screen').waitFor();
        await page.waitForLoadState('networkidle');
        const offered = await page.getByRole('main').getByRole('button', { name: WRITES }).allTextContents();
        expect(offered, path).to.deep.equal([]);
        expect(await page.getByRole('main').getByRole('alert').allTextContents(), path).to.deep.equal([]);
      }
      expect(refused).to.deep.equal([]);
      const names = await links.allTextContents();
      expect(names.filter((name) => ['Cluster', 'Profiles', 'Configuration'].includes(name))).to.deep.equal([]);
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Search commands' }).fill('Open');
      const commands = await page.getByRole('option').allTextContents();
      expect(commands.some((command) => command.includes('Open Queries'))).to.equal(true);
      expect(commands.filter((command) => /Cluster|Profiles|Configuration/.test(command))).to.deep.equal([]);
    });
  }

  it('requests credentials that have expired once, repeats the requests, and keeps what was typed', async () => {
    const page = await dashboard.open('query', { user: { name: 'root', password: 'right' } });
    await replaceText(editor(page), 'SELECT v FROM cpu');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('gridcell', { name: '1', exact: true }).waitFor();
    await replaceText(editor(page), 'SELECT v + 41 AS answer FROM cpu');
    writeFileSync(users, 'root:admin=changed\nreader:ro=read\n');
    await eventually(async () => (await sqlAs(dashboard.almanac, 'SELECT 1', ROOT)).status === 401);
    // What the page sends by itself may have opened the dialog, which keeps keys from the editor.
    await page.evaluate(`document.querySelector('.run-button').click()`);
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.waitFor();
    // Others fail at the same time.
    await page.evaluate(`document.querySelector('[aria-label="Load again"]').click()`);
    await dialog.getByLabel('User').fill('root');
    await dialog.getByLabel(/^Password/).fill('changed');
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('gridcell', { name: '42', exact: true }).waitFor();
    await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Cluster' }).waitFor();
    expect(await dialog.isVisible()).to.equal(false);
    expect(await editor(page).innerText()).to.equal('SELECT v + 41 AS answer FROM cpu');
    writeFileSync(users, 'root:admin=right\nreader:ro=read\n');
    await eventually(async () => (await sqlAs(dashboard.almanac, 'SELECT 1', ROOT)).status === 200);
  });

  it('lets the browser save many rows as they arrive, with a ticket', async () => {
    const sql = 'SELECT * FROM generate_series(1, 100000) AS t(number)';
    const page = await dashboard.open(`query?q=${encodeURIComponent(sql)}`, { user: READER });
    await page.getByText(/^100\u202f000 rows in/).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV', exact: true }).click(),
    ]);
    expect(download.url()).to.match(/\/v1\/sql\?.*&ticket=/);
    let lineCount = 0;
    for await (const chunk of await download.createReadStream()) lineCount += String(chunk).split('\n').length - 1;
    expect(lineCount).to.equal(100_001);
  });

  it('shows the name of a user as text', async () => {
    const created = await sqlAs(dashboard.almanac, `CREATE USER "${HOSTILE}" PASSWORD 'long enough'`, ROOT);
    expect(created.status, created.text).to.equal(200);
    const granted = await sqlAs(dashboard.almanac, `GRANT READ ON *.* TO "${HOSTILE}"`, ROOT);
    expect(granted.status, granted.text).to.equal(200);
    const page = await dashboard.open('queries', { user: { name: HOSTILE, password: 'long enough' } });
    await page.getByText(`user ${HOSTILE}`).waitFor();
    await page.getByText('No query is running.').waitFor();
    expect(await page.locator('img').count()).to.equal(0);
    await expectAccessibleInBothThemes(page);
  });
});
