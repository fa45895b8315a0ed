import { readFileSync } from 'node:fs';

import { expect } from 'chai';
import type { Page } from 'playwright-core';

import { needChromium } from '#test/support/browser';
import { eventually } from '#test/support/conditions';
import { Dashboard, expectAccessible, expectAccessibleInBothThemes } from '#test/support/dashboard';

/** Would show an alert if it were HTML, and turns the direction of writing. */
const HOSTILE = '<img src=x onerror=alert(1)> \u202eabc\u0000';
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

const list = (page: Page) => page.getByRole('list', { name: 'Lines' });
const linesOf = (page: Page) => list(page).getByRole('listitem');
const searchField = (page: Page) => page.getByRole('searchbox', { name: 'Search', exact: true });
const footOf = (page: Page) => page.getByRole('main').getByRole('status');

describe('the dashboard: logs', function () {
  this.timeout(180_000);
  let dashboard: Dashboard;
  let nowNs: bigint;

  before(needChromium);

  before(async () => {
    dashboard = await Dashboard.start();
    nowNs = BigInt(Date.now()) * 1_000_000n;
    const at = (secondsAgo: number): string => String(nowNs - BigInt(secondsAgo) * 1_000_000_000n);
    await push({ app: 'shop', level: 'info' }, [
      ...Array.from({ length: 60 }, (_, i): [string, string] => [at(600 + i), `request ${i} served`]),
      [at(500), 'disk half full'],
      [at(499), 'disk half full'],
      [at(498), 'level=info msg="cache warmed" took=5 url=https://example.test/a'],
    ]);
    await push({ app: 'shop', level: 'error' }, [[at(400), `disk full trace_id=${TRACE_ID}`]]);
    await push({ app: 'web', level: 'warn' }, [
      [at(300), '\u001b[31mslow\u001b[0m disk'],
      [at(200), HOSTILE],
      [at(100), `${'long '.repeat(2000)}end`],
    ]);
    await push({ app: HOSTILE, level: 'debug' }, [[at(50), 'odd stream']]);
  });

  afterEach(() => dashboard.closePages());

  after(() => dashboard?.stop());

  async function push(stream: Record<string, string>, values: [string, string][], db = 'public'): Promise<void> {
    const body = JSON.stringify({ streams: [{ stream, values }] });
    const headers = { 'content-type': 'application/json', 'x-almanac-db-name': db };
    const { status, text } = await dashboard.almanac.post('/v1/loki/api/v1/push', body, headers);
    expect(status, text).to.equal(204);
  }

  async function expectFound(page: Page, count: number): Promise<void> {
    await footOf(page)
      .getByText(new RegExp(`^${count} lines?$`))
      .waitFor();
  }

  for (const theme of ['light', 'dark'] as const) {
    for (const isPublic of [false, true]) {
      const listener = isPublic ? 'public' : 'main';
      it(`shows lines, counts and fields on the ${listener} listener in the ${theme} theme`, async () => {
        const page = await dashboard.open('logs', { theme, isPublic });
        await expectFound(page, 68);
        await page.getByRole('img', { name: /^68 lines from .*: error 1, warn 3, info 63, debug 1$/ }).waitFor();
        await linesOf(page).first().getByText('odd stream').waitFor();
        await page.getByRole('button', { name: 'app', exact: true }).click();
        await page.getByRole('button', { name: 'shop 64' }).waitFor();
        await linesOf(page).getByText('<img src=x onerror=alert(1)>').waitFor();
        await expectAccessible(page);
      });
    }

    it(`explains what is missing or wrong in the ${theme} theme`, async () => {
      await dashboard.almanac.sql('CREATE DATABASE IF NOT EXISTS empty');
      const page = await dashboard.open('logs?db=empty', { theme });
      await page.getByRole('heading', { name: 'There are no logs yet' }).waitFor();
      await expectAccessible(page);
      const wrong = await dashboard.open('logs?s=nope%3D1', { theme });
      await wrong.getByRole('alert').getByText('table "loki_logs" has no column "nope"').waitFor();
      await expectAccessible(wrong);
      const past = await dashboard.open('logs?from=now-1s&to=now', { theme });
      await past.getByRole('button', { name: 'Show the hour before it' }).click();
      await expectFound(past, 68);
    });
  }

  it('searches by words, fields, levels and alternatives, and keeps the search in the address', async () => {
    const page = await dashboard.open('logs');
    const counts: [string, number][] = [
      ['disk', 4],
      ['disk -half', 2],
      ['"half full" OR cache', 3],
      ['level>=warn', 4],
      ['(long OR cache) app=web', 1],
      ['line~"^request 1\\d "', 10],
      ['app!=shop', 4],
    ];
    for (const [text, count] of counts) {
      await searchField(page).fill(text);
      await searchField(page).press('Enter');
      await expectFound(page, count);
      expect(new URL(page.url()).searchParams.get('s')).to.equal(text);
    }
    await page.goBack();
    await expectFound(page, 10);
    expect(await searchField(page).inputValue()).to.equal('line~"^request 1\\d "');
    // A line that cannot be read has no result.
    await searchField(page).fill('level>= "foo');
    await searchField(page).press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await linesOf(page).count()).to.equal(0);
    expect(await page.getByRole('region', { name: 'Lines over time' }).count()).to.equal(0);
    await page.goBack();
    await expectFound(page, 10);
  });

  it('marks the words that were found, and colours of terminals', async () => {
    const page = await dashboard.open('logs?s=disk');
    await expectFound(page, 4);
    expect(await list(page).locator('mark').allTextContents()).to.deep.equal(['disk', 'disk', 'disk', 'disk']);
    await linesOf(page).getByText('slow', { exact: true }).waitFor();
  });

  it('includes and excludes values of fields by a click', async () => {
    const page = await dashboard.open('logs');
    await page.getByRole('button', { name: 'app', exact: true }).click();
    await page.getByRole('button', { name: 'web 3' }).click();
    await expectFound(page, 3);
    await page.getByRole('button', { name: 'web 3' }).click({ modifiers: ['Alt'] });
    await expectFound(page, 65);
    expect(await searchField(page).inputValue()).to.equal('app!=web');
  });

  it('shows the fields of a line, and what is parsed from it', async () => {
    const page = await dashboard.open('logs?s=cache');
    await page.getByRole('button', { name: /^Fields of the line/ }).click();
    await page.getByRole('rowheader', { name: 'took' }).waitFor();
    const link = page.getByRole('link', { name: 'https://example.test/a' });
    expect(await link.getAttribute('rel')).to.equal('noopener noreferrer nofollow');
    await page.reload();
    await page.getByRole('rowheader', { name: 'took' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'No lines with this app' }).click();
    expect(await searchField(page).inputValue()).to.equal('cache app!=shop');
  });

  it('shows the neighbours of a line in its stream, and more of them', async () => {
    const page = await dashboard.open('logs?s=%22request%2030%22');
    await page.getByRole('button', { name: /^Fields of the line/ }).click();
    await page.getByRole('button', { name: 'Show context' }).click();
    const around = page.getByRole('region', { name: 'Context of a line' });
    await eventually(async () => (await around.getByRole('listitem').count()) === 41);
    expect(await around.locator('[aria-current]').textContent()).to.contain('request 30 served');
    await expectAccessible(page);
    const current = around.locator('[aria-current]');
    const topBefore = (await current.boundingBox())?.y ?? NaN;
    await page.getByRole('button', { name: '20 more before' }).evaluate((button) => {
      (button as unknown as { click: () => void }).click();
    });
    await page.getByText('No more lines before').waitFor({ state: 'attached' });
    expect((await current.boundingBox())?.y).to.be.closeTo(topBefore, 2);
    await page.getByRole('button', { name: 'Back to the search' }).click();
    await expectFound(page, 1);
  });

  it('links a line to its trace', async () => {
    const page = await dashboard.open('logs?s=%22disk%20full%22');
    await page.getByRole('button', { name: /^Fields of the line/ }).click();
    const link = page.getByRole('link', { name: /^Open trace/ });
    expect(new URL((await link.getAttribute('href')) ?? '', page.url()).searchParams.get('id')).to.equal(TRACE_ID);
  });

  it('shows lines as a table of chosen columns, and as JSON', async () => {
    const page = await dashboard.open('logs?s=disk');
    await page.getByRole('button', { name: 'Table', exact: true }).click();
    const grid = page.getByRole('grid', { name: 'Lines as a table' });
    await grid.getByRole('columnheader', { name: 'level' }).waitFor();
    await page.getByText(/^Columns \(/).click();
    await page.getByRole('checkbox', { name: 'level' }).uncheck();
    await grid.getByRole('columnheader', { name: 'level' }).waitFor({ state: 'detached' });
    await expectAccessible(page);
    await page.getByRole('button', { name: 'JSON', exact: true }).click();
    await linesOf(page).getByText('"app":"web"').waitFor();
    await expectAccessible(page);
  });

  it('groups lines by patterns, of which a click or a key includes or excludes one', async () => {
    const page = await dashboard.open('logs?view=patterns');
    const rows = page.getByRole('region', { name: 'Patterns' }).getByRole('row');
    const requests = rows.filter({ hasText: 'request <number> served' });
    await requests.getByRole('cell', { name: '88 %' }).waitFor();
    await requests.getByText('request 0 served').waitFor();
    expect(await rows.nth(1).textContent()).to.match(/^60/);
    await requests.getByRole('img', { name: /^At most \d+ lines in / }).waitFor();
    await expectAccessibleInBothThemes(page);
    await requests.getByRole('button', { name: 'request <number> served', exact: true }).press('Enter');
    await expectFound(page, 60);
    expect(await searchField(page).inputValue()).to.equal('line~"^request\\\\s+-?\\\\d+(?:\\\\.\\\\d+)*\\\\s+served$"');
    await requests.getByRole('button', { name: 'Exclude the pattern' }).press('Enter');
    await expectFound(page, 8);
    // Colours of terminals, control characters, IDs and lines that are cut are found again by the server too.
    for (const [left, text] of [
      [7, 'slow disk'],
      [6, '<img src=x'],
      [5, 'long long'],
      [4, 'trace_id=<hex>'],
    ] as const) {
      await rows
        .filter({ hasText: text })
        .getByRole('button')
        .first()
        .click({ modifiers: ['Alt'] });
      await expectFound(page, left);
    }
    await page.reload();
    await rows.filter({ hasText: 'disk half full' }).getByRole('cell', { name: '50 %' }).waitFor();
  });

  it('joins repeats, and turns the order', async () => {
    const page = await dashboard.open('logs?s=disk');
    await expectFound(page, 4);
    await page.getByRole('checkbox', { name: 'Join repeats' }).check();
    await linesOf(page).getByText('× 2').waitFor();
    await page.getByRole('button', { name: 'Newest first' }).click();
    await linesOf(page).first().getByText('half full').waitFor();
  });

  it('moves through lines by keys', async () => {
    const page = await dashboard.open('logs');
    await expectFound(page, 68);
    await page.keyboard.press('/');
    await page.keyboard.type('disk');
    expect(await searchField(page).inputValue()).to.equal('disk');
    await list(page).focus();
    await page.keyboard.press('n');
    await page.keyboard.press('Enter');
    await page.getByRole('rowheader', { name: 'app', exact: true }).waitFor();
    await linesOf(page).getByText('disk full').first().waitFor();
  });

  it('narrows the range by dragging over the counts', async () => {
    const page = await dashboard.open('logs');
    const image = page.getByRole('img', { name: /^68 lines/ });
    const box = await image.boundingBox();
    expect(box).to.not.equal(null);
    if (box === null) return;
    await page.mouse.move(box.x + box.width * 0.9, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.999, box.y + 10);
    await page.mouse.up();
    await page.getByRole('img', { name: /^[1-9] lines? / }).waitFor();
    expect(new URL(page.url()).searchParams.get('from')).to.match(/^\d+$/);
  });

  it('opens the search as a statement in Query', async () => {
    const page = await dashboard.open('logs?s=disk');
    await expectFound(page, 4);
    await page.getByRole('link', { name: 'Open in Query' }).click();
    // It runs by itself, and the button would cancel it.
    await page.getByText(/^4 rows/).waitFor();
    await page.getByRole('button', { name: 'Run' }).first().click();
    await page.getByText(/^4 rows/).waitFor();
  });

  it('searches OpenTelemetry logs by attributes, and by severity without its text', async () => {
    await dashboard.almanac.sql('CREATE DATABASE IF NOT EXISTS otlp');
    const record = (severityNumber: number, body: string, attributes: Record<string, string>) => ({
      timeUnixNano: String(nowNs),
      severityNumber,
      body: { stringValue: body },
      attributes: Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } })),
    });
    const logRecords = [
      record(17, 'first', { 'user.name': 'ann', size: '9' }),
      record(9, 'second', { 'user.name': 'bob', size: '10' }),
      record(0, 'third', {}),
    ];
    const { status, text } = await dashboard.almanac.post(
      '/v1/otlp/v1/logs',
      JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
      { 'content-type': 'application/json', 'x-almanac-db-name': 'otlp' },
    );
    expect(status, text).to.equal(200);
    const page = await dashboard.open('logs?db=otlp&s=severity_text%3E%3Dwarn');
    await expectFound(page, 1);
    await page.getByRole('img', { name: /^1 line from .*: error 1$/ }).waitFor();
    await searchField(page).fill('log_attributes.size>9 OR third');
    await searchField(page).press('Enter');
    await expectFound(page, 2);
    await page.getByRole('button', { name: 'log_attributes.user.name' }).click();
    await page.getByRole('button', { name: 'bob 1' }).click();
    await expectFound(page, 1);
    await linesOf(page).getByText('second').waitFor();
    await page.getByRole('button', { name: /^Fields of the line/ }).click();
    await page.getByRole('button', { name: 'No lines with this log_attributes.user.name' }).click();
    await expectFound(page, 1);
    await linesOf(page).getByText('third').waitFor();
  });

  it('loads more lines, and saves them', async () => {
    const page = await dashboard.open('logs?limit=10&s=request');
    await page.getByText('10 of 60 lines').waitFor();
    await page.getByRole('button', { name: 'Load more' }).click();
    await expectFound(page, 60);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    const path = await (await download).path();
    const saved = readFileSync(path, 'utf8').trimEnd().split('\n');
    expect(saved).to.have.length(60);
    expect(JSON.parse(saved[0])).to.include({ app: 'shop', level: 'info', line: 'request 0 served' });
  });

  it('follows new lines, and counts them while the user looks at older ones', async () => {
    const page = await dashboard.open('logs?live=1&s=(tail%20OR%20other)%20level%3E%3Dinfo');
    await page.getByText('Live', { exact: true }).last().waitFor();
    const live = page.getByRole('region', { name: 'Live tail' });
    await live.getByText('Live', { exact: true }).waitFor();
    await expectAccessible(page);
    const write = (from: number, count: number, level = 'info'): Promise<void> => {
      const values = Array.from({ length: count }, (_, i): [string, string] => [
        String(BigInt(Date.now()) * 1_000_000n + BigInt(i)),
        `tail ${from + i}`,
      ]);
      return push({ app: 'tail', level }, values);
    };
    await write(0, 100);
    await live.getByText('tail 99', { exact: true }).waitFor();
    await write(1000, 10, 'debug');
    await list(page).hover();
    await page.mouse.wheel(0, -1000);
    await eventually(async () => (await live.getByText('tail 99', { exact: true }).count()) === 0);
    await write(100, 5);
    await live.getByRole('button', { name: '5 new' }).click();
    await live.getByText('tail 104', { exact: true }).waitFor();
    expect(await live.getByText(/^tail 10\d\d$/).count()).to.equal(0);
  });
});
