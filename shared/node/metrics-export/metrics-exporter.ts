import type { Clock } from '#shared/clock/clock';
import { ownCall, type Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';
import { Loop } from '#shared/lifecycle/loop';
import type { Logger } from '#shared/telemetry/log';
import type { Counter, Metrics } from '#shared/telemetry/metrics';

import { writeRequests } from './write-requests.js';

/** Longest time for reading and sending the metrics of one process. */
const SOURCE_MS_MAX = 10_000;

/** A process whose metrics are exported. */
export interface MetricsSource {
  /** Labels of its series. `instance` and `role` together identify it. */
  readonly labels: Readonly<Record<'job' | 'instance' | 'role', string>>;
  /** Returns its metrics in Prometheus's text format. */
  readonly read: (call: Call) => Promise<string>;
}

/** Dependencies of `MetricsExporter`. */
export interface MetricsExporterDeps {
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Returns the processes to export now; none while nothing can be written. */
  readonly sources: (call: Call) => Promise<readonly MetricsSource[]>;
  /** Stores one message of remote write 1.0, which is not compressed. */
  readonly send: (request: Buffer, call: Call) => Promise<void>;
}

/**
 * Exports metrics at an interval, one process after the other and one request at a time.
 *
 * What cannot be sent is dropped, since the next export has newer values. A failure is logged when it begins and when it ends.
 */
export class MetricsExporter {
  readonly #deps: MetricsExporterDeps;
  readonly #loop: Loop;
  readonly #exports: Counter<'result'>;
  /** Processes whose last export failed. */
  #failing = new Set<string>();

  constructor(deps: MetricsExporterDeps) {
    this.#deps = deps;
    this.#exports = deps.metrics.counter({
      name: 'metrics_exports_total',
      help: 'exports of the metrics of a process by export_metrics, by result: `ok` or `failed`',
      labelNames: ['result'],
    });
    this.#loop = new Loop({ name: 'metrics.export', ...deps }, (signal) => this.#exportAll(signal));
  }

  start(): void {
    this.#loop.start();
  }

  /** Cancels the current export, if any; none begins afterwards. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #exportAll(signal: AbortSignal): Promise<void> {
    const failing = new Set<string>();
    const sources = await this.#withDeadline(signal, (call) => this.#deps.sources(call));
    for (const source of sources) {
      if (signal.aborted) return;
      const { instance, role } = source.labels;
      const key = `${role} ${instance}`;
      try {
        await this.#withDeadline(signal, (call) => this.#export(source, call));
        this.#exports.inc({ result: 'ok' });
        if (this.#failing.has(key)) this.#deps.log.info({ instance, role }, 'metrics exported again');
      } catch (error) {
        // A stop is no failure.
        if (signal.aborted) return;
        failing.add(key);
        this.#exports.inc({ result: 'failed' });
        const reason = AlmanacError.from(error).message;
        if (!this.#failing.has(key)) this.#deps.log.warn({ instance, role, reason }, 'metrics not exported');
      }
    }
    this.#failing = failing;
  }

  async #export({ labels, read }: MetricsSource, call: Call): Promise<void> {
    const { clock, send } = this.#deps;
    const timeMs = Math.round(clock.nowMs());
    for await (const request of writeRequests({ text: await read(call), labels, timeMs }, clock)) {
      await send(request, call);
    }
  }

  async #withDeadline<T>(signal: AbortSignal, run: (call: Call) => Promise<T>): Promise<T> {
    const { clock } = this.#deps;
    const ending = new AbortController();
    const timer = clock.after(SOURCE_MS_MAX, () => {
      ending.abort(new AlmanacError('deadline_exceeded', `the export took longer than ${SOURCE_MS_MAX} ms`));
    });
    const own = ownCall('metrics export', AbortSignal.any([signal, ending.signal]));
    try {
      return await run({ ...own, deadlineMs: clock.nowMs() + SOURCE_MS_MAX });
    } finally {
      timer.cancel();
    }
  }
}
