import { existsSync } from 'node:fs';

import { expect } from 'chai';
import type { Context } from 'mocha';
import { chromium, type Browser, type Page } from 'playwright-core';

import { invariant } from '#shared/errors/invariant';

const PROGRAM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** A hook for tests that need Chromium. If it is missing the tests are pending, except in CI, which installs it. */
export function needChromium(this: Context): void {
  if (existsSync(PROGRAM)) return;
  invariant(process.env['ALMANAC_TEST_PEERS'] !== 'required', `${PROGRAM}: not installed`);
  this.skip();
}

/** Starts Chromium without a window. */
export function openBrowser(): Promise<Browser> {
  // Its sandbox does not work for root in a container.
  return chromium.launch({ executablePath: PROGRAM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** A page of a browser, and everything that went wrong on it. */
export class WatchedPage {
  readonly page: Page;
  readonly #faults: string[] = [];

  private constructor(page: Page, origin: string) {
    this.page = page;
    page.on('pageerror', (error) => this.#faults.push(`error: ${error.message}`));
    page.on('console', (message) => {
      // Violations of the content security policy are reported here, too; replies with an error status are what tests provoke.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
        this.#faults.push(`console: ${message.text()}`);
      }
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(origin)) this.#faults.push(`request to elsewhere: ${request.url()}`);
    });
  }

  /** Opens an empty page. @param origin the only server that it may call. */
  static async open(browser: Browser, origin: string): Promise<WatchedPage> {
    return new WatchedPage(await browser.newPage({ viewport: { width: 1280, height: 800 } }), origin);
  }

  /** Checks that nothing went wrong, and closes the page. */
  async close(): Promise<void> {
    await this.page.close();
    expect(this.#faults).to.deep.equal([]);
  }
}
