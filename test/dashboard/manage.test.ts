import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';
import type { Page } from 'playwright-core';

import { basic, rowsIn, sqlAs, writeAs } from '#test/support/as-user';
import { needChromium } from '#test/support/browser';
import { Dashboard, expectAccessible, expectAccessibleInBothThemes } from '#test/support/dashboard';
import { tempFolder } from '#test/support/temp-folder';

const ROOT_USER = { name: 'root', password: 'right' };
const ROOT = basic('root', 'right');
const HOSTILE = `<img src=x onerror=alert(1)> "o'n"`;
/** It begins like a hash, and has what ends texts of SQL. */
const PASSWORD = `scrypt:it's "1"`;

describe('the screens that manage users, flows and views', function () {
  this.timeout(120_000);
  let dashboard: Dashboard;
  let cleanUp: () => void = () => undefined;

  before(needChromium);

  before(async () => {
    const users = join(
      tempFolder((after) => (cleanUp = after)),
      'users',
    );
    writeFileSync(users, 'root:admin=right\nscoped:admin@public=scoped\nreader:ro=read\n');
    dashboard = await Dashboard.start({ ALMANAC_STANDALONE__USER_PROVIDER: `static_user_provider:file:${users}` });
    await sql('CREATE TABLE requests (host STRING, ts TIMESTAMP TIME INDEX, v DOUBLE, PRIMARY KEY (host))');
    await sql("INSERT INTO requests VALUES ('a', 1000, 2), ('a', 61000, 2)");
  });

  afterEach(() => dashboard.closePages());

  after(async () => {
    await dashboard?.stop();
    cleanUp();
  });

  async function sql(text: string): Promise<void> {
    const { status, text: reply } = await sqlAs(dashboard.almanac, text, ROOT);
    expect(status, reply).to.equal(200);
  }

  const statusOf = async (authorization: string): Promise<number> =>
    (await sqlAs(dashboard.almanac, 'SELECT 1', authorization)).status;
  const shows = (page: Page, text: string | RegExp): Promise<void> =>
    page.getByRole('main').getByRole('status').filter({ hasText: text }).waitFor();

  it('creates users, changes their rights, tokens and passwords, and deletes them', async () => {
    const page = await dashboard.open('users', { user: ROOT_USER });
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByText('SQL manages no user yet.').waitFor();
    const form = page.getByRole('form', { name: 'New user' });
    const create = async (): Promise<void> => {
      await form.getByLabel('Name').fill(HOSTILE);
      await form.getByLabel('Password').fill(PASSWORD);
      await form.getByRole('button', { name: 'Create' }).click();
    };
    await create();
    await page.getByText('The user may do nothing yet.').waitFor();
    expect(await form.getByLabel('Password').inputValue()).to.equal('');
    expect(await statusOf(basic(HOSTILE, PASSWORD)), 'without rights').to.equal(403);
    await create();
    await form.getByRole('alert').filter({ hasText: 'already exists' }).waitFor();

    const rights = page.getByRole('region', { name: 'Rights' });
    const right = (database: string): ReturnType<Page['getByRole']> =>
      rights.getByRole('row').filter({ has: page.getByRole('rowheader', { name: database, exact: true }) });
    await rights.getByLabel('May').selectOption('read and write');
    await rights.getByRole('button', { name: 'Grant' }).click();
    await right('public').getByRole('cell', { name: 'read and write', exact: true }).waitFor();
    expect((await writeAs(dashboard.almanac, basic(HOSTILE, PASSWORD))).status).to.equal(204);
    await rights.getByLabel('May').selectOption('write');
    await rights.getByRole('button', { name: 'Revoke', exact: true }).click();
    await right('public').getByRole('cell', { name: 'read', exact: true }).waitFor();
    expect((await writeAs(dashboard.almanac, basic(HOSTILE, PASSWORD))).status).to.equal(403);
    await rights.getByLabel(/^database/).fill('*');
    await rights.getByRole('button', { name: 'Grant' }).click();
    await right('all databases').waitFor();
    const listed = page.getByRole('table', { name: 'Users' }).getByRole('row').filter({ hasText: HOSTILE });
    await listed.getByRole('cell', { name: 'write all databases, read public' }).waitFor();
    await rights.getByRole('button', { name: 'Revoke all rights on all databases' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await right('all databases').waitFor({ state: 'detached' });

    const tokens = page.getByRole('region', { name: 'Tokens' });
    await tokens.getByLabel('New token').fill(HOSTILE);
    await tokens.getByRole('button', { name: 'Create' }).click();
    await tokens.getByRole('group', { name: 'The new token' }).getByRole('button', { name: 'Copy' }).click();
    await shows(page, 'Copied.');
    const token = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(await statusOf(`Bearer ${token}`)).to.equal(200);
    await tokens.getByRole('rowheader', { name: HOSTILE }).waitFor();
    await expectAccessibleInBothThemes(page);
    await page.reload();
    await tokens.getByRole('rowheader', { name: HOSTILE }).waitFor();
    const kept = await page.evaluate<string>(
      'JSON.stringify([location.href, history.state, localStorage, sessionStorage, document.documentElement.outerHTML])',
    );
    expect(kept).to.not.contain(token).and.to.not.contain('scrypt');
    await tokens.getByRole('button', { name: `Delete the token ${HOSTILE}` }).click();
    const dialog = page.getByRole('dialog');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await statusOf(`Bearer ${token}`)).to.equal(200);
    await tokens.getByRole('button', { name: `Delete the token ${HOSTILE}` }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await tokens.getByRole('rowheader', { name: HOSTILE }).waitFor({ state: 'detached' });
    expect(await statusOf(`Bearer ${token}`)).to.equal(401);

    await page.getByLabel('New password').fill('plain:another');
    await page.getByRole('button', { name: 'Save' }).click();
    await shows(page, 'The password was changed.');
    expect(await statusOf(basic(HOSTILE, PASSWORD))).to.equal(401);
    expect(await statusOf(basic(HOSTILE, 'plain:another'))).to.equal(200);
    await page.getByRole('button', { name: 'Delete the user' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('SQL manages no user yet.').waitFor();
    expect(rowsIn(await sqlAs(dashboard.almanac, 'SHOW USERS', ROOT))).to.deep.equal([]);
    expect(await page.locator('img').count()).to.equal(0);
    await page.goto(`${dashboard.almanac.url}/dashboard/users?user=${encodeURIComponent(HOSTILE)}&s=no`);
    await page
      .getByRole('alert')
      .filter({ hasText: `User not found: ${HOSTILE}` })
      .waitFor();
  });

  it('offers what is of all databases only to their administrators, on the main listener', async () => {
    for (const [user, isPublic] of [
      [{ name: 'scoped', password: 'scoped' }, false],
      [{ name: 'reader', password: 'read' }, false],
      [ROOT_USER, true],
    ] as const) {
      const page = await dashboard.open('users', { user, isPublic });
      await page.waitForURL('**/dashboard/query');
      const links = page.getByRole('navigation', { name: 'Screens' }).getByRole('link');
      await links.filter({ hasText: 'Flows' }).waitFor();
      expect(
        await links.filter({ hasText: /Users|Configuration|Profiles/ }).allTextContents(),
        user.name,
      ).to.deep.equal([]);
    }
  });

  it('shows flows, runs and deletes them', async () => {
    const name = HOSTILE.replaceAll('"', '""');
    await sql(`CREATE FLOW "${name}" SINK TO "${name}" COMMENT 'counts' AS
      SELECT host, date_bin(INTERVAL '1 minute', ts) AS minute, sum(v) AS total FROM requests GROUP BY host, minute`);
    const page = await dashboard.open('flows', { user: ROOT_USER });
    const table = page.getByRole('table', { name: 'Flows' });
    await table.getByRole('link', { name: HOSTILE, exact: true }).click();
    const flow = page.getByRole('article');
    await flow.getByLabel('Definition').filter({ hasText: 'CREATE FLOW IF NOT EXISTS' }).waitFor();
    await sql("INSERT INTO requests VALUES ('b', 1000, 3)");
    await flow.getByRole('button', { name: 'Run now' }).click();
    await shows(page, /^The run changed \d rows? of the results\.$/);
    await table.getByText(/ ago\)$/).waitFor();
    await expectAccessibleInBothThemes(page);
    const link = await table.getByRole('link', { name: `public.${HOSTILE}` }).getAttribute('href');
    expect(new URL(link ?? '', page.url()).searchParams.get('t')).to.equal(HOSTILE);

    const reader = await dashboard.open(`flows?flow=${encodeURIComponent(HOSTILE)}`, {
      user: { name: 'reader', password: 'read' },
      isPublic: true,
    });
    await reader.getByRole('article').getByRole('link', { name: 'Open in Query' }).waitFor();
    await reader.getByText('user reader').waitFor();
    const offered = reader.getByRole('main').getByRole('button', { name: /Run now|Delete/ });
    await offered.first().waitFor({ state: 'detached' });

    await flow.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('A flow keeps the result of a query up to date').waitFor();
    expect(rowsIn(await sqlAs(dashboard.almanac, 'SHOW FLOWS', ROOT))).to.deep.equal([]);
    await page.getByRole('link', { name: 'New flow' }).click();
    await page
      .getByRole('textbox', { name: /^SQL\./ })
      .getByText('CREATE FLOW my_flow')
      .waitFor();
    expect(rowsIn(await sqlAs(dashboard.almanac, 'SHOW FLOWS', ROOT))).to.deep.equal([]);
  });

  it('opens the definition of a view in Query, and deletes the view', async () => {
    await sql('CREATE VIEW "my:view" AS SELECT host FROM requests');
    const page = await dashboard.open('tables?tab=ddl&t=my:view', { user: ROOT_USER });
    const actions = page.getByRole('region', { name: 'Actions' });
    const change = await actions.getByRole('link', { name: 'Change in Query' }).getAttribute('href');
    expect(new URL(change ?? '', page.url()).searchParams.get('q')).to.match(/^CREATE OR REPLACE VIEW "my:view" AS/);
    await actions.getByRole('button', { name: 'Delete the view' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Choose a table').waitFor();
    expect(rowsIn(await sqlAs(dashboard.almanac, 'SHOW VIEWS', ROOT))).to.deep.equal([]);
    await page.getByRole('link', { name: 'New view' }).waitFor();
  });
});
