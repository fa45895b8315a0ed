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

import { invariant } from '#shared/errors/invariant';

export type { Counter, Gauge, Histogram } from 'prom-client';

/** Every name begins with this; owners of metrics leave it out. */
const PREFIX = 'almanac_';
const PROCESS_LINE = new RegExp(`^(# (?:HELP|TYPE) )?${PREFIX}(process_.*)$`);

/** Gauges that are named as counters; those without `_total` tell the same by type. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

export interface MetricsOptions {
  /** Adds copies of the process metrics without the prefix. */
  readonly unprefixedProcess: boolean;
  /** Whether the metrics of the process are among them; true if not given. */
  readonly ofProcess?: boolean | undefined;
}

/** All metrics of one process. */
export class Metrics {
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8';
  readonly #registry = new Registry();
  readonly #unprefixedProcess: boolean;
  readonly #shows = new Set<() => Promise<void> | void>();

  constructor(options: MetricsOptions) {
    this.#unprefixedProcess = options.unprefixedProcess;
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
   * @param show if it fails, its gauges stay as they are: what is amiss must not hide all other metrics.
   * @returns ends that.
   */
  beforePrint(show: () => Promise<void> | void): () => void {
    this.#shows.add(show);
    return () => void this.#shows.delete(show);
  }

  /** All metrics in the Prometheus text format. */
  async print(): Promise<string> {
    await Promise.allSettled([...this.#shows].map(async (show) => show()));
    const printed = await this.#registry.metrics();
    return this.#unprefixedProcess ? printed + withoutPrefix(printed) : printed;
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
