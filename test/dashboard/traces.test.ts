import { execFileSync } from 'node:child_process';

import { expect } from 'chai';
import type { Page } from 'playwright-core';

import { needChromium } from '#test/support/browser';
import { eventually } from '#test/support/conditions';
import { Dashboard, expectAccessible, expectAccessibleInBothThemes } from '#test/support/dashboard';

const HOSTILE = '<img src=x onerror=alert(1)> \u202eabc';
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const LARGE_ID = '1af7651916cd43dd8448eb211c80319c';
const LARGE_COUNT = 50_000;
const BATCH = 10_000;

interface TestSpan {
  readonly id: number;
  readonly parent: number;
  readonly name: string;
  /** From the start of the trace. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly isError?: boolean;
}

const spanId = (id: number): string => id.toString(16).padStart(16, '0');
const attributesOf = (values: Readonly<Record<string, string>>) =>
  Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }));
const spansOf = (page: Page) => page.getByRole('tree', { name: 'Spans' }).getByRole('treeitem');

describe('the dashboard: traces', function () {
  this.timeout(240_000);
  let dashboard: Dashboard;
  let startMs: number;

  before(needChromium);

  before(async () => {
    dashboard = await Dashboard.start();
    startMs = Date.now() - 60_000;
    await send('shop', TRACE_ID, [
      { id: 1, parent: 0, name: 'GET /pay', fromMs: 0, toMs: 1000, attributes: { 'http.route': '/pay' } },
      { id: 2, parent: 1, name: 'check', fromMs: 50, toMs: 300 },
      { id: 3, parent: 2, name: 'read user', fromMs: 100, toMs: 200 },
    ]);
    await send('bank', TRACE_ID, [
      { id: 4, parent: 1, name: 'charge', fromMs: 350, toMs: 950, isError: true, attributes: { note: HOSTILE } },
    ]);
    await send(HOSTILE, '2af7651916cd43dd8448eb211c80319c', [
      { id: 5, parent: 0, name: `${HOSTILE}${'long '.repeat(500)}`, fromMs: 0, toMs: 5 },
    ]);
    const line = JSON.stringify({
      resourceLogs: [
        {
          scopeLogs: [
            {
              logRecords: [logRecord(400, 'card refused', spanId(4)), logRecord(100, 'user read', spanId(3))],
            },
          ],
        },
      ],
    });
    const { status, text } = await dashboard.almanac.post('/v1/otlp/v1/logs', line, {
      'content-type': 'application/json',
    });
    expect(status, text).to.equal(200);
  });

  afterEach(() => dashboard.closePages());

  after(() => dashboard?.stop());

  const nanoseconds = (ms: number): string => `${startMs + ms}000000`;

  function logRecord(ms: number, body: string, span: string) {
    return { timeUnixNano: nanoseconds(ms), body: { stringValue: body }, traceId: TRACE_ID, spanId: span };
  }

  async function send(service: string, traceId: string, spans: readonly TestSpan[]): Promise<void> {
    const body = JSON.stringify({
      resourceSpans: [
        {
          resource: { attributes: attributesOf({ 'service.name': service, 'host.name': 'h1' }) },
          scopeSpans: [
            {
              spans: spans.map(({ id, parent, name, fromMs, toMs, attributes = {}, isError = false }) => ({
                traceId,
                spanId: spanId(id),
                ...(parent === 0 ? {} : { parentSpanId: spanId(parent) }),
                name,
                startTimeUnixNano: nanoseconds(fromMs),
                endTimeUnixNano: nanoseconds(toMs),
                attributes: attributesOf(attributes),
                events: isError
                  ? [
                      {
                        name: 'exception',
                        timeUnixNano: nanoseconds(fromMs + 1),
                        attributes: attributesOf({ why: 'no money' }),
                      },
                    ]
                  : [],
                status: isError ? { code: 2, message: 'refused' } : {},
              })),
            },
          ],
        },
      ],
    });
    const { status, text } = await dashboard.almanac.post('/v1/otlp/v1/traces', body, {
      'content-type': 'application/json',
    });
    expect(status, text).to.equal(200);
  }

  for (const theme of ['light', 'dark'] as const) {
    for (const isPublic of [false, true]) {
      const listener = isPublic ? 'public' : 'main';
      it(`finds traces and shows one on the ${listener} listener in the ${theme} theme`, async () => {
        const page = await dashboard.open('traces', { theme, isPublic });
        await page.getByText('Choose a service, or enter').waitFor();
        await page.getByRole('button', { name: 'Search', exact: true }).click();
        await page.getByRole('alert').filter({ hasText: 'Choose a service' }).waitFor();
        await expectAccessible(page);
        await page.getByRole('combobox', { name: 'Service' }).selectOption('shop');
        await page.getByRole('img', { name: /^1 trace from .* the longest 1 s, 1 with errors$/ }).waitFor();
        await expectAccessible(page);
        await page.getByRole('link', { name: 'shop GET /pay' }).click();
        await eventually(async () => (await spansOf(page).count()) === 4);
        await page.getByText('1 s · 4 spans · 2 services', { exact: false }).waitFor();
        await spansOf(page).filter({ hasText: 'charge' }).click();
        await page.getByRole('rowheader', { name: 'note' }).waitFor();
        await expectAccessible(page);
      });
    }

    it(`explains what is missing in the ${theme} theme`, async () => {
      await dashboard.almanac.sql('CREATE DATABASE IF NOT EXISTS empty');
      const page = await dashboard.open('traces?db=empty', { theme });
      await page.getByRole('heading', { name: 'There are no traces yet' }).waitFor();
      await expectAccessible(page);
      const none = await dashboard.open('traces?service=shop&tags=http.route%3D%2Fnone', { theme });
      await none.getByText('No trace in this time range has been found').waitFor();
      await expectAccessible(none);
    });
  }

  it('offers a command that sends a span to the database, and searches the only service', async () => {
    await dashboard.almanac.sql('CREATE DATABASE lone');
    const page = await dashboard.open('traces?db=lone');
    const panel = (title: string) => page.getByRole('region', { name: title }).locator('pre');
    expect(await panel('OpenTelemetry SDK').textContent()).to.contain(
      '\nOTEL_EXPORTER_OTLP_HEADERS=x-almanac-db-name=lone',
    );
    const command = (await panel('curl, a span in OTLP JSON').textContent()) ?? '';
    execFileSync('sh', ['-euc', command.replace('curl', 'curl --fail --silent')], { stdio: 'ignore' });
    await page.getByRole('button', { name: 'Load again', exact: true }).click();
    await page.getByText('Search for traces, or enter').waitFor();
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByRole('link', { name: 'shop GET /cart' }).waitFor();
    expect(new URL(page.url()).searchParams.get('service')).to.equal('shop');
  });

  it('searches by operation, tags, duration and status, and says what it cannot read', async () => {
    const page = await dashboard.open('traces?service=bank');
    const found = (count: number) => page.getByRole('main').getByRole('status').getByText(`${count} trace`).waitFor();
    await found(1);
    await page.getByRole('combobox', { name: 'Operation' }).selectOption('charge');
    await page.getByRole('combobox', { name: 'Status' }).selectOption('Errors');
    await page.getByRole('textbox', { name: 'Min duration' }).fill('500ms');
    await page.getByRole('button', { name: 'Search' }).first().click();
    await eventually(() => new URL(page.url()).searchParams.get('min') === '500ms');
    await found(1);
    await page.getByRole('textbox', { name: 'Max duration' }).fill('550ms');
    await page.getByRole('textbox', { name: 'Max duration' }).press('Enter');
    await page.getByText('No trace in this time range has been found').waitFor();
    await page.getByRole('textbox', { name: 'Tags' }).fill('http.route=/pay oops');
    await page.getByRole('textbox', { name: 'Tags' }).press('Enter');
    await page.getByRole('alert').getByText('"oops" is no tag').waitFor();
    await page.getByRole('textbox', { name: 'Tags' }).fill('');
    await page.getByRole('textbox', { name: 'Max duration' }).fill('soon');
    await page.getByRole('textbox', { name: 'Max duration' }).press('Enter');
    await page.getByRole('alert').getByText('maxDuration').waitFor();
  });

  it('opens a trace by its ID, from the form and from the palette', async () => {
    const page = await dashboard.open('traces');
    await page.getByRole('textbox', { name: 'Trace ID' }).fill(TRACE_ID.toUpperCase());
    await page.getByRole('button', { name: 'Open', exact: true }).click();
    await eventually(async () => (await spansOf(page).count()) === 4);
    const other = await dashboard.open('query');
    await other.getByRole('button', { name: 'Run' }).first().waitFor();
    await other.keyboard.press('Control+k');
    await other.getByRole('combobox', { name: 'Search commands' }).fill(TRACE_ID);
    await other.keyboard.press('Enter');
    await eventually(async () => (await spansOf(other).count()) === 4);
    const missing = await dashboard.open(`traces?id=${'ab'.repeat(16)}`);
    await missing.getByRole('alert').getByText('has no trace').waitFor();
    await expectAccessible(missing);
  });

  it('collapses spans by keys, depth and service', async () => {
    const page = await dashboard.open(`traces?id=${TRACE_ID}`);
    await eventually(async () => (await spansOf(page).count()) === 4);
    await page.getByRole('tree', { name: 'Spans' }).focus();
    await page.keyboard.press('j');
    await page.keyboard.press('ArrowDown');
    expect(new URL(page.url()).searchParams.get('span')).to.equal(spanId(2));
    await page.keyboard.press('ArrowLeft');
    await eventually(async () => (await spansOf(page).count()) === 3);
    await page.keyboard.press('ArrowRight');
    await eventually(async () => (await spansOf(page).count()) === 4);
    await page.getByRole('combobox', { name: 'Collapse' }).selectOption('Only roots');
    await eventually(async () => (await spansOf(page).count()) === 1);
    await page.getByRole('checkbox', { name: /critical path/i }).uncheck();
    await page.reload();
    await eventually(async () => (await spansOf(page).count()) === 1);
    expect(await page.getByRole('checkbox', { name: /critical path/i }).isChecked()).to.equal(false);
    await page.getByRole('combobox', { name: 'Collapse' }).selectOption('Show all spans');
    await page.getByRole('button', { name: 'shop' }).click();
    await eventually(async () => (await spansOf(page).count()) === 1);
  });

  it('finds spans, and walks through them by n and N', async () => {
    const page = await dashboard.open(`traces?id=${TRACE_ID}`);
    await page.getByRole('searchbox', { name: 'Find spans' }).fill('e');
    await page.getByRole('status').getByText('4 found').waitFor();
    await page.getByRole('searchbox', { name: 'Find spans' }).fill('no money');
    await page.getByRole('status').getByText('1 found').waitFor();
    await page.getByRole('tree', { name: 'Spans' }).focus();
    await page.keyboard.press('n');
    await page.getByRole('status').getByText('1 of 1 found').waitFor();
    expect(new URL(page.url()).searchParams.get('span')).to.equal(spanId(4));
  });

  it('shows events, the resource and the logs of a span', async () => {
    const page = await dashboard.open(`traces?id=${TRACE_ID}&span=${spanId(4)}`);
    await page.getByRole('tab', { name: 'Events 1' }).click();
    await page.getByText('no money').waitFor();
    await page.getByRole('tab', { name: 'Resource' }).click();
    await page.getByRole('rowheader', { name: 'host.name' }).waitFor();
    await page.getByRole('tab', { name: 'Logs' }).click();
    await page.getByText('card refused').waitFor();
    expect(await page.getByText('user read').count()).to.equal(0);
    await page.getByRole('checkbox', { name: 'All lines of the trace (2)' }).check();
    await page.getByText('user read').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Open in Logs: opentelemetry_logs' }).click();
    await page.getByRole('list', { name: 'Lines' }).getByText('card refused').waitFor();
  });

  it('shows a part of the trace that is dragged over', async () => {
    const page = await dashboard.open(`traces?id=${TRACE_ID}`);
    const box = await page.getByRole('img', { name: /^4 spans over/ }).boundingBox();
    expect(box).to.not.equal(null);
    if (box === null) return;
    await page.mouse.move(box.x + box.width * 0.25, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 10);
    await page.mouse.up();
    await eventually(() => /^2\d{5}-7\d{5}$/.test(new URL(page.url()).searchParams.get('zoom') ?? ''));
    await page.getByRole('button', { name: 'Whole trace' }).click();
    await eventually(() => !new URL(page.url()).searchParams.has('zoom'));
  });

  it('shows a trace as a flame graph, and what each operation took', async () => {
    const page = await dashboard.open(`traces?id=${TRACE_ID}&view=flame`);
    const graph = page.getByRole('application', { name: /^Flame graph: Trace, 1 s/ });
    await graph.focus();
    await page.keyboard.press('ArrowDown');
    await page.getByText('1 s (100.0 %), self 150 ms').waitFor();
    await page.getByRole('searchbox', { name: 'Find operations' }).fill('charge');
    await page.getByRole('status').getByText('600 ms found, 60.00 %').waitFor();
    await expectAccessibleInBothThemes(page);
    await page.getByRole('searchbox', { name: 'Find operations' }).fill('');
    await page.getByRole('button', { name: 'Statistics' }).click();
    expect(new URL(page.url()).searchParams.get('view')).to.equal('statistics');
    const rows = page.getByRole('grid', { name: 'Operations' }).getByRole('row');
    await rows.filter({ hasText: 'GET /pay' }).getByText('150 ms').waitFor();
    expect(await rows.nth(1).getByRole('gridcell').allTextContents()).to.deep.equal([
      'bank',
      'charge',
      '1',
      '1',
      '600 ms',
      '600 ms',
      '600 ms',
      '600 ms',
    ]);
    await expectAccessibleInBothThemes(page);
    await page.getByRole('columnheader', { name: 'Total' }).getByRole('button').click();
    await eventually(async () => (await rows.nth(1).textContent())?.includes('GET /pay') === true);
    await rows.filter({ hasText: 'charge' }).getByText('charge').dblclick();
    await page.getByRole('status').getByText('1 found').waitFor();
    await eventually(async () => (await spansOf(page).count()) === 4);
  });

  it('shows which services call each other, as a table and as a drawing', async () => {
    const page = await dashboard.open('traces');
    await page.getByRole('button', { name: 'Service map' }).click();
    const rows = page.getByRole('grid', { name: 'Calls between services' }).getByRole('row');
    await rows.nth(1).waitFor();
    expect(await rows.nth(1).getByRole('gridcell').allTextContents()).to.deep.equal(['shop', 'bank', '1']);
    await expectAccessibleInBothThemes(page);
    await page.reload();
    const drawing = page.getByRole('region', { name: 'Drawing of the calls' });
    await drawing.getByRole('link', { name: 'shop' }).waitFor();
    await drawing.getByRole('link', { name: 'bank' }).press('Enter');
    await page.getByRole('main').getByRole('status').getByText('1 trace').waitFor();
    expect(new URL(page.url()).searchParams.get('service')).to.equal('bank');
  });

  it('shows hostile names as text', async () => {
    const page = await dashboard.open('traces');
    await page.getByRole('combobox', { name: 'Service' }).selectOption(HOSTILE);
    await page.getByRole('link', { name: /^<img src=x/ }).click();
    await eventually(async () => (await spansOf(page).count()) === 1);
    await spansOf(page).click();
    await page.getByRole('region', { name: 'Span', exact: true }).getByText('<img src=x').first().waitFor();
    await expectAccessible(page);
  });

  it(`holds ${LARGE_COUNT} spans, of which it draws those in view`, async () => {
    for (let first = 1; first <= LARGE_COUNT; first += BATCH) {
      const spans = Array.from({ length: BATCH }, (_, i): TestSpan => {
        const id = first + i;
        return {
          id,
          parent: id === 1 ? 0 : Math.max(1, id >> 2),
          name: `step ${id}`,
          fromMs: id / 100,
          toMs: id / 100 + 5,
        };
      });
      await send(
        'large',
        LARGE_ID,
        spans.map((span) => ({ ...span, fromMs: Math.floor(span.fromMs), toMs: Math.ceil(span.toMs) })),
      );
    }
    const page = await dashboard.open(`traces?id=${LARGE_ID}`);
    await page.getByText(`50\u202f000 spans`, { exact: false }).waitFor({ timeout: 60_000 });
    expect(await spansOf(page).count()).to.be.within(5, 100);
    await page.getByRole('tree', { name: 'Spans' }).focus();
    await page.keyboard.press('End');
    await eventually(async () => {
      const last = await page.getByRole('tree', { name: 'Spans' }).getAttribute('aria-activedescendant');
      return last === `span-${LARGE_COUNT - 1}` && (await page.locator(`#${last}`).count()) === 1;
    });
    await page.getByRole('button', { name: 'Statistics' }).click();
    await page.getByRole('status').getByText(`50\u202f000 operations`).waitFor();
    await page.getByRole('button', { name: 'Flame graph' }).click();
    await page.getByRole('application', { name: /^Flame graph: Trace/ }).waitFor();
  });
});
