import {
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  Registry,
  type CounterConfiguration,
  type GaugeConfiguration,
  type HistogramConfiguration,
} from 'prom-client';

import { systemClock, type Clock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';

export type { Counter, Gauge, Histogram } from 'prom-client';

/** Every name begins with this; owners of metrics leave it out. */
const PREFIX = 'almanac_';
const PROCESS_LINE = new RegExp(`^(# (?:HELP|TYPE) )?${PREFIX}(process_.*)$`);

/** Longest wait for gauges that are set when metrics are read; scrapers wait ten seconds for all. */
const SHOW_MS_MAX = 2_000;

/** Gauges that are named as counters; those without `_total` tell the same by type. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

export interface MetricsOptions {
  /** Adds copies of the process metrics without the prefix. */
  readonly unprefixedProcess: boolean;
  /** Whether the metrics of the process are among them; true if not given. */
  readonly ofProcess?: boolean | undefined;
  /** The system's if not given. */
  readonly clock?: Clock;
}

/** All metrics of one process. */
export class Metrics {
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8';
  readonly #registry = new Registry();
  readonly #unprefixedProcess: boolean;
  readonly #clock: Clock;
  /** What sets gauges, and its run that has not ended. */
  readonly #shows = new Map<() => Promise<void> | void, Promise<void> | undefined>();

  constructor(options: MetricsOptions) {
    this.#unprefixedProcess = options.unprefixedProcess;
    this.#clock = options.clock ?? systemClock;
    if (options.ofProcess === false) return;
    collectDefaultMetrics({ register: this.#registry, prefix: PREFIX });
    for (const name of MISNAMED) this.#registry.removeSingleMetric(PREFIX + name);
  }

  /** The counter of this name; made at the first call. */
  counter<Label extends string = never>(options: Omit<CounterConfiguration<Label>, 'registers'>): Counter<Label> {
    const name = PREFIX + options.name;
    const known = this.#registry.getSingleMetric(name);
    if (known === undefined) return new Counter({ ...options, name, registers: [this.#registry] });
    invariant(known instanceof Counter, `metric ${name} is not a counter`);
    return known;
  }

  /** The gauge of this name; made at the first call. */
  gauge<Label extends string = never>(options: Omit<GaugeConfiguration<Label>, 'registers'>): Gauge<Label> {
    const name = PREFIX + options.name;
    const known = this.#registry.getSingleMetric(name);
    if (known === undefined) return new Gauge({ ...options, name, registers: [this.#registry] });
    invariant(known instanceof Gauge, `metric ${name} is not a gauge`);
    return known;
  }

  /** The histogram of this name; made at the first call. */
  histogram<Label extends string = never>(options: Omit<HistogramConfiguration<Label>, 'registers'>): Histogram<Label> {
    const name = PREFIX + options.name;
    const known = this.#registry.getSingleMetric(name);
    if (known === undefined) return new Histogram({ ...options, name, registers: [this.#registry] });
    invariant(known instanceof Histogram, `metric ${name} is not a histogram`);
    return known;
  }

  /**
   * Has gauges set whenever metrics are read, for what is too dear to keep up to date.
   *
   * @param show if it fails or takes long, its gauges stay as they are: what is amiss must not hide all other metrics.
   * @returns ends that.
   */
  beforePrint(show: () => Promise<void> | void): () => void {
    this.#shows.set(show, undefined);
    return () => void this.#shows.delete(show);
  }

  /** All metrics in the Prometheus text format. */
  async print(): Promise<string> {
    await this.#show();
    const printed = await this.#registry.metrics();
    return this.#unprefixedProcess ? printed + withoutPrefix(printed) : printed;
  }

  /** A disk that does not answer holds a thread for each question: it is asked again when it has answered. */
  async #show(): Promise<void> {
    if (this.#shows.size === 0) return;
    const runs = [...this.#shows].map(([show, running]) => running ?? this.#run(show));
    const enough = new AbortController();
    await Promise.race([Promise.all(runs), this.#clock.sleep(SHOW_MS_MAX, enough.signal)]);
    enough.abort();
  }

  async #run(show: () => Promise<void> | void): Promise<void> {
    const run = Promise.resolve()
      .then(show)
      .catch(() => undefined);
    this.#shows.set(show, run);
    await run;
    if (this.#shows.has(show)) this.#shows.set(show, undefined);
  }
}

/** Counts log lines; give it to the log as `onLine`. */
export function countLogLines(metrics: Metrics): (level: string, component: string) => void {
  const lines = metrics.counter({
    name: 'log_lines_total',
    help: 'log lines by level and component',
    labelNames: ['level', 'component'],
  });
  return (level, component) => lines.inc({ level, component });
}

function withoutPrefix(printed: string): string {
  const lines = printed.split('\n').flatMap((line) => {
    const match = PROCESS_LINE.exec(line);
    return match === null ? [] : [`${match[1] ?? ''}${match[2]}`];
  });
  return `\n${lines.join('\n')}\n`;
}
