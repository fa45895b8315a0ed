import { existsSync } from 'node:fs';

import { expect } from 'chai';
import type { Context } from 'mocha';
import { chromium, type Browser, type BrowserContext, type CDPSession, type Page } from 'playwright-core';

import { invariant } from '#shared/errors/invariant';

/** Without what only windows need, Chromium takes half the time. */
const HEADLESS = '/usr/bin/chromium-headless-shell';
const PROGRAM = process.env['CHROMIUM'] ?? (existsSync(HEADLESS) ? HEADLESS : '/usr/bin/chromium');

/** A hook for tests that need Chromium. If it is missing the tests are pending, except in CI, which installs it. */
export function needChromium(this: Context): void {
  if (existsSync(PROGRAM)) return;
  invariant(process.env['ALMANAC_TEST_PEERS'] !== 'required', `${PROGRAM}: not installed`);
  this.skip();
}

/**
 * Its sandbox does not work for root in a container. Pages of a context are shown by one process. They are open for seconds:
 * optimising their code takes more time than it saves.
 */
const FLAGS = [
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--process-per-site',
  '--renderer-process-limit=1',
  '--js-flags=--no-turbofan --no-maglev',
];
const VIEWPORT = { width: 1280, height: 800 };

/** Starts Chromium without a window. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: PROGRAM, args: FLAGS });
}

/** What browsers report of every reply with an error, which the page shows. */
const REFUSED = /^Failed to load resource: the server responded with a status of [45]/;

/** What browsers report of requests that reach no server. */
const LOST = 'net::ERR_';

/** What is expected of a page. */
export interface PageRules {
  /** The only server that it may call, and the path below which. */
  readonly origin: string;
  /** Whether requests may reach no server. */
  readonly mayLoseServer?: boolean;
}

interface Reporter {
  reportEditorStyle?(): Promise<void>;
}

/**
 * Runs in a page: reports the inline styles that Chromium sets itself, and then refuses, where typed text replaces a
 * selection of the editor.
 */
function reportEditorStyles(): void {
  const place = globalThis as unknown as Reporter & Pick<EventTarget, 'addEventListener'>;
  place.addEventListener('securitypolicyviolation', (event) => {
    const [target] = event.composedPath() as unknown as [{ closest?(selector: string): unknown }];
    const { effectiveDirective } = event as unknown as { effectiveDirective: string };
    if (effectiveDirective !== 'style-src-attr' || !target.closest?.('.cm-content')) return;
    void place.reportEditorStyle?.();
  });
}

/** A page of a browser, and everything that went wrong on it. */
export class WatchedPage {
  readonly page: Page;
  readonly #faults: string[] = [];
  #editorStyles = 0;

  private constructor(page: Page, { origin, mayLoseServer = false }: PageRules) {
    this.page = page;
    page.on('pageerror', (error) => this.#faults.push(`error: ${error.message}`));
    page.on('console', (message) => {
      // Violations of the content security policy are reported here, too. Refused requests are what some tests are about.
      const isOfApi = !message.location().url.includes('/dashboard/');
      const isExpected = (isOfApi && REFUSED.test(message.text())) || (mayLoseServer && message.text().includes(LOST));
      if (message.type() !== 'error' || isExpected) return;
      this.#faults.push(`console: ${message.text()}`);
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(origin)) this.#faults.push(`request to elsewhere: ${request.url()}`);
    });
  }

  /** Opens an empty page. */
  static async open(place: Browser | BrowserContext, rules: PageRules): Promise<WatchedPage> {
    const page = await ('newContext' in place ? place.newPage({ viewport: VIEWPORT }) : place.newPage());
    const watched = new WatchedPage(page, rules);
    await watched.page.exposeFunction('reportEditorStyle', () => void watched.#editorStyles++);
    await watched.page.addInitScript(reportEditorStyles);
    return watched;
  }

  /** Checks that nothing went wrong, and closes the page. */
  async close(): Promise<void> {
    // What the page has reported until now arrives before the reply.
    await this.page.evaluate('0');
    let ofEditor = this.#editorStyles;
    await this.page.close();
    expect(
      this.#faults.filter((fault) => !fault.startsWith('console: Applying inline style violates') || ofEditor-- <= 0),
    ).to.deep.equal([]);
  }
}

/**
 * A browser whose pages have no storage in common. The first page of each test is shown by the same process, which has compiled
 * the dashboard already: that takes a third less CPU time.
 */
export class PageBrowser {
  readonly #browser: Browser;
  readonly #context: BrowserContext;
  readonly #session: CDPSession;
  readonly #pages: WatchedPage[] = [];
  readonly #origins = new Set<string>();

  private constructor(browser: Browser, context: BrowserContext, session: CDPSession) {
    this.#browser = browser;
    this.#context = context;
    this.#session = session;
  }

  /** Starts Chromium. @param url shown by a page that keeps the process while no other page is open. */
  static async start(url: string): Promise<PageBrowser> {
    const browser = await openBrowser();
    const context = await browser.newContext({ viewport: VIEWPORT });
    const page = await context.newPage();
    await page.goto(url);
    return new PageBrowser(browser, context, await context.newCDPSession(page));
  }

  async open(rules: PageRules): Promise<WatchedPage> {
    // Without a network all pages of a context are.
    const isFirst = this.#pages.length === 0 && rules.mayLoseServer !== true;
    const watched = await WatchedPage.open(isFirst ? this.#context : this.#browser, rules);
    this.#pages.push(watched);
    this.#origins.add(new URL(rules.origin).origin);
    return watched;
  }

  /** Checks that nothing went wrong on the pages, closes them, and removes what they have stored. */
  async closePages(): Promise<void> {
    try {
      for (const page of this.#pages.splice(0)) await page.close();
    } finally {
      for (const origin of this.#origins) {
        await this.#session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
      }
      await this.#context.clearPermissions();
    }
  }

  close(): Promise<void> {
    return this.#browser.close();
  }
}
