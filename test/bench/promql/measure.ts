import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';

import { HttpConnection } from '../http-connection.js';
import { START_MS, STEP_SECONDS } from '../remote-write/generator.js';
import { panelRequest, PANELS, RANGES, type Panel, type Range } from './panels.js';

export interface PanelFigures {
  readonly panel: string;
  readonly range: Range['name'];
  /** Latency of the first query. */
  readonly coldMs: number;
  /** Latency of repeated queries, whose end moves by one step each time. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly answerBytes: number;
  /** Series of the last answer and the sum of their last values, to compare servers. */
  readonly series: number;
  readonly sum: number;
}

/** A panel of one step, queried again after everything else. */
export interface LaterFigures {
  readonly panel: string;
  readonly p50Ms: number;
}

export interface PromqlFigures {
  readonly server: string;
  readonly panels: readonly PanelFigures[];
  /** What takes a millisecond depends on how much of a server's code was compiled by then. */
  readonly later: readonly LaterFigures[];
  /** Panels of 1 h that eight clients at once were answered, a second. */
  readonly panelsPerSecond: number;
  readonly cpuSecondsPerPanel: number;
}

/** How queries are sent. */
export interface PromqlTarget {
  readonly server: string;
  readonly port: number;
  /** What goes before `/api/v1`. */
  readonly prefix: string;
  readonly cpuSeconds: () => number;
}

const REPEATS = 50;
/** Repetitions for panels of one step after everything else: about some minutes of a dashboard. */
const LATER_REPEATS = 500;
const CLIENTS = 8;
const CLIENTS_MS = 6_000;

/** Queries all panels: first each once, then each several times, then with eight concurrent clients. */
export async function measurePanels(target: PromqlTarget, hours: number): Promise<PromqlFigures> {
  const connection = new HttpConnection({ host: '127.0.0.1', port: target.port });
  const lastSecond = START_MS / 1000 + hours * 3600;
  const all = RANGES.flatMap((range) => PANELS.map((panel) => ({ panel, range })));
  // The ends move with each query, and stay within the data.
  const endOf = (question: number): number => lastSecond - (REPEATS + 1 - question) * STEP_SECONDS - 7.3;
  const cold: number[] = [];
  for (const { panel, range } of all) cold.push((await ask(connection, target, panel, range, endOf(0))).ms);
  const panels: PanelFigures[] = [];
  for (const [i, { panel, range }] of all.entries()) {
    const times: number[] = [];
    let body = '';
    for (let repeat = 1; repeat <= REPEATS; repeat++) {
      const answer = await ask(connection, target, panel, range, endOf(repeat));
      times.push(answer.ms);
      body = answer.body;
    }
    times.sort((a, b) => a - b);
    panels.push({
      panel: panel.name,
      range: range.name,
      coldMs: cold[i],
      p50Ms: times[Math.floor(REPEATS / 2)],
      p95Ms: times[Math.floor(REPEATS * 0.95)],
      answerBytes: body.length,
      ...summaryOf(body),
    });
  }
  const clients = await measureClients(target, endOf);
  const later: LaterFigures[] = [];
  for (const { panel, range } of all.filter((it) => it.range.name === 'instant')) {
    const times: number[] = [];
    for (let repeat = 0; repeat < LATER_REPEATS; repeat++) {
      times.push((await ask(connection, target, panel, range, endOf(repeat % REPEATS) + repeat / LATER_REPEATS)).ms);
    }
    times.sort((a, b) => a - b);
    later.push({ panel: panel.name, p50Ms: times[LATER_REPEATS / 2] });
  }
  connection.close();
  return { server: target.server, panels, later, ...clients };
}

async function measureClients(
  target: PromqlTarget,
  endOf: (question: number) => number,
): Promise<{ panelsPerSecond: number; cpuSecondsPerPanel: number }> {
  const range = RANGES.find(({ name }) => name === '1h');
  invariant(range !== undefined, 'no range of 1 h');
  const startedMs = systemClock.monotonicMs();
  const cpuBefore = target.cpuSeconds();
  let answered = 0;
  const client = async (): Promise<void> => {
    const connection = new HttpConnection({ host: '127.0.0.1', port: target.port });
    while (systemClock.monotonicMs() - startedMs < CLIENTS_MS) {
      const question = answered++;
      await ask(connection, target, PANELS[question % PANELS.length], range, endOf(question % REPEATS));
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
  return { panelsPerSecond: answered / seconds, cpuSecondsPerPanel: (target.cpuSeconds() - cpuBefore) / answered };
}

async function ask(
  connection: HttpConnection,
  { prefix, server }: PromqlTarget,
  panel: Panel,
  range: Range,
  end: number,
): Promise<{ readonly ms: number; readonly body: string }> {
  const { path, form } = panelRequest(panel, range, end);
  const askedMs = systemClock.monotonicMs();
  const answer = await connection.postForm(prefix + path, form);
  const ms = systemClock.monotonicMs() - askedMs;
  const body = answer.body.toString();
  invariant(answer.status === 200, `${server} ${panel.name} ${range.name}: ${answer.status} ${body.slice(0, 300)}`);
  return { ms, body };
}

interface Answer {
  readonly data: { readonly result: readonly { values?: [number, string][]; value?: [number, string] }[] };
}

function summaryOf(body: string): { series: number; sum: number } {
  const { result } = (JSON.parse(body) as Answer).data;
  const lasts = result.map(({ values, value }) => Number((values?.at(-1) ?? value)?.[1]));
  return { series: result.length, sum: lasts.reduce((sum, last) => sum + last, 0) };
}
