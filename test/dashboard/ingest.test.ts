import { readFileSync } from 'node:fs';

import { expect } from 'chai';

import { needChromium } from '#test/support/browser';
import { Dashboard, expectAccessible, replaceText } from '#test/support/dashboard';

describe('the Ingest and Pipelines screens', function () {
  this.timeout(120_000);
  let dashboard: Dashboard;

  before(needChromium);

  before(async () => {
    dashboard = await Dashboard.start();
  });

  afterEach(() => dashboard.closePages());

  after(() => dashboard?.stop());

  it('shows settings with the address of the server, and says when data arrives', async () => {
    for (const theme of ['light', 'dark'] as const) {
      const page = await dashboard.open('ingest', { theme, isPublic: theme === 'dark' });
      const url = theme === 'dark' ? dashboard.publicUrl : dashboard.almanac.url;
      const prometheus = page.getByRole('region', { name: 'Prometheus' });
      expect(await prometheus.locator('pre').textContent()).to.contain(`url: ${url}/v1/prometheus/write`);
      await expectAccessible(page);
    }
    await dashboard.almanac.sql('CREATE DATABASE other');
    const other = await dashboard.open('ingest?db=other');
    for (const title of ['OpenTelemetry SDK', 'OpenTelemetry Collector']) {
      const settings = await other.getByRole('region', { name: title }).locator('pre').textContent();
      expect(settings).to.match(/x-almanac-db-name[=:] ?other$/);
    }
    const page = await dashboard.open('ingest');
    await page.getByText('Waiting for the first data in public…').waitFor();
    const curl = await page.getByRole('region', { name: 'curl, line protocol' }).locator('pre').textContent();
    const [, target, body] = /'([^']+)' --data-binary '([^']+)'/.exec(curl ?? '') ?? [];
    expect((await fetch(target, { method: 'POST', body })).status).to.equal(204);
    await page.getByText('✓ Data has arrived in public.').waitFor();
  });

  it('writes lines, and marks those that were refused', async () => {
    const page = await dashboard.open('ingest?kind=lines');
    const field = page.getByLabel('Lines', { exact: true });
    await field.fill('pasted,host=a v=1 1\n<b>bad line\npasted,host=b v=2 2\npasted v=attic 3\n');
    await page.getByLabel('Times are in').selectOption('ms');
    await page.getByRole('button', { name: 'Write' }).click();
    await page.getByText('2 lines were stored.').waitFor();
    await page
      .getByRole('alert')
      .getByText(/^line 2: /)
      .waitFor();
    await page.getByRole('alert').getByText('line 4: invalid boolean: strings are in double quotes').waitFor();
    expect(await dashboard.almanac.rows('SELECT host, v FROM pasted ORDER BY host')).to.deep.equal([
      ['a', 1],
      ['b', 2],
    ]);
    await expectAccessible(page);
    expect(await page.getByRole('link', { name: 'Open in Query' }).getAttribute('href')).to.contain(
      String(new URLSearchParams({ q: 'SELECT * FROM "pasted" LIMIT 1000' })),
    );
    // What was typed is still there after a reload, with its unit.
    await page.reload();
    expect(await field.inputValue()).to.contain('bad line');
    expect(await page.getByLabel('Times are in').inputValue()).to.equal('ms');
  });

  it('points out times in another unit before it writes lines', async () => {
    const page = await dashboard.open('ingest?kind=lines');
    const field = page.getByLabel('Lines', { exact: true });
    // The example says where the time is.
    expect(await field.inputValue()).to.match(/ \d{19}\n$/);
    await field.fill('# seconds\nwith\\ unit,host=a v="x 1" 1795000000\n');
    await page.getByRole('button', { name: 'Write', exact: true }).click();
    const question = page.getByRole('alert');
    await question.getByText('With nanoseconds these times are in 1970. With seconds they are in 2026.').waitFor();
    await expectAccessible(page);
    await question.getByRole('button', { name: 'Write with seconds' }).click();
    await page.getByText('1 line was stored.').waitFor();
    expect(await page.getByLabel('Times are in').inputValue()).to.equal('s');
    await page.getByRole('link', { name: 'Open in Query' }).click();
    await page.getByRole('gridcell', { name: '2026-11-18', exact: false }).waitFor();
    expect(page.url()).to.contain(String(new URLSearchParams({ q: 'SELECT * FROM "with unit" LIMIT 1000' })));
    await page.goBack();
    await field.fill('with\\ unit,host=b v="x" 1795000000000000000\n');
    await page.getByRole('button', { name: 'Write', exact: true }).click();
    await question.getByText(/^With seconds these times are in .* With nanoseconds they are in 2026\.$/).waitFor();
    await field.fill('with\\ unit,host=b v="y" 1795\n');
    await question.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Write', exact: true }).click();
    await page.getByText('1 line was stored.').waitFor();
  });

  it('tries a pipeline while it is typed, stores versions, compares and deletes them', async () => {
    for (const theme of ['light', 'dark'] as const) {
      const page = await dashboard.open('pipelines', { theme });
      const rows = page.getByRole('grid', { name: 'Rows of dry_run' });
      await rows.getByRole('gridcell', { name: 'nothing in stock' }).waitFor();
      await expectAccessible(page);
    }
    const page = await dashboard.open('pipelines');
    await page.getByLabel(/^Samples:/).fill('{"n": 1}\n{"n": "<img src=x onerror=alert(1)>"}');
    const editor = page.getByRole('textbox', { name: /^Pipeline in YAML/ });
    await replaceText(editor, 'transform: [{field: n, type: int32}]');
    await page
      .getByText(/Failed to coerce string value/)
      .first()
      .waitFor();
    await page.getByLabel(/^Samples:/).fill('{"n": 1}\n{"n": 22}');
    await page.getByRole('grid').getByRole('gridcell', { name: '22', exact: true }).waitFor();
    await page.getByText('All items became rows.').waitFor();
    await page.getByLabel('Name').fill('numbers');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(/^Stored as version/).waitFor();
    await replaceText(editor, 'transform: [{field: n, type: int64}]');
    await page.getByRole('button', { name: 'Save' }).click();
    const versions = page.getByRole('region', { name: 'Versions' });
    await versions.getByRole('listitem').nth(1).waitFor();
    await versions.getByRole('button', { name: 'Compare' }).nth(1).click();
    await versions.getByText('- transform: [{field: n, type: int32}]').waitFor();
    await expectAccessible(page);
    await versions.getByRole('button', { name: 'Delete' }).first().click();
    await versions.getByRole('button', { name: 'Delete this version for good' }).click();
    await versions.getByRole('listitem').nth(1).waitFor({ state: 'detached' });
    const left = await dashboard.almanac.get('/v1/pipelines/numbers');
    expect(left.text).to.contain('int32');
  });

  it('sends text through a pipeline', async () => {
    const page = await dashboard.open('ingest?kind=items');
    await page.getByLabel('Table', { exact: true }).fill('items');
    await page.getByLabel('Items', { exact: true }).fill('{"a": 1}\n{"a": 2, "b": "x"}\n');
    await page.getByRole('button', { name: 'Write' }).click();
    await page.getByText('2 rows were stored.').waitFor();
    expect(await dashboard.almanac.rows('SELECT a, b FROM items ORDER BY a')).to.deep.equal([
      [1, null],
      [2, 'x'],
    ]);
    await page.getByLabel('Items', { exact: true }).fill('nonsense');
    await page.getByRole('button', { name: 'Write' }).click();
    await page.getByRole('alert').waitFor();
    await expectAccessible(page);
  });

  it('uploads a CSV file into a new table, then into the same one, and lists the rows that it cannot store', async () => {
    for (const theme of ['light', 'dark'] as const) {
      const page = await dashboard.open('ingest?kind=csv', { theme, isPublic: theme === 'dark' });
      await page.getByLabel('CSV file, chosen or dropped here').waitFor();
      await expectAccessible(page);
    }
    const page = await dashboard.open('ingest?kind=csv');
    const choose = async (name: string, text: string): Promise<void> => {
      const file = { name, mimeType: 'text/csv', buffer: Buffer.from(text) };
      await page.getByLabel('CSV file, chosen or dropped here').setInputFiles(file);
    };
    const head = 'time;host;load;note\n';
    await choose('my loads.csv', `${head}2026-11-21 10:00:00;a;1.5;"two\nlines; <b>"\n2026-11-21 10:01:00;b;;x\n`);
    await page.getByRole('grid', { name: 'First rows of the file' }).getByText('two').waitFor();
    await page.getByRole('combobox', { name: 'Use of note' }).selectOption('left out');
    await page.getByRole('combobox', { name: 'Use of note' }).selectOption('field');
    await page.getByRole('textbox', { name: 'Name of load' }).fill('load avg');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Upload' }).click();
    await page.getByText('2 rows were stored.').waitFor();
    const rows = 'SELECT host, "load avg", note FROM my_loads ORDER BY time';
    expect(await dashboard.almanac.rows(rows)).to.deep.equal([
      ['a', 1.5, 'two\nlines; <b>'],
      ['b', null, 'x'],
    ]);

    const more = `time;host;load avg\n2026-11-21 10:02:00;c;3\nnever;d;4\n2026-11-21 10:03:00;e;high\n`;
    await choose('my_loads.csv', more);
    await page.getByText('Rows are added to the table that exists.').waitFor();
    await page.getByRole('button', { name: 'Upload' }).click();
    await page.getByText('1 row was stored.').waitFor();
    const rejected = page.getByRole('alert').filter({ hasText: '2 rows were rejected.' });
    await rejected.getByText('row 2: time is "never", which is no timestamp(3)').waitFor();
    await expectAccessible(page);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      rejected.getByRole('button', { name: 'Download them' }).click(),
    ]);
    expect(readFileSync(await download.path(), 'utf8')).to.equal(
      'row,reason,time,host,load avg\r\n2,"time is ""never"", which is no timestamp(3)",never,d,4\r\n' +
        '3,"load avg is ""high"", which is no double",2026-11-21 10:03:00,e,high\r\n',
    );
    expect(await dashboard.almanac.rows('SELECT count(*) FROM my_loads')).to.deep.equal([[3]]);
  });

  it('stops an upload, and leaves nothing that was not reported', async () => {
    const page = await dashboard.open('ingest?kind=csv');
    const lines = Array.from({ length: 400_000 }, (_, i) => `${1_700_000_000_000 + i},h${i % 7},${i}`);
    const buffer = Buffer.from(['ts,host,v', ...lines].join('\n'));
    const field = page.getByLabel('CSV file, chosen or dropped here');
    await field.setInputFiles({ name: 'long.csv', mimeType: 'text/csv', buffer });
    await page.getByRole('button', { name: 'Upload' }).click();
    await page.getByText(/^[1-9][\d\s]*,?\d* rows stored, 0 rejected$/).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    const text = (await page.getByText(/^Stopped\. .* rows were stored/).textContent()) ?? '';
    const reported = Number(/^Stopped\. ([\d\D]*?) rows/.exec(text)?.[1].replace(/\D/g, ''));
    const [[stored]] = await dashboard.almanac.rows('SELECT count(*) FROM long');
    expect(stored).to.be.within(reported, reported + 1000);
    expect(stored).to.be.lessThan(400_000);
  });
});

describe('the dashboard for users', function () {
  this.timeout(120_000);
  let dashboard: Dashboard;

  before(needChromium);

  before(async () => {
    dashboard = await Dashboard.start({
      ALMANAC_STANDALONE__USER_PROVIDER: 'static_user_provider:cmd:root=right,reader:ro=read',
    });
    const headers = { authorization: `Basic ${Buffer.from('root:right').toString('base64')}` };
    const written = await fetch(`${dashboard.almanac.url}/v1/lineproto/write`, {
      method: 'POST',
      body: 'cpu v=1 1',
      headers,
    });
    expect(written.status).to.equal(204);
  });

  afterEach(() => dashboard.closePages());

  after(() => dashboard?.stop());

  it('requires credentials once, repeats the request with them, and loses them with the page', async () => {
    const page = await dashboard.open(`query?q=${encodeURIComponent('SELECT v FROM cpu')}`);
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.waitFor();
    await expectAccessible(page);
    await dialog.getByLabel('User').fill('root');
    await dialog.getByLabel(/^Password/).fill('wrong');
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.getByLabel(/^Password/).fill('right');
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('grid', { name: 'Rows' }).getByRole('gridcell', { name: '1', exact: true }).waitFor();
    await page.getByText('user root').waitFor();
    expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])')).to.not.contain(
      'cm9vd',
    );
    await page.reload();
    await dialog.waitFor();
  });

  it('does not open the dialog again that was closed, until the user does', async () => {
    const page = await dashboard.open('queries');
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    const button = page.getByRole('contentinfo').getByRole('button', { name: 'Sign in' });
    await button.waitFor();
    // The screen loads once a second.
    await page.waitForResponse((response) => response.status() === 401);
    await page.waitForResponse((response) => response.status() === 401);
    expect(await dialog.isVisible()).to.equal(false);
    await button.click();
    await dialog.getByLabel('User').fill('root');
    await dialog.getByLabel(/^Password/).fill('right');
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('user root').waitFor();
  });

  it('offers a reader nothing that would be refused', async () => {
    const page = await dashboard.open('tables?t=cpu&tab=storage');
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.getByLabel('User').fill('reader');
    await dialog.getByLabel(/^Password/).fill('read');
    await dialog.getByLabel(/^Stay signed in/).check();
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('table', { name: 'Regions' }).waitFor();
    await page.getByText('user reader').waitFor();
    expect(await page.getByRole('button', { name: 'Drop' }).count()).to.equal(0);
    expect(
      await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Configuration' }).count(),
    ).to.equal(0);
    await page.goto(`${dashboard.almanac.url}/dashboard/ingest?kind=lines`);
    await page.getByText('You may read public, but not write to it.').waitFor();
    expect(await page.getByRole('button', { name: 'Write' }).count()).to.equal(0);
    await page.goto(`${dashboard.almanac.url}/dashboard/config`);
    await page.waitForURL('**/dashboard/query');
  });
});
