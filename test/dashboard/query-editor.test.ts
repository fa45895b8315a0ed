import { expect } from 'chai';
import type { Page, Request } from 'playwright-core';

import { needChromium } from '#test/support/browser';
import { eventually } from '#test/support/conditions';
import { Dashboard, expectAccessible, replaceText } from '#test/support/dashboard';

describe('the editor of the Query screen', function () {
  this.timeout(120_000);
  let dashboard: Dashboard;

  before(needChromium);

  before(async () => {
    dashboard = await Dashboard.start();
  });

  afterEach(() => dashboard.closePages());

  after(() => dashboard?.stop());

  const editor = (page: Page): ReturnType<Page['getByRole']> => page.getByRole('textbox', { name: /^SQL\./ });
  const marks = (page: Page): ReturnType<Page['locator']> => page.locator('.editor .cm-lintRange-error');
  const isCheck = (request: Request): boolean => request.url().endsWith('/v1/sql/parse');

  it('formats SQL by button and by key, and marks what it cannot read', async () => {
    const page = await dashboard.open('query');
    const sql = "select host, avg(usage) as u from cpu where host = 'a' -- one\ngroup by host order by u desc";
    const lines = (): Promise<string[]> => page.locator('.editor .cm-line').allTextContents();
    const formatted = [
      'SELECT host, avg(usage) AS u',
      'FROM cpu',
      "WHERE host = 'a' -- one",
      'GROUP BY host',
      'ORDER BY u DESC;',
    ];
    await replaceText(editor(page), sql);
    await page.getByRole('button', { name: 'Format' }).click();
    await page.getByText('ORDER BY u DESC;').waitFor();
    expect(await lines()).to.deep.equal(formatted);
    await replaceText(editor(page), sql);
    await page.keyboard.press('Shift+Alt+F');
    await page.getByText('ORDER BY u DESC;').waitFor();
    expect(await lines()).to.deep.equal(formatted);
    await replaceText(editor(page), 'select 1;\nselect host form cpu; drop table t');
    await page.getByRole('button', { name: 'Format' }).click();
    await marks(page).filter({ hasText: 'cpu' }).waitFor();
    // Nothing was run, and the text is as it was.
    expect(await page.getByRole('region', { name: 'Result' }).count()).to.equal(0);
    expect(await lines()).to.deep.equal(['select 1;', 'select host form cpu; drop table t']);
    // Closes the list of words.
    await editor(page).press('Escape');
    await expectAccessible(page);
  });

  it('marks an error while one types, and removes the mark when it is corrected', async () => {
    const page = await dashboard.open('query');
    await replaceText(editor(page), 'SELECT 1;\nSELECT host FORM cpu');
    await marks(page).filter({ hasText: 'cpu' }).waitFor();
    await page.keyboard.press('F8');
    await page.getByText(/syntax error at or near/).waitFor();
    await replaceText(editor(page), 'SELECT 1;\nSELECT host FROM cpu');
    await marks(page).first().waitFor({ state: 'detached' });
  });

  it('scrolls text that is longer than it, and axe objects to nothing', async () => {
    const page = await dashboard.open('query');
    await replaceText(editor(page), `SELECT ${'length(host) + '.repeat(400)} 0 FROM cpu`);
    await editor(page).press('Escape');
    await expectAccessible(page);
  });

  it('completes functions, with their arguments and a sentence', async () => {
    const page = await dashboard.open('query');
    await editor(page).pressSequentially('SELECT date_bi');
    const option = page.getByRole('option', { name: /^date_bin/ });
    // A busy server may need longer for the functions than completion waits.
    await eventually(async () => {
      await page.keyboard.press('Control+Space');
      // The key starts a search that is running again.
      return option.waitFor({ timeout: 3000 }).then(
        () => true,
        () => false,
      );
    });
    expect(await option.textContent()).to.equal('date_bin(interval, time[, origin])');
    await page.getByText('Rounds a time down to the start of its bucket.').waitFor();
    // Enter counts only when the list has been open for a moment.
    await option.click();
    await page.locator('.editor .cm-line').filter({ hasText: 'SELECT date_bin(' }).waitFor();
  });

  it('sends one check for many keys, and ends it at the next one', async () => {
    const page = await dashboard.open('query');
    const checks: string[] = [];
    page.on('request', (request) => void (isCheck(request) && checks.push(request.postData() ?? '')));
    const aborted = page.waitForEvent('requestfailed', isCheck);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/v1/sql/parse', async (route) => {
      await held;
      await route.continue().catch(() => undefined);
    });
    const first = page.waitForRequest(isCheck);
    await editor(page).pressSequentially('SELECT 1 AS n', { delay: 5 });
    await first;
    expect(checks.map((body) => new URLSearchParams(body).get('sql'))).to.deep.equal(['SELECT 1 AS n']);
    // The server does not reply, and typing is not delayed.
    const second = page.waitForRequest((request) => isCheck(request) && (request.postData() ?? '').includes('name'));
    await page.keyboard.type('ame');
    await page.locator('.editor .cm-line').filter({ hasText: 'SELECT 1 AS name' }).waitFor();
    expect((await aborted).failure()?.errorText).to.contain('ABORTED');
    release();
    await second;
  });
});
