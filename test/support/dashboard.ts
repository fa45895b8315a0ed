import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

import { expect } from 'chai';
import type { AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';

import { Almanac } from './almanac.js';
import { openBrowser, WatchedPage } from './browser.js';
import { freePort } from './free-port.js';
import { tempFolder } from './temp-folder.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** How a page of the dashboard is opened. */
interface PageOptions {
  /** Default: the main one. */
  readonly isPublic?: boolean;
  /** Default: light. */
  readonly theme?: 'light' | 'dark';
}

/** A server with both listeners, and a browser that opens its dashboard. */
export class Dashboard {
  readonly almanac: Almanac;
  readonly publicUrl: string;
  readonly #browser: Browser;
  readonly #cleanUp: () => void;
  readonly #pages: WatchedPage[] = [];

  private constructor(almanac: Almanac, publicUrl: string, browser: Browser, cleanUp: () => void) {
    this.almanac = almanac;
    this.publicUrl = publicUrl;
    this.#browser = browser;
    this.#cleanUp = cleanUp;
  }

  /** Starts both. @param environment further settings of the server. */
  static async start(environment: Readonly<Record<string, string>> = {}): Promise<Dashboard> {
    let cleanUp: () => void = () => undefined;
    const folder = tempFolder((after) => (cleanUp = after));
    const port = await freePort();
    const almanac = await Almanac.start(folder, {
      environment: {
        ALMANAC_STANDALONE__HTTP__ENABLE_API_SERVER: 'true',
        ALMANAC_STANDALONE__HTTP__API_SERVER_ADDR: `127.0.0.1:${port}`,
        ...environment,
      },
    });
    return new Dashboard(almanac, `http://127.0.0.1:${port}`, await openBrowser(), cleanUp);
  }

  /** Opens a screen. @param screen with its query string, such as `query?mode=promql`. */
  async open(screen: string, { isPublic = false, theme = 'light' }: PageOptions = {}): Promise<Page> {
    const origin = isPublic ? this.publicUrl : this.almanac.url;
    const watched = await WatchedPage.open(this.#browser, origin);
    this.#pages.push(watched);
    await watched.page.emulateMedia({ colorScheme: theme });
    await watched.page.goto(`${origin}/dashboard/${screen}`);
    return watched.page;
  }

  /** Checks that no page has shown an error, broken a rule or called another server, and closes all. */
  async closePages(): Promise<void> {
    for (const page of this.#pages.splice(0)) await page.close();
  }

  async stop(): Promise<void> {
    await this.#browser.close();
    await this.almanac.kill();
    this.#cleanUp();
  }
}

/** Checks that a page can be used with a keyboard and read aloud, as far as axe can tell. Lists of completions must be closed. */
export async function expectAccessible(page: Page): Promise<void> {
  // A script element would break the content security policy.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  const found = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => ({ id, target, failureSummary })),
  );
  expect(found).to.deep.equal([]);
}
