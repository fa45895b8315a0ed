import { labelField, SERIES_BYTES_MAX, writeSeries } from './wire.js';

/** Of each pod. */
export const POD_METRICS = 100;
export const SCRAPE_SECONDS = 15;
const NAMESPACES = 20;
const SCRAPES_A_MINUTE = 60 / SCRAPE_SECONDS;
/** What Prometheus sends for a series that is gone: a NaN of these bits. */
const STALE = new Float64Array(new BigUint64Array([0x7ff0000000000002n]).buffer)[0];

interface Pod {
  /** Of each metric. */
  readonly labels: readonly Buffer[];
  readonly startedScrape: number;
}

/** Pods of a cluster of which some are replaced each minute by ones with new names, as deployments do. */
export class Pods {
  readonly #pods: Pod[] = [];
  readonly #replacedAMinute: number;
  #next = 0;
  #oldest = 0;

  /** @param share of all pods that is replaced each minute. */
  constructor(count: number, share: number) {
    this.#replacedAMinute = count * share;
    for (let i = 0; i < count; i++) this.#pods.push(this.#start(0));
  }

  get active(): number {
    return this.#pods.length * POD_METRICS;
  }

  /** Series that ever were. */
  get series(): number {
    return this.#next * POD_METRICS;
  }

  /**
   * Bodies of remote write 1.0 of one scrape of all pods, not compressed; series of pods that went since the last
   * one end with stale markers.
   */
  *scrape(number: number, timeMs: number, samplesPerBody: number): Iterable<Buffer> {
    const replaced = this.#replacedUntil(number) - this.#replacedUntil(number - 1);
    const gone = Array.from({ length: number === 0 ? 0 : replaced }, () => this.#replaceOldest(number));
    const bytes = Buffer.alloc(samplesPerBody * SERIES_BYTES_MAX);
    let at = 0;
    let samples = 0;
    for (const pod of [...gone, ...this.#pods]) {
      for (const [metric, labels] of pod.labels.entries()) {
        const value = gone.includes(pod) ? STALE : (number - pod.startedScrape) * (metric + 1);
        at = writeSeries(bytes, at, { labels, value }, timeMs);
        if (++samples < samplesPerBody) continue;
        yield Buffer.from(bytes.subarray(0, at));
        at = samples = 0;
      }
    }
    if (samples > 0) yield Buffer.from(bytes.subarray(0, at));
  }

  #replacedUntil(scrape: number): number {
    return Math.floor((scrape * this.#replacedAMinute) / SCRAPES_A_MINUTE);
  }

  #replaceOldest(scrape: number): Pod {
    const at = this.#oldest++ % this.#pods.length;
    const gone = this.#pods[at];
    this.#pods[at] = this.#start(scrape);
    return gone;
  }

  #start(scrape: number): Pod {
    const number = this.#next++;
    const pod = `app-${number % NAMESPACES}-${(number * 7919).toString(36)}-${number}`;
    const labels = Array.from({ length: POD_METRICS }, (_, metric) =>
      Buffer.concat(
        [
          ['__name__', `container_metric_${metric}_total`],
          ['instance', `10.0.${(number >> 8) & 0xff}.${number & 0xff}:8080`],
          ['job', 'kubernetes-pods'],
          ['namespace', `ns-${number % NAMESPACES}`],
          ['pod', pod],
        ].map(([name, value]) => labelField(name, value)),
      ),
    );
    return { labels, startedScrape: scrape };
  }
}
