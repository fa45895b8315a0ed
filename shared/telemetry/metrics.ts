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

/** Prefix of every metric name; callers leave it out. */
const PREFIX = 'almanac_';
const PROCESS_LINE = new RegExp(`^(# (?:HELP|TYPE) )?${PREFIX}(process_.*)$`);

/** Longest wait for gauges that are set on read; scrapers wait ten seconds in all. */
const SET_MS_MAX = 2_000;

/** Gauges with the name of a counter; the ones without `_total` report the same numbers by type. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** Options of `Metrics`. */
export interface MetricsOptions {
  /** Whether to add copies of the process metrics without the prefix. */
  readonly unprefixedProcess: boolean;
  /** Whether process metrics are included; default true. */
  readonly ofProcess?: boolean | undefined;
  /** Default: the system's clock. */
  readonly clock?: Clock;
}

/**
 * Returns a function that finds the child of a metric by the value of a label with few values: prom-client takes longer to
 * find a child than to count.
 */
export function childrenBy<V, C>(create: (value: V) => C): (value: V) => C {
  const known = new Map<V, C>();
  return (value) => {
    let child = known.get(value);
    if (child === undefined) known.set(value, (child = create(value)));
    return child;
  };
}

/** All metrics of one process. */
export class Metrics {
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8';
  readonly #registry = new Registry();
  readonly #unprefixedProcess: boolean;
  readonly #clock: Clock;
  /** Callbacks that set gauges, and their running calls. */
  readonly #callbacks = new Map<() => Promise<void> | void, Promise<void> | undefined>();

  constructor(options: MetricsOptions) {
    this.#unprefixedProcess = options.unprefixedProcess;
    this.#clock = options.clock ?? systemClock;
    if (options.ofProcess === false) return;
    collectDefaultMetrics({ register: this.#registry, prefix: PREFIX });
    for (const name of MISNAMED) this.#registry.removeSingleMetric(PREFIX + name);
  }

  /** Returns the counter of this name, created on the first call. */
  counter<Label extends string = never>(options: Omit<CounterConfiguration<Label>, 'registers'>): Counter<Label> {
    const name = PREFIX + options.name;
    const known = this.#registry.getSingleMetric(name);
    if (known === undefined) return new Counter({ ...options, name, registers: [this.#registry] });
    invariant(known instanceof Counter, `metric ${name} is not a counter`);
    return known;
  }

  /** Returns the gauge of this name, created on the first call. */
  gauge<Label extends string = never>(options: Omit<GaugeConfiguration<Label>, 'registers'>): Gauge<Label> {
    const name = PREFIX + options.name;
    const known = this.#registry.getSingleMetric(name);
    if (known === undefined) return new Gauge({ ...options, name, registers: [this.#registry] });
    invariant(known instanceof Gauge, `metric ${name} is not a gauge`);
    return known;
  }

  /** Returns the histogram of this name, created on the first call. */
  histogram<Label extends string = never>(options: Omit<HistogramConfiguration<Label>, 'registers'>): Histogram<Label> {
    const name = PREFIX + options.name;
    const known = this.#registry.getSingleMetric(name);
    if (known === undefined) return new Histogram({ ...options, name, registers: [this.#registry] });
    invariant(known instanceof Histogram, `metric ${name} is not a histogram`);
    return known;
  }

  /**
   * Registers a callback that sets gauges whenever metrics are read, for values that are expensive to keep up to date.
   *
   * @param setGauges if it fails or takes long, its gauges keep their values: a fault must not hide all other metrics.
   * @returns a function that removes the callback.
   */
  beforePrint(setGauges: () => Promise<void> | void): () => void {
    this.#callbacks.set(setGauges, undefined);
    return () => void this.#callbacks.delete(setGauges);
  }

  /** Prints all metrics in the Prometheus text format. */
  async print(): Promise<string> {
    await this.#setGauges();
    const printed = await this.#registry.metrics();
    return this.#unprefixedProcess ? printed + withoutPrefix(printed) : printed;
  }

  /** A disk that hangs blocks one thread per call, so a callback is not called again until it has returned. */
  async #setGauges(): Promise<void> {
    if (this.#callbacks.size === 0) return;
    const runs = [...this.#callbacks].map(([setGauges, running]) => running ?? this.#run(setGauges));
    const enough = new AbortController();
    await Promise.race([Promise.all(runs), this.#clock.sleep(SET_MS_MAX, enough.signal)]);
    enough.abort();
  }

  async #run(setGauges: () => Promise<void> | void): Promise<void> {
    const run = Promise.resolve()
      .then(setGauges)
      .catch(() => undefined);
    this.#callbacks.set(setGauges, run);
    await run;
    if (this.#callbacks.has(setGauges)) this.#callbacks.set(setGauges, undefined);
  }
}

/** Exports the version of the program as labels. @param role of the process. */
export function showVersion(
  metrics: Metrics,
  role: string,
  { version, branch, commit }: { readonly version: string; readonly branch: string; readonly commit: string },
): void {
  const gauge = metrics.gauge({
    name: 'app_version',
    help: 'app version',
    labelNames: ['app', 'short_version', 'version'],
  });
  gauge.set({ app: `almanac-${role}`, short_version: `${branch}-${commit.slice(0, 8)}`, version }, 1);
}

/** Counts log lines; to be passed to the log as `onLine`. */
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
