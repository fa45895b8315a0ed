import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

import { expect } from 'chai';
import type { AxeResults, RunOptions } from 'axe-core';
import type { Locator, Page } from 'playwright-core';

import { Almanac, type AlmanacOptions } from './almanac.js';
import { PageBrowser } from './browser.js';
import { freePort } from './free-port.js';
import { tempFolder } from './temp-folder.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** How a page of the dashboard is opened. */
interface PageOptions {
  /** Default: the main one. */
  readonly isPublic?: boolean;
  /** Default: light. */
  readonly theme?: 'light' | 'dark';
  /** Where the page is loaded from, such as a proxy. Default: the listener. */
  readonly origin?: string;
  /** Whether requests may reach no server. */
  readonly mayLoseServer?: boolean;
  /** A user who has signed in, in this browser tab. */
  readonly user?: { readonly name: string; readonly password: string };
}

/** A server with both listeners, and a browser that opens its dashboard. */
export class Dashboard {
  readonly publicUrl: string;
  #almanac: Almanac;
  readonly #options: AlmanacOptions;
  readonly #browser: PageBrowser;
  readonly #cleanUp: () => void;

  private constructor(
    almanac: Almanac,
    options: AlmanacOptions,
    publicUrl: string,
    browser: PageBrowser,
    cleanUp: () => void,
  ) {
    this.#almanac = almanac;
    this.#options = options;
    this.publicUrl = publicUrl;
    this.#browser = browser;
    this.#cleanUp = cleanUp;
  }

  /** Starts both. @param environment further settings of the server. */
  static async start(environment: Readonly<Record<string, string>> = {}): Promise<Dashboard> {
    let cleanUp: () => void = () => undefined;
    const folder = tempFolder((after) => (cleanUp = after));
    const [port, publicPort] = [await freePort(), await freePort()];
    const options = {
      port,
      environment: {
        ALMANAC_STANDALONE__HTTP__ENABLE_API_SERVER: 'true',
        ALMANAC_STANDALONE__HTTP__API_SERVER_ADDR: `127.0.0.1:${publicPort}`,
        ...environment,
      },
    };
    const almanac = await Almanac.start(folder, options);
    const browser = await PageBrowser.start(`${almanac.url}/health`);
    return new Dashboard(almanac, options, `http://127.0.0.1:${publicPort}`, browser, cleanUp);
  }

  get almanac(): Almanac {
    return this.#almanac;
  }

  /** Starts the server again, after `almanac.kill()`, on the same ports and data. */
  async restart(): Promise<void> {
    this.#almanac = await Almanac.start(this.#almanac.folder, this.#options);
  }

  /** Opens a screen. @param screen with its query string, such as `query?mode=promql`. */
  async open(screen: string, options: PageOptions = {}): Promise<Page> {
    const { isPublic = false, theme = 'light', mayLoseServer = false, user } = options;
    const origin = options.origin ?? (isPublic ? this.publicUrl : this.almanac.url);
    const watched = await this.#browser.open({ origin, mayLoseServer });
    if (user !== undefined) {
      const credentials = Buffer.from(`${user.name}:${user.password}`).toString('base64');
      await watched.page.addInitScript(`sessionStorage.setItem('almanac.credentials', '${credentials}')`);
    }
    await watched.page.emulateMedia({ colorScheme: theme });
    await watched.page.goto(`${origin}/dashboard/${screen}`);
    return watched.page;
  }

  /** Checks that no page has shown an error, broken a rule or called another server, and closes all. */
  closePages(): Promise<void> {
    return this.#browser.closePages();
  }

  async stop(): Promise<void> {
    await this.#browser.close();
    await this.almanac.kill();
    this.#cleanUp();
  }
}

/**
 * Replaces the text of an editor by keys, as users do. `Locator.fill` selects the text in the page alone, and an update of
 * the editor before it knows can undo that: the new text then follows the old one.
 */
export async function replaceText(editor: Locator, text: string): Promise<void> {
  await editor.press('ControlOrMeta+A');
  if (text === '') await editor.press('Delete');
  else await editor.page().keyboard.insertText(text);
}

/** Checks that a page can be used with a keyboard and read aloud, as far as axe can tell. Lists of completions must be closed. */
export async function expectAccessible(page: Page): Promise<void> {
  await expectNoViolations(page, {});
}

/** Checks the same in both themes, and leaves the page in the light one. */
export async function expectAccessibleInBothThemes(page: Page): Promise<void> {
  await switchTheme(page, 'light');
  await expectAccessible(page);
  await switchTheme(page, 'dark');
  // Nothing else depends on the theme.
  await expectNoViolations(page, { runOnly: ['color-contrast'] });
  await switchTheme(page, 'light');
}

async function switchTheme(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme });
  // Editors change their colours before the frame after the next event.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}

async function expectNoViolations(page: Page, options: RunOptions): Promise<void> {
  // A script element would break the content security policy.
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(AXE);
  // What passes is much longer than the violations.
  const run = JSON.stringify({ ...options, resultTypes: ['violations'] });
  const violations = await page.evaluate<AxeResults['violations']>(`axe.run(${run}).then((it) => it.violations)`);
  const found = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => ({ id, target, failureSummary })),
  );
  expect(found).to.deep.equal([]);
}
