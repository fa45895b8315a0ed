import { expect } from 'chai';
import type { Page } from 'playwright-core';

import { eventually } from '#test/support/conditions';
import { needChromium } from '#test/support/browser';
import { Dashboard, expectAccessible, expectAccessibleInBothThemes, replaceText } from '#test/support/dashboard';

const HOSTILE = '<img src=x onerror=alert(1)>';

describe('the Query screen', function () {
  this.timeout(120_000);
  let dashboard: Dashboard;

  before(needChromium);

  before(async () => {
    dashboard = await Dashboard.start();
    const nowNs = BigInt(Date.now()) * 1_000_000n;
    const lines = Array.from({ length: 600 }, (_, i) => {
      return `cpu,host=h${i % 3} usage=${i % 7}.5,big=9007199254740993i ${nowNs - BigInt(i) * 1_000_000_000n}`;
    });
    await dashboard.almanac.write(lines.join('\n'));
    const evil = HOSTILE.replaceAll(' ', '\\ ').replaceAll('=', '\\=');
    const written = await dashboard.almanac.write(`odd,${evil}=${evil} f${evil}="${HOSTILE}\u202e\u0007" ${nowNs}`);
    expect(written.status, written.text).to.equal(204);
  });

  afterEach(() => dashboard.closePages());

  after(() => dashboard?.stop());

  async function typeAndRun(page: Page, text: string): Promise<void> {
    const editor = page.getByRole('textbox', { name: /^(SQL|PromQL)\./ });
    await replaceText(editor, text);
    await page.keyboard.press('Control+Enter');
  }

  const queryLink = (statement: string): string => `query?q=${encodeURIComponent(statement)}`;
  const grid = (page: Page, name = 'Rows'): ReturnType<Page['getByRole']> => page.getByRole('grid', { name });
  const cells = async (page: Page): Promise<string[]> => grid(page).getByRole('gridcell').allTextContents();
  const status = (page: Page, text: string | RegExp): Promise<void> =>
    page.getByRole('region', { name: 'Result' }).getByRole('status').filter({ hasText: text }).waitFor();

  for (const isPublic of [false, true]) {
    for (const theme of ['light', 'dark'] as const) {
      it(`runs SQL and shows rows, in the ${theme} theme, on the ${isPublic ? 'public' : 'main'} listener`, async () => {
        const page = await dashboard.open('query', { isPublic, theme });
        await expectAccessible(page);
        await typeAndRun(page, 'SELECT host, big, usage FROM cpu ORDER BY host LIMIT 3');
        await status(page, /^3 rows in/);
        expect((await cells(page)).slice(0, 2)).to.deep.equal(['h0', '9007199254740993']);
        await expectAccessible(page);
        expect(page.url()).to.contain('q=SELECT');
        // The address is the whole state.
        await page.reload();
        await status(page, /^3 rows in/);
      });
    }
  }

  it('runs the statement at the cursor, the selection, or all of them', async () => {
    const page = await dashboard.open('query');
    const editor = page.getByRole('textbox', { name: /^SQL\./ });
    await replaceText(editor, "SELECT 1 AS a;\nSELECT 'x;y' AS b; -- ;\nSELECT 3 AS c");
    await page.keyboard.press('Control+Home');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Control+Enter');
    await grid(page).getByRole('columnheader', { name: /^b/ }).waitFor();
    expect(await cells(page)).to.deep.equal(['x;y']);
    await editor.focus();
    await page.keyboard.press('Shift+Control+Enter');
    const statements = page.getByRole('tablist', { name: 'Statements' }).getByRole('tab');
    await statements.nth(2).waitFor();
    await grid(page).getByRole('columnheader', { name: /^c/ }).waitFor();
    await statements.first().click();
    expect(await cells(page)).to.deep.equal(['1']);
  });

  it('runs a query once more for each request to load again', async () => {
    const page = await dashboard.open('query');
    const statement = 'SELECT count(*) AS n FROM cpu';
    let sent = 0;
    page.on('request', (request) => (sent += request.postData() === statement ? 1 : 0));
    await typeAndRun(page, statement);
    await status(page, /^1 row in/);
    for (const count of [2, 3]) {
      const replied = page.waitForResponse((response) => response.request().postData() === statement);
      await page.getByRole('button', { name: 'Load again', exact: true }).click();
      await replied;
      await status(page, /^1 row in/);
      // What the new result changes takes effect at the next frame.
      await page.evaluate('new Promise((end) => requestAnimationFrame(() => requestAnimationFrame(end)))');
      expect(sent).to.equal(count);
    }
  });

  it('shows what a statement without rows did, and errors with code and query', async () => {
    const page = await dashboard.open('query');
    await typeAndRun(page, 'CREATE TABLE made (ts TIMESTAMP TIME INDEX, v DOUBLE)');
    await page.getByText('Done.').waitFor();
    await typeAndRun(page, 'INSERT INTO made VALUES (1, 2), (3, 4)');
    await page.getByText('2 rows affected.').waitFor();
    expect(await dashboard.almanac.rows('SELECT count(*) FROM made')).to.deep.equal([[2]]);
    await typeAndRun(page, 'SELECT missing FROM made');
    const alert = page.getByRole('alert');
    await alert.filter({ hasText: 'missing' }).waitFor();
    expect(await alert.textContent()).to.match(/code \d+ · query [0-9a-f-]{36}/);
    await expectAccessible(page);
  });

  it('does not run a statement of a link that changes something', async () => {
    await dashboard.almanac.rows('CREATE TABLE kept (ts TIMESTAMP TIME INDEX, v DOUBLE)');
    const page = await dashboard.open(`query?q=${encodeURIComponent('SELECT 1; DROP TABLE kept')}`);
    await page.getByText('DROP TABLE kept').first().waitFor();
    await page.getByRole('button', { name: 'Run' }).waitFor();
    expect(await dashboard.almanac.rows('SELECT count(*) FROM kept')).to.deep.equal([[0]]);
    expect(await page.getByRole('region', { name: 'Result' }).count()).to.equal(0);
  });

  it('runs PromQL over the range of the page, and at an instant', async () => {
    const page = await dashboard.open('query');
    await page.getByText('PromQL', { exact: true }).click();
    await typeAndRun(page, 'sum by (host) (cpu_usage)');
    await status(page, /series/);
    expect(page.url()).to.contain('mode=promql');
    await typeAndRun(page, 'vector(2) + 3');
    await page.getByRole('checkbox', { name: 'Instant' }).check();
    await grid(page, 'Series').getByRole('gridcell', { name: '5', exact: true }).waitFor();
    await expectAccessible(page);
  });

  it('draws results: lines over time, bars by name, or a number', async () => {
    for (const theme of ['light', 'dark'] as const) {
      const page = await dashboard.open('query?view=chart', { theme });
      await typeAndRun(page, 'SELECT almanac_timestamp, host, usage FROM cpu');
      const chart = page.getByRole('img', { name: /^3 series/ });
      await chart.waitFor();
      await expectAccessible(page);
      await typeAndRun(page, 'SELECT host, count(*) AS n FROM cpu GROUP BY host ORDER BY host');
      await page.getByRole('row', { name: /^h0 200/ }).waitFor();
      await expectAccessible(page);
      await typeAndRun(page, 'SELECT count(*) AS total FROM cpu');
      await page.getByText('600', { exact: true }).waitFor();
      await page.getByText('PromQL', { exact: true }).click();
      await typeAndRun(page, 'sum by (host) (cpu{__field__="usage"})');
      await chart.waitFor();
    }
  });

  it('marks the place of an error in PromQL', async () => {
    const page = await dashboard.open('query?mode=promql');
    await typeAndRun(page, 'sum(rate(up[5m])');
    await page.getByRole('alert').filter({ hasText: 'parse error' }).waitFor();
    await page
      .locator('.editor .cm-lintRange-error, .editor .cm-lintPoint-error')
      .first()
      .waitFor({ state: 'attached' });
  });

  it('marks the place of an error in SQL, in the statement that failed', async () => {
    const page = await dashboard.open('query');
    await replaceText(
      page.getByRole('textbox', { name: /^SQL\./ }),
      'SELECT 1;\nSELECT usage, missing_column FROM cpu',
    );
    await page.keyboard.press('Shift+Control+Enter');
    await page.getByRole('alert').filter({ hasText: 'missing_column' }).waitFor();
    const mark = page.locator('.editor .cm-lintRange-error');
    await mark.first().waitFor();
    expect(await mark.allTextContents()).to.deep.equal(['missing_column']);
  });

  it("opens links of Prometheus's own page", async () => {
    const page = await dashboard.open(
      'query?g0.expr=vector(7)&g0.tab=1&g0.range_input=2h&g0.end_input=2026-01-02%2003:04:05',
    );
    await grid(page, 'Series').getByRole('gridcell', { name: '7', exact: true }).waitFor();
    const { searchParams } = new URL(page.url());
    expect([...searchParams.keys()].filter((key) => key.startsWith('g0.'))).to.deep.equal([]);
    expect([searchParams.get('mode'), searchParams.get('to')]).to.deep.equal(['promql', '1767323045000']);
  });

  it('keeps a long query in the fragment, which no server sees', async () => {
    const page = await dashboard.open('query');
    const words = Array.from({ length: 400 }, (_, i) => `'word ${i}'`).join(', ');
    await typeAndRun(page, `SELECT 42 AS answer WHERE 'word 7' IN (${words})`);
    await status(page, /^1 row in/);
    const { hash, searchParams } = new URL(page.url());
    expect(hash).to.match(/^#z=[\w-]+$/);
    expect(searchParams.has('q')).to.equal(false);
    const other = await dashboard.open(`query${hash}`);
    await status(other, /^1 row in/);
    expect(await cells(other)).to.deep.equal(['42']);
  });

  it('completes tables, columns and words', async () => {
    const page = await dashboard.open('query');
    const editor = page.getByRole('textbox', { name: /^SQL\./ });
    await replaceText(editor, '');
    await editor.pressSequentially('SELECT us');
    await page.keyboard.press('End');
    await editor.pressSequentially(' FROM cp');
    await page.getByRole('option', { name: /^cpu/ }).click();
    await editor.getByText('FROM cpu').waitFor();
    await page.keyboard.press('Control+Home');
    for (let i = 0; i < 'SELECT us'.length; i++) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Control+Space');
    await page
      .getByRole('option', { name: /^usage/ })
      .first()
      .waitFor();
  });

  it('keeps tabs and history in the browser', async () => {
    const page = await dashboard.open('query');
    await typeAndRun(page, 'SELECT 11 AS first');
    await status(page, /^1 row in/);
    await page.getByRole('button', { name: 'New query' }).click();
    await typeAndRun(page, 'SELECT 22 AS second');
    await grid(page).getByRole('gridcell', { name: '22' }).waitFor();
    await page.goto(`${dashboard.almanac.url}/dashboard/query`);
    const tabs = page.getByRole('tablist', { name: 'Queries' }).getByRole('tab');
    await tabs.nth(1).waitFor();
    expect(await tabs.allTextContents()).to.deep.equal(['SELECT 11 AS first', 'SELECT 22 AS second']);
    await page.getByRole('button', { name: 'History' }).click();
    const dialog = page.getByRole('dialog', { name: 'History' });
    await dialog.getByRole('searchbox').fill('first');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: /SELECT 11/ }).click();
    await page
      .getByRole('textbox', { name: /^SQL\./ })
      .getByText('SELECT 11 AS first')
      .waitFor();
  });

  it('shows how a statement is run, as a tree, and measures it when that is wanted', async () => {
    const statement = 'SELECT a.host, count(*) FROM cpu a JOIN cpu b ON a.host = b.host GROUP BY 1';
    for (const theme of ['light', 'dark'] as const) {
      const page = await dashboard.open(`${queryLink(statement)}&view=plan`, { theme, isPublic: theme === 'dark' });
      const operators = page.getByRole('region', { name: 'Operators of the engine' });
      await operators.getByText('hash join').first().waitFor();
      await page.getByText(/^scan public\.cpu: /).waitFor();
      expect(await operators.getByRole('meter').count()).to.equal(0);
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Run it and measure' }).click();
      await operators.getByRole('meter').first().waitFor();
      await page.getByText(/The engine runs the query, because: .*engine [\d.]+/).waitFor();
      await operators.getByText('on the slowest way').first().waitFor();
      await expectAccessible(page);
    }
    const page = await dashboard.open(`${queryLink('SELECT max(usage) FROM cpu')}&view=plan`);
    await page.getByText(/^Kernels run the query/).waitFor();
    await typeAndRun(page, 'SHOW TABLES');
    await page.getByRole('alert').waitFor();
    await expectAccessible(page);
  });

  it('shows the parts of a query in PromQL, each with its own result', async () => {
    const text = 'sum by (host) (cpu{__field__="usage"}) / on(host) count_over_time(cpu{__field__="usage"}[5m]) > 0';
    const page = await dashboard.open(`query?mode=promql&view=plan&q=${encodeURIComponent(text)}`);
    const parts = page.getByRole('region', { name: 'Parts of the query' }).getByRole('listitem');
    const part = (title: string): ReturnType<Page['getByRole']> =>
      parts.filter({ has: page.getByText(title, { exact: true }) }).last();
    await part('sum by (host) (…)').getByText('3 series').first().waitFor();
    await part('count_over_time(…)').getByText('host 3').first().waitFor();
    await part('cpu{__field__="usage"}[5m]')
      .getByText(/^\d+ samples read$/)
      .waitFor();
    await status(page, /^6 parts/);
    await page.getByRole('button', { name: 'Run it and measure' }).click();
    await page.getByText(/samples at all steps, .* read, .*evaluating/).waitFor();
    await expectAccessibleInBothThemes(page);
    await typeAndRun(page, 'absent(nothing) or vector(1)');
    await part('nothing').getByText('0 series').waitFor();
    await part('vector(1)').getByText('{} 1').waitFor();
    await status(page, /^4 parts/);
  });

  it('describes the columns of a result, hides and pins them', async () => {
    const page = await dashboard.open(
      queryLink(
        "SELECT n, (n / 100)::DECIMAL(10, 2) AS price, CASE WHEN n % 2 = 0 THEN 'even' END AS kind, 7::DOUBLE AS same, repeat('w', 60) AS wide, " +
          "repeat('e', 60) AS wider FROM (SELECT unnest(range(1, 1001)) AS n)",
      ),
    );
    await page.getByRole('grid', { name: 'Rows' }).getByRole('gridcell', { name: 'even' }).first().waitFor();
    await page.getByRole('button', { name: 'Columns' }).click();
    const panel = page.getByRole('region', { name: 'Columns' });
    const facts = async (name: string): Promise<string[]> => {
      const row = panel.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) });
      await row.getByRole('cell', { name: '…' }).waitFor({ state: 'detached' });
      return (await row.getByRole('cell').allTextContents()).slice(3, 7);
    };
    expect((await facts('n')).map((text) => text.replace(/\D/g, ''))).to.deep.equal(['0', '1000', '1', '1000']);
    expect(await facts('kind')).to.deep.equal(['500', '1', 'even', 'even']);
    expect(await facts('same')).to.deep.equal(['0', '1', '7', '7']);
    // As numbers: as texts, 9.99 is the greatest.
    expect((await facts('price')).slice(2)).to.deep.equal(['0.01', '10.00']);
    await panel
      .getByRole('img', { name: /^Most values, 4[12], are in part/ })
      .nth(1)
      .waitFor();
    await expectAccessible(page);
    await panel.getByRole('checkbox', { name: 'Show kind' }).uncheck();
    const heads = page.getByRole('grid', { name: 'Rows' }).getByRole('columnheader');
    for (const cell of ['0.01', '10.00']) {
      await heads.getByRole('button', { name: 'price' }).click();
      await page.getByRole('row').filter({ hasText: cell }).and(page.locator('[aria-rowindex="2"]')).waitFor();
    }
    await heads.filter({ hasText: 'kind' }).waitFor({ state: 'detached' });
    await heads.filter({ hasText: 'same' }).waitFor();
    await page.getByRole('button', { name: 'Columns (1 hidden)' }).waitFor();
    await panel.getByRole('checkbox', { name: 'Pin same' }).focus();
    await page.keyboard.press('Space');
    await heads.first().filter({ hasText: 'same' }).waitFor();
    await page.setViewportSize({ width: 700, height: 900 });
    const leftOf = async (place: ReturnType<Page['getByRole']>): Promise<number> =>
      (await place.boundingBox())?.x ?? expect.fail('not drawn');
    const atLeft = await leftOf(heads.first());
    const rows = grid(page);
    await rows.focus();
    await page.keyboard.press('End');
    await eventually(async () => (await leftOf(heads.nth(1))) < atLeft);
    expect(await leftOf(heads.first())).to.equal(atLeft);
    expect(await leftOf(rows.getByRole('gridcell').first())).to.equal(atLeft);
    // A cell that the keys reach is not covered by the pinned ones.
    for (const key of ['Home', 'ArrowRight']) await page.keyboard.press(key);
    await eventually(async () => (await leftOf(heads.nth(1))) > atLeft);
    await expectAccessible(page);
  });

  it('opens a tab again that was closed by mistake', async () => {
    const page = await dashboard.open(queryLink('SELECT 12321'));
    await page.getByRole('button', { name: 'Close this query' }).click();
    await page.getByRole('status').filter({ hasText: 'SELECT 12321 was closed.' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('tab', { name: 'SELECT 12321', selected: true }).waitFor();
  });

  it('shows hostile names and values as text', async () => {
    const page = await dashboard.open(`query?q=${encodeURIComponent('SELECT * FROM odd')}`);
    await status(page, /^1 row in/);
    expect((await cells(page)).filter((text) => text.startsWith(HOSTILE))).to.have.length(2);
    await grid(page).getByRole('gridcell').first().dblclick();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(HOSTILE).first().waitFor();
    await expectAccessible(page);
    await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))");
    await dialog.getByRole('button', { name: 'Copy' }).click();
    await dialog.getByText('The browser did not allow copying. The text is selected.').waitFor();
    expect(await page.evaluate('String(getSelection())')).to.contain(HOSTILE);
    await dialog.getByRole('button', { name: 'Close' }).click();
    // While it is open, the grid receives no keys.
    await dialog.waitFor({ state: 'detached' });
    await grid(page, 'Rows').press('Control+c');
    await page.getByRole('alert').getByText('The browser did not allow copying.').waitFor();
  });

  it('scrolls a million rows to the end and back', async () => {
    const page = await dashboard.open('query');
    await typeAndRun(page, 'SELECT * FROM generate_series(1, 1000000) AS t(number)');
    await status(page, /^1\u202f000\u202f000 rows in/);
    await grid(page).focus();
    await page.keyboard.press('Control+End');
    await grid(page).getByRole('gridcell', { name: '1000000', exact: true }).waitFor();
    await page.keyboard.press('Control+Home');
    await grid(page).getByRole('gridcell', { name: '1', exact: true }).waitFor();
    expect(await grid(page).getByRole('row').count()).to.be.lessThan(100);
    expect(await grid(page).getAttribute('aria-rowcount')).to.equal('1000001');
  });

  it('shows how much a long statement has read, and cancels it, also on the server', async () => {
    const page = await dashboard.open('query');
    // The engine reports what it has read after each 100,000 rows of a thread: some seconds each here, ten of them.
    for (let from = 0; from < 1_000_000; from += 100_000) {
      const rows = Array.from({ length: 100_000 }, (_, i) => `many v=${i} ${from + i}`);
      await dashboard.almanac.written(rows.join('\n'));
    }
    const text = 'md5(repeat(md5(repeat(almanac_timestamp::STRING, 500)), 100))';
    await typeAndRun(page, `SELECT max(${text}) FROM many`);
    await page.getByText(/^Running for [1-9]\d* s$/).waitFor();
    await page.getByRole('progressbar', { name: 'Progress of the query' }).waitFor();
    await page.getByText(/^Read: [1-9]/).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await status(page, /^Cancelled after/);
    await page.getByRole('progressbar').waitFor({ state: 'detached' });
    const deadlineMs = Date.now() + 20_000;
    for (;;) {
      const running = await dashboard.almanac.rows('SHOW PROCESSLIST');
      if (!JSON.stringify(running).includes('almanac_timestamp')) break;
      expect(Date.now()).to.be.lessThan(deadlineMs);
    }
  });

  it('downloads all rows as the server writes them', async () => {
    const page = await dashboard.open(
      `query?q=${encodeURIComponent('SELECT host FROM cpu WHERE usage > 6 ORDER BY host LIMIT 2')}`,
    );
    await status(page, /^2 rows/);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV' }).click(),
    ]);
    const stream = await download.createReadStream();
    let text = '';
    for await (const chunk of stream) text += String(chunk);
    expect(text).to.equal('host\r\nh0\r\nh0\r\n');
  });
});
