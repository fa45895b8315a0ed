import { readFileSync } from 'node:fs';

import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';

import { needChromium } from '#test/support/browser';
import { eventually } from '#test/support/conditions';
import { Dashboard, expectAccessible } from '#test/support/dashboard';
import { HOSTILE_TEXTS, writeSeries } from '#test/support/dashboard-metrics';

const MINUTE_MS = 60_000;
/** A whole hour, with a sample every 15 s. */
const FROM_MS = Date.parse('2026-11-21T12:00:00Z');
const TO_MS = FROM_MS + 60 * MINUTE_MS;
const RANGE = `from=${FROM_MS}&to=${TO_MS}&tz=UTC`;
const TIMES = { fromMs: FROM_MS, toMs: TO_MS, stepMs: 15_000 };
const MANY = 250;

describe('a chart', function () {
  this.timeout(120_000);
  let dashboard: Dashboard;

  before(needChromium);

  before(async () => {
    dashboard = await Dashboard.start();
    const host = (name: string, value: number) => ({
      labels: { __name__: 'load', host: name, job: 'node' },
      value: () => value,
    });
    const isGap = (ms: number): boolean => ms > FROM_MS + 20 * MINUTE_MS && ms < FROM_MS + 40 * MINUTE_MS;
    await writeSeries(
      dashboard.almanac,
      [
        ...[host('web-1', 1), host('web-2', 0.1 + 0.2), host('web-3', 30)],
        { labels: { __name__: 'interrupted' }, value: () => 5, isGap },
        ...Array.from({ length: MANY }, (_, i) => ({
          labels: { __name__: 'many', host: `host-${String(i).padStart(3, '0')}` },
          value: () => i,
        })),
        ...Object.values(HOSTILE_TEXTS).map((text, i) => ({
          labels: { __name__: 'hostile', host: text },
          value: () => i + 1,
        })),
      ],
      TIMES,
    );
  });

  afterEach(() => dashboard.closePages());

  after(() => dashboard?.stop());

  const openChart = async (metric: string, more = '', options = {}): Promise<Page> => {
    const page = await dashboard.open(`metrics?m=${metric}&by=host&${RANGE}${more}`, options);
    await page.getByRole('img', { name: /series/ }).waitFor();
    return page;
  };
  const parameterOf = (page: Page, name: string): string | null => new URL(page.url()).searchParams.get(name);
  const rangeOf = (page: Page): number[] => ['from', 'to'].map((name) => Number(parameterOf(page, name)));
  const row = (page: Page, text: string): Locator =>
    page.getByRole('grid', { name: /^Series of/ }).getByRole('row', { name: text });

  it('is described by a sentence, and lists its series with their statistics', async () => {
    const page = await openChart('load');
    await page.getByRole('img', { name: '3 series, 2026-11-21 12:00 to 13:00, highest {host="web-3"} 30' }).waitFor();
    const cells = await row(page, 'web-1').getByRole('gridcell').allTextContents();
    expect(cells.slice(0, 5)).to.deep.equal(['host="web-1"', '1', '1', '1', '1']);
  });

  it('zooms to what the pointer selects, back by the browser, and out by a double click', async () => {
    const page = await openChart('load');
    const box = await plotBox(page);
    await page.mouse.move(box.x + box.width * 0.4, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 110, { steps: 5 });
    await page.mouse.up();
    await eventually(() => rangeOf(page)[0] > FROM_MS);
    const [fromMs, toMs] = rangeOf(page);
    expect((toMs - fromMs) / (TO_MS - FROM_MS)).to.be.within(0.15, 0.3);
    await page.goBack();
    await eventually(() => rangeOf(page)[0] === FROM_MS);
    await page.getByRole('img', { name: /12:00 to 13:00/ }).dblclick({ position: { x: box.width / 2, y: 100 } });
    await eventually(() => rangeOf(page)[1] === TO_MS + 30 * MINUTE_MS);
    expect(rangeOf(page)[0]).to.equal(FROM_MS - 30 * MINUTE_MS);
  });

  it('moves with Shift and the pointer, and zooms at the pointer with Ctrl and the wheel', async () => {
    const page = await openChart('load');
    const box = await plotBox(page);
    await page.mouse.move(box.x + box.width * 0.5, box.y + 100);
    await page.keyboard.down('Shift');
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 100, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up('Shift');
    await eventually(() => rangeOf(page)[0] > FROM_MS);
    const [fromMs, toMs] = rangeOf(page);
    expect(toMs - fromMs).to.be.closeTo(TO_MS - FROM_MS, 2);
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -100);
    await page.keyboard.up('Control');
    await eventually(() => rangeOf(page)[1] - rangeOf(page)[0] < (TO_MS - FROM_MS) * 0.9);
  });

  it('is moved, zoomed and read by keys', async () => {
    const page = await openChart('load');
    const plot = page.getByRole('img', { name: /series/ });
    await plot.focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page
      .getByRole('status')
      .filter({ hasText: /^2026-11-21 12:00:.* UTC: .*\{host="web-1"\} 1/ })
      .waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: /^Values at 2026-11-21 12:00/ }).waitFor();
    await page.keyboard.press('+');
    await eventually(() => rangeOf(page)[0] === FROM_MS + 15 * MINUTE_MS);
    await page.getByRole('img', { name: /12:15 to 12:45/ }).focus();
    await page.keyboard.press('Shift+ArrowLeft');
    await eventually(() => rangeOf(page)[0] === FROM_MS);
    await page.keyboard.press('-');
    await eventually(() => rangeOf(page)[1] - rangeOf(page)[0] === 60 * MINUTE_MS);
  });

  it('pins exact values by a click until Escape', async () => {
    const page = await openChart('load');
    const box = await plotBox(page);
    await page.mouse.click(box.x + box.width * 0.5, box.y + 100);
    await page.mouse.click(box.x + box.width * 0.7, box.y + 100);
    const pins = page.getByRole('region', { name: /^Values at/ });
    await eventually(async () => (await pins.count()) === 2);
    await pins.first().getByText('0.30000000000000004').waitFor();
    await page
      .getByRole('button', { name: /^Unpin/ })
      .first()
      .click();
    expect(await pins.count()).to.equal(1);
    await page.getByRole('button', { name: /^Unpin/ }).focus();
    await page.keyboard.press('Escape');
    await eventually(async () => (await pins.count()) === 0);
  });

  it('shows only the chosen series, also after a reload', async () => {
    const page = await openChart('load');
    await row(page, 'web-2').getByRole('gridcell').nth(1).click();
    await eventually(() => parameterOf(page, 'off') !== null);
    await page.getByRole('button', { name: '1 of 3 series' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: '1 of 3 series' }).waitFor();
    expect(await row(page, 'web-2').getAttribute('aria-selected')).to.equal('true');
    expect(await row(page, 'web-1').getAttribute('aria-selected')).to.equal('false');
    await row(page, 'web-1')
      .getByRole('gridcell')
      .nth(1)
      .click({ modifiers: ['Control'] });
    await page.getByRole('button', { name: '2 of 3 series' }).waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await eventually(() => parameterOf(page, 'off') === null);
    await row(page, 'web-2').getByRole('gridcell').nth(1).click();
    await row(page, 'web-3')
      .getByRole('gridcell')
      .nth(1)
      .click({ modifiers: ['Shift'] });
    await page.getByRole('button', { name: '2 of 3 series' }).waitFor();
    expect(await row(page, 'web-1').getAttribute('aria-selected')).to.equal('false');
  });

  it('has a legend that is searched, sorted and used by keys', async () => {
    const page = await openChart('many');
    await page.getByRole('button', { name: /^▸ 201 series/ }).click();
    await page.getByRole('searchbox', { name: /^Search series/ }).fill('55 HOST');
    const rows = page.getByRole('grid', { name: /^Series of/ }).getByRole('row');
    await eventually(async () => (await rows.count()) === 3);
    await page.getByRole('button', { name: 'max' }).click();
    expect(await rows.nth(1).getByRole('gridcell').first().textContent()).to.equal('host="host-155"');
    await page.getByRole('grid', { name: /^Series of/ }).focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: '1 of 201 series' }).waitFor();
    expect(await rows.nth(2).getAttribute('aria-selected')).to.equal('true');
  });

  it('copies a label by a click on it', async () => {
    const page = await openChart('load');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await row(page, 'web-1').getByText('host="web-1"').click();
    await page.getByText('Copied host="web-1"').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).to.equal('host="web-1"');
  });

  it('draws 200 series, and all of them on request', async () => {
    const page = await openChart('many');
    await page.getByText('Showing 200 of at least 201 series').waitFor();
    await page.getByRole('button', { name: /^Show up to/ }).click();
    await page.getByRole('img', { name: /^250 series/ }).waitFor();
    await eventually(async () => (await page.getByText(/^Showing/).count()) === 0);
  });

  it('has a gap where samples are missing', async () => {
    const page = await dashboard.open(`metrics?m=interrupted&${RANGE}`);
    await page.getByRole('img', { name: /^3 series/ }).waitFor();
    const drawn = (share: number): Promise<number> => colouredPixels(page, share);
    await eventually(async () => (await drawn(0.15)) > 0 && (await drawn(0.85)) > 0);
    expect(await drawn(0.5)).to.equal(0);
  });

  it('is drawn on a logarithmic axis, as bars, areas and points', async () => {
    const page = await openChart('load');
    for (const kind of ['stacked bars', 'stacked areas', 'points', 'lines']) {
      await page.getByLabel('Draw').selectOption(kind);
      await eventually(async () => (await colouredPixels(page, 0.5)) > 0);
    }
    await page.getByLabel('Axis').selectOption('logarithmic');
    await eventually(() => parameterOf(page, 'y') === 'log');
    await eventually(async () => (await colouredPixels(page, 0.5)) > 0);
  });

  it('is shown as a table with exact values', async () => {
    const page = await openChart('load');
    await page.getByRole('button', { name: 'Show as table' }).click();
    const table = page.getByRole('grid', { name: /^Values of/ });
    const first = table.getByRole('row').nth(1).getByRole('gridcell');
    expect(await first.allTextContents()).to.deep.equal(['2026-11-21 12:00:00', '1', '0.30000000000000004', '30']);
    await page.getByRole('button', { name: 'Show as chart' }).click();
    await page.getByRole('img', { name: /series/ }).waitFor();
  });

  it('is saved as CSV and as a picture', async () => {
    const page = await openChart('load');
    const csv = await saved(page, 'CSV');
    expect(csv.name).to.equal('load.csv');
    expect(csv.content.toString().split('\r\n').slice(0, 2)).to.deep.equal([
      'time (UTC),"{host=""web-1""}","{host=""web-2""}","{host=""web-3""}"',
      '2026-11-21T12:00:00.000Z,1,0.30000000000000004,30',
    ]);
    const picture = await saved(page, 'PNG');
    expect(picture.name).to.equal('load.png');
    const box = await page.getByRole('img', { name: /series/ }).boundingBox();
    // The header of a PNG has its width at byte 16.
    expect(picture.content.readUInt32BE(16)).to.be.greaterThan((box?.width ?? 0) * 2);
  });

  it('shows the instant of the pointer on all charts of the page', async () => {
    await writeSeries(
      dashboard.almanac,
      ['1', '+Inf'].map((le) => ({
        labels: { __name__: 'took_bucket', le },
        value: (ms: number) => (ms - FROM_MS) / 1000,
      })),
      TIMES,
    );
    const page = await dashboard.open(`metrics?m=took_bucket&${RANGE}`);
    const plots = page.getByRole('img', { name: /series/ });
    await eventually(async () => (await plots.count()) === 2);
    const box = await plotBox(page);
    await page.mouse.move(box.x + box.width * 0.5, box.y + 100);
    await page.mouse.move(box.x + box.width * 0.5 + 3, box.y + 100);
    await eventually(async () => {
      const [one, other] = await cursorsPx(page);
      return one > 100 && Math.abs(one - other) < 30;
    });
  });

  it('draws the buckets of a histogram below its quantiles', async () => {
    const les = { '0.01': 1, '0.1': 5, '1': 9, '+Inf': 9 };
    await writeSeries(
      dashboard.almanac,
      Object.entries(les).map(([le, share]) => ({
        labels: { __name__: 'slow_bucket', le },
        value: (ms: number) => ((ms - FROM_MS) / 1000) * share,
      })),
      TIMES,
    );
    const page = await dashboard.open(`metrics?m=slow_bucket&${RANGE}`);
    await page.getByRole('img', { name: /^3 series/ }).waitFor();
    // Three quantiles are a few pixels high, three buckets most of the height.
    await eventually(async () => (await colouredPixels(page, 0.5)) > 100);
  });

  it('keeps the selection of the pointer when new values arrive', async () => {
    const page = await openChart('load');
    const box = await plotBox(page);
    await page.mouse.move(box.x + box.width * 0.4, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 100, { steps: 3 });
    const loaded = page.waitForResponse(/query_range/);
    await page.locator('body').press('r');
    await (await loaded).finished();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 100, { steps: 3 });
    await page.mouse.up();
    await eventually(() => rangeOf(page)[0] > FROM_MS);
    const [fromMs, toMs] = rangeOf(page);
    expect((toMs - fromMs) / (TO_MS - FROM_MS)).to.be.within(0.15, 0.3);
  });

  for (const theme of ['light', 'dark'] as const) {
    it(`shows hostile names as texts, and nothing that axe objects to, in the ${theme} theme`, async () => {
      const page = await openChart('hostile', '', { theme });
      page.on('dialog', () => expect.fail('a name was executed'));
      const box = await plotBox(page);
      await page.mouse.click(box.x + box.width * 0.5, box.y + 100);
      await page.getByRole('region', { name: /^Values at/ }).waitFor();
      await row(page, 'onerror').waitFor();
      expect(await page.locator('img[src]').count()).to.equal(0);
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Show as table' }).click();
      await page.getByRole('grid', { name: /^Values of/ }).waitFor();
      await expectAccessible(page);
    });
  }
});

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The first chart, without the width of its axis. */
async function plotBox(page: Page): Promise<Box> {
  const plot = page.getByRole('img', { name: /series/ }).first();
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  if (box === null) throw new Error('the chart is not on the page');
  return { ...box, x: box.x + 60, width: box.width - 80 };
}

/** Counts pixels with a hue, on the line at a share of the width of the first chart: text and axes have none. */
function colouredPixels(page: Page, share: number): Promise<number> {
  return page.evaluate<number>(`(() => {
    const canvas = document.querySelector('[role="img"] canvas');
    if (canvas === null) return 0;
    const [x, width] = [60, canvas.width - 80];
    const { data } = canvas.getContext('2d').getImageData(Math.round(x + width * ${share}), 0, 1, canvas.height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) {
      const channels = [data[i], data[i + 1], data[i + 2]];
      if (data[i + 3] > 0 && Math.max(...channels) - Math.min(...channels) > 40) count++;
    }
    return count;
  })()`);
}

/** Where the charts show the instant of the pointer, from their left edges. It has no role: it is a line that moves. */
function cursorsPx(page: Page): Promise<number[]> {
  return page.evaluate<number[]>(`[...document.querySelectorAll('[role="img"]')].map((plot) => {
    const cursor = plot.querySelector('.u-cursor-x');
    return (cursor?.getBoundingClientRect().left ?? 0) - plot.getBoundingClientRect().left;
  })`);
}

async function saved(page: Page, name: string): Promise<{ readonly name: string; readonly content: Buffer }> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name, exact: true }).click(),
  ]);
  return { name: download.suggestedFilename(), content: readFileSync(await download.path()) };
}
