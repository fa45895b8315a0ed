import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';
import { HttpConnection, requestHead } from '#test/bench/http-connection';
import { ensureLinesFile, readBodies } from '#test/bench/tsbs/lines-file';
import { Dashboard } from '#test/support/dashboard';
import { longTasksMs, noteLongTasks, sweepMs } from '#test/support/page-tasks';

/**
 * `npm run trial -- dashboard`: in Chromium, the longest tasks of a page that draws 100 series of 1,000 points, holds a trace of 50,000
 * spans, and takes keys and scrolls beside a million rows; then the first paint of screens while the server takes rows at half its rate.
 */
const LOADS = 3;
const SERIES = 100;
const POINTS = 1_000;
const POINT_SECONDS = 3.6;
const SPANS = 50_000;
const SPANS_PER_BODY = 10_000;
const TRACE_ID = '1af7651916cd43dd8448eb211c80319c';
const KEYS = 40;
const SWEEPS = 5;
const HOSTS = 500;
const STEPS = 4_320;
const LINES_PER_BODY = 5_000;
const CONNECTIONS = 4;
const RATE_MS = 5_000;
const SCREENS = ['query', 'metrics?m=cpu', 'tables?t=cpu', 'cluster'];

const dashboard = await Dashboard.start();
try {
  await writeSeries();
  await writeTrace();
  await drawChart();
  await showTrace();
  await typeAndScroll();
  await paintBesideWrites();
} finally {
  await dashboard.stop();
}

function report(what: string, figures: string): void {
  process.stdout.write(`${what.padEnd(44)} ${figures}\n`);
}

function tasksText(tasksMs: readonly number[]): string {
  const longestMs = Math.max(0, ...tasksMs);
  return `${tasksMs.length} tasks of 50 ms and longer${longestMs === 0 ? '' : `, the longest ${longestMs} ms`}`;
}

async function writeSeries(): Promise<void> {
  const nowMs = Date.now();
  const lines: string[] = [];
  for (let series = 0; series < SERIES; series++) {
    for (let i = 0; i < POINTS; i++) {
      const value = Math.sin(i / 50 + series) * 50 + series;
      lines.push(`drawn,host=h${series} value=${value} ${nowMs - i * POINT_SECONDS * 1000}000000`);
    }
  }
  await dashboard.almanac.written(lines.join('\n'));
}

async function writeTrace(): Promise<void> {
  const startMs = Date.now() - 60_000;
  const idOf = (id: number): string => id.toString(16).padStart(16, '0');
  for (let first = 1; first <= SPANS; first += SPANS_PER_BODY) {
    const spans = Array.from({ length: SPANS_PER_BODY }, (_, i) => {
      const id = first + i;
      return {
        traceId: TRACE_ID,
        spanId: idOf(id),
        ...(id > 1 && { parentSpanId: idOf(Math.max(1, id >> 2)) }),
        name: `step ${id}`,
        startTimeUnixNano: `${startMs + Math.floor(id / 100)}000000`,
        endTimeUnixNano: `${startMs + Math.ceil(id / 100 + 5)}000000`,
      };
    });
    const attributes = [{ key: 'service.name', value: { stringValue: 'large' } }];
    const body = JSON.stringify({ resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans }] }] });
    const headers = { 'content-type': 'application/json' };
    const { status, text } = await dashboard.almanac.post('/v1/otlp/v1/traces', body, headers);
    invariant(status === 200, text);
  }
}

/** The first load of the page also loads the code of charts. */
async function drawChart(): Promise<void> {
  for (let i = 0; i < LOADS; i++) {
    const page = await dashboard.open('query?mode=promql&view=chart');
    await noteLongTasks(page);
    await page.getByRole('textbox', { name: /^PromQL\./ }).fill('drawn');
    await longTasksMs(page);
    await page.keyboard.press('Control+Enter');
    const drawn = page.getByRole('img', { name: /^100 series/ });
    await drawn.waitFor();
    await page.waitForLoadState('networkidle');
    report(`chart of ${SERIES} series, load ${i + 1}`, tasksText(await longTasksMs(page)));
    await dashboard.closePages();
  }
}

async function showTrace(): Promise<void> {
  const page = await dashboard.open(`traces?id=${TRACE_ID}`);
  await noteLongTasks(page);
  await page.getByText('50\u202f000 spans').waitFor({ timeout: 60_000 });
  await page.waitForLoadState('networkidle');
  report(`trace of ${SPANS} spans`, tasksText(await longTasksMs(page)));
  await dashboard.closePages();
}

async function typeAndScroll(): Promise<void> {
  const page = await dashboard.open('query');
  await noteLongTasks(page);
  await page
    .getByRole('textbox', { name: /^SQL\./ })
    .fill('SELECT * FROM generate_series(1, 1000000) AS t(number)\n-- ');
  await page.keyboard.press('Control+Home');
  await longTasksMs(page);
  await page.keyboard.press('Control+Enter');
  await page.keyboard.press('Control+End');
  await page.keyboard.type('a'.repeat(KEYS), { delay: 20 });
  await page.getByText(/^1\u202f000\u202f000 rows in/).waitFor({ timeout: 60_000 });
  report('typing while a million rows arrive', tasksText(await longTasksMs(page)));
  await page.keyboard.type('b'.repeat(KEYS), { delay: 20 });
  report('typing after that', tasksText(await longTasksMs(page)));
  const framesMs: number[] = [];
  for (let i = 0; i < SWEEPS; i++) framesMs.push(await sweepMs(page));
  report('scrolling to the end and back', `longest frames ${framesMs.join(', ')} ms`);
  await dashboard.closePages();
}

async function paintBesideWrites(): Promise<void> {
  const all = startWriting(undefined);
  await systemClock.sleep(RATE_MS);
  const rate = await all.stop();
  const half = startWriting(rate / 2);
  await systemClock.sleep(RATE_MS);
  for (const screen of SCREENS) {
    const paintsMs: number[] = [];
    const headingsMs: number[] = [];
    for (let i = 0; i < LOADS; i++) {
      const startMs = systemClock.monotonicMs();
      const page = await dashboard.open(screen);
      await page.getByRole('main').getByRole('heading', { level: 1 }).first().waitFor();
      headingsMs.push(Math.round(systemClock.monotonicMs() - startMs));
      const paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime";
      paintsMs.push(Math.round(await page.evaluate<number>(paint)));
      await dashboard.closePages();
    }
    report(`${screen}, beside writes`, `first paint ${paintsMs.join(', ')} ms, heading ${headingsMs.join(', ')} ms`);
  }
  report('rows a second', `${Math.round(await half.stop())}, of ${Math.round(rate)} without a browser`);
}

/** Writes until it is stopped. @param pace largest number of rows a second; undefined: as fast as possible. */
function startWriting(pace: number | undefined): { stop(): Promise<number> } {
  const shape = { hosts: HOSTS, steps: STEPS, seed: 1 };
  const bodies = readBodies(ensureLinesFile(shape), 0, HOSTS * STEPS, LINES_PER_BODY);
  const address = { host: '127.0.0.1', port: Number(new URL(dashboard.almanac.url).port) };
  const startMs = systemClock.monotonicMs();
  let sent = 0;
  let acknowledged = 0;
  let isStopped = false;
  const write = async (): Promise<void> => {
    const connection = new HttpConnection(address);
    while (!isStopped) {
      const dueMs = pace === undefined ? 0 : startMs + ((sent * LINES_PER_BODY) / pace) * 1000;
      const body = bodies.at(sent++ % bodies.count);
      await systemClock.sleep(Math.max(0, dueMs - systemClock.monotonicMs()));
      const content = { contentType: 'text/plain; charset=utf-8', bytes: body.length };
      const { status } = await connection.send(requestHead('POST', '/v1/lineproto/write', address, content), body);
      invariant(status === 204, `status ${status}`);
      acknowledged += LINES_PER_BODY;
    }
    connection.close();
  };
  const all = Promise.all(Array.from({ length: CONNECTIONS }, write));
  return {
    async stop() {
      isStopped = true;
      await all;
      return (acknowledged / (systemClock.monotonicMs() - startMs)) * 1000;
    },
  };
}
