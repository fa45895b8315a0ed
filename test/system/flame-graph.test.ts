import { expect } from 'chai';
import type { Browser } from 'playwright-core';

import { Almanac } from '#test/support/almanac';
import { needChromium, openBrowser, WatchedPage } from '#test/support/browser';
import { tempFolder } from '#test/support/temp-folder';

describe('a flame graph in a browser', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac | undefined;
  let browser: Browser | undefined;
  let watched: WatchedPage;
  let isOver = false;

  before(needChromium);

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
    browser = await openBrowser();
    watched = await WatchedPage.open(browser, { origin: almanac.url });
    await write(almanac);
    const load = Promise.all([repeat(write), repeat(join)]);
    await watched.page.goto(`${almanac.url}/debug/prof/cpu?seconds=2&frequency=500&output=flamegraph`);
    isOver = true;
    await load;
  });

  after(async () => {
    isOver = true;
    await browser?.close();
    await almanac?.kill();
    cleanUp();
  });

  const lines = Array.from({ length: 5000 }, (_, i) => `cpu,host=h${i % 100} usage=${i}.5 ${i + 1}`).join('\n');

  const write = (server: Almanac): Promise<unknown> => server.write(lines);
  /** Threads of the engine work, too. */
  const join = (server: Almanac): Promise<unknown> =>
    server.sql('SELECT count(*) FROM cpu AS a, cpu AS b WHERE a.usage < b.usage');

  /** Repeats each kind of work by itself: on a busy machine one join may last as long as the whole profile. */
  async function repeat(work: (server: Almanac) => Promise<unknown>): Promise<void> {
    while (!isOver && almanac !== undefined) await work(almanac);
  }

  const call = (text: string): ReturnType<WatchedPage['page']['locator']> =>
    watched.page.locator('g.call', { hasText: text }).first();

  const widthOf = async (text: string): Promise<number> =>
    Number(await call(text).locator('rect').getAttribute('width'));

  it('shows the calls of each thread below all of them, by share', async () => {
    expect(await watched.page.locator('.title').textContent()).to.contain('cpu');
    const all = await widthOf('all: ');
    const main = await widthOf('thread main');
    expect(all).to.be.greaterThan(1190);
    expect(main).to.be.greaterThan(10).and.lessThan(all);
    expect(await call('thread main').locator('text').textContent()).to.contain('thread main');
    expect(await watched.page.locator('g.call:visible').count()).to.be.greaterThan(20);
    // The hover text names function, source and share.
    expect(await watched.page.locator('g.call title').allTextContents()).to.satisfy((titles: string[]) =>
      titles.some((title) =>
        /^\S.* \(services\/gateway\/protocols\/lineproto\/[^)]+:\d+\): [0-9.]+ ms, [0-9.]+ %$/.test(title),
      ),
    );
  });

  it('zooms into a call by a click, and out again', async () => {
    const before = await widthOf('thread main');
    await call('thread main').click();
    expect(await widthOf('thread main')).to.be.greaterThan(1190);
    expect(await watched.page.locator('g.call', { hasText: '(native threads' }).first().isVisible()).to.equal(false);
    await watched.page.locator('#reset').click();
    expect(await widthOf('thread main')).to.equal(before);
  });

  it('marks what is searched for, with its share', async () => {
    await watched.page.getByRole('searchbox', { name: 'search' }).fill('LINEPROTO');
    expect(await watched.page.locator('g.call.hit').count()).to.be.greaterThan(0);
    expect(await watched.page.locator('#found').textContent()).to.match(/^[0-9.]+ % in calls that match$/);
    await watched.page.getByRole('searchbox', { name: 'search' }).fill('');
    expect(await watched.page.locator('g.call.hit').count()).to.equal(0);
    expect(await watched.page.locator('#found').textContent()).to.equal('');
  });

  it('loads nothing from elsewhere, and breaks no rule of its content security policy', () => watched.close());
});
