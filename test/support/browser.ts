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

  private constructor(page: Page, origin: string, allowed: RegExp | undefined) {
    this.page = page;
    page.on('pageerror', (error) => this.#faults.push(`error: ${error.message}`));
    page.on('console', (message) => {
      // Violations of the content security policy are reported here, too.
      if (message.type() === 'error' && allowed?.test(message.text()) !== true)
        this.#faults.push(`console: ${message.text()}`);
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(origin)) this.#faults.push(`request to elsewhere: ${request.url()}`);
    });
  }

  /** Opens an empty page. @param origin the only server that it may call. @param allowed errors that the test causes. */
  static async open(browser: Browser, origin: string, allowed?: RegExp): Promise<WatchedPage> {
    return new WatchedPage(await browser.newPage({ viewport: { width: 1280, height: 800 } }), origin, allowed);
  }

  /** Checks that nothing went wrong, and closes the page. */
  async close(): Promise<void> {
    await this.page.close();
    expect(this.#faults).to.deep.equal([]);
  }
}
