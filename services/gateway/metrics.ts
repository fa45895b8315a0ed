import type { Counter, Histogram } from 'prom-client';

import type { Clock } from '#shared/clock/clock';
import type { MemoryBudget } from '#shared/limits/memory-budget';
import { childrenBy, type Metrics } from '#shared/telemetry/metrics';

import type { Protocol } from './protocols/protocol.js';
import type { RequestContext } from './request-context.js';

const BUCKETS_SECONDS = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300];
/** Cached combinations of labels; more than a large installation has of routes, codes and databases. */
const CHILDREN_MAX = 10_000;
/** Pipelines with their own label value. */
const PIPELINES_MAX = 1_000;
/** Databases with their own label value. */
const DATABASES_MAX = 1_000;

type RequestLabel = 'method' | 'path' | 'code' | 'db';

interface RequestChild {
  readonly total: Counter.Internal;
  readonly elapsed: Histogram.Internal<RequestLabel>;
}

/** Metrics of the gateway. */
export class GatewayMetrics {
  readonly #requests: Counter<RequestLabel>;
  readonly #elapsed: Histogram<RequestLabel>;
  readonly #children = new Map<string, RequestChild>();
  readonly #databases = new Set<string>();
  readonly #pipelines = new Set<string>();
  readonly #droppedItems: Counter<'pipeline' | 'processor'>;
  readonly #sqlElapsed: (database: string) => Histogram.Internal<'db'>;
  /** By protocol. */
  readonly #ingestElapsed: ReadonlyMap<string, Histogram<'db'>>;
  readonly #errors: Counter<'protocol'>;
  readonly #authFailures: Counter<'code'>;
  readonly #refusedBodies: Counter<'reason'>;
  readonly #clock: Clock;

  constructor(
    metrics: Metrics,
    {
      clock,
      bodies,
      protocols,
    }: {
      readonly clock: Clock;
      readonly bodies: MemoryBudget;
      readonly protocols: readonly Pick<Protocol, 'name' | 'elapsedMetric'>[];
    },
  ) {
    this.#clock = clock;
    const buckets = BUCKETS_SECONDS;
    this.#requests = metrics.counter({
      name: 'servers_http_requests_total',
      help: 'HTTP requests by method, route, status and database',
      labelNames: ['method', 'path', 'code', 'db'],
    });
    this.#elapsed = metrics.histogram({
      name: 'servers_http_requests_elapsed',
      help: 'duration of HTTP requests in seconds, until the end of the response',
      labelNames: ['method', 'path', 'code', 'db'],
      buckets,
    });
    const sqlElapsed = metrics.histogram({
      name: 'servers_http_sql_elapsed',
      help: 'duration of SQL requests in seconds',
      labelNames: ['db'],
      buckets,
    });
    this.#sqlElapsed = childrenBy((db) => sqlElapsed.labels({ db }));
    this.#ingestElapsed = new Map(
      protocols.map(({ name, elapsedMetric }) => [
        name,
        metrics.histogram({ ...elapsedMetric, labelNames: ['db'], buckets }),
      ]),
    );
    this.#authFailures = metrics.counter({
      name: 'servers_auth_failure_count',
      help: 'requests whose credentials were refused, by error code',
      labelNames: ['code'],
    });
    this.#errors = metrics.counter({
      name: 'servers_error_total',
      help: 'failed write requests by protocol',
      labelNames: ['protocol'],
    });
    this.#droppedItems = metrics.counter({
      name: 'pipeline_dropped_items_total',
      help: 'items that the processors sample, throttle and dedupe of pipelines dropped',
      labelNames: ['pipeline', 'processor'],
    });
    this.#refusedBodies = metrics.counter({
      name: 'servers_request_memory_rejected_total',
      help: 'request bodies rejected because the memory for bodies was used up',
      labelNames: ['reason'],
    });
    metrics.gauge({
      name: 'servers_request_memory_in_use_bytes',
      help: 'memory used by request bodies in bytes',
      collect() {
        this.set(bodies.usedBytes);
      },
    });
    metrics
      .gauge({ name: 'servers_request_memory_limit_bytes', help: 'limit of the memory for request bodies in bytes' })
      .set(bodies.limitBytes);
  }

  /** Counts a request that has ended. */
  request(context: RequestContext, code: number): void {
    const method = context.request.method ?? 'none';
    const database = this.#labelOf(context.database);
    const key = `${method} ${code} ${context.route} ${database}`;
    let child = this.#children.get(key);
    if (child === undefined) {
      if (this.#children.size >= CHILDREN_MAX) this.#children.clear();
      const labels = { method, path: context.route, code: String(code), db: database };
      child = { total: this.#requests.labels(labels), elapsed: this.#elapsed.labels(labels) };
      this.#children.set(key, child);
    }
    child.total.inc();
    child.elapsed.observe(this.#secondsSince(context.startedMs));
  }

  /** Counts a SQL request. */
  sql(context: RequestContext): void {
    this.#sqlElapsed(this.#labelOf(context.database)).observe(this.#secondsSince(context.startedMs));
  }

  /** Counts a successful write. */
  ingested(protocol: string, context: RequestContext): void {
    const elapsed = this.#ingestElapsed.get(protocol);
    elapsed?.observe({ db: this.#labelOf(context.database) }, this.#secondsSince(context.startedMs));
  }

  /** Counts refused credentials. */
  authFailed(code: string): void {
    this.#authFailures.inc({ code });
  }

  /** Counts a failed write. */
  failed(protocol: string): void {
    this.#errors.inc({ protocol });
  }

  /** Returns how to count an item that a processor of a pipeline drops; the number of pipelines with a label is limited. */
  dropCounter(pipeline: string, processor: string): () => void {
    let child: Counter.Internal | undefined;
    return () => (child ??= this.#droppedItems.labels({ pipeline: this.#labelOfPipeline(pipeline), processor })).inc();
  }

  bodyRefused(): void {
    this.#refusedBodies.inc({ reason: 'memory' });
  }

  #labelOfPipeline(pipeline: string): string {
    if (!this.#pipelines.has(pipeline) && this.#pipelines.size >= PIPELINES_MAX) return 'other';
    this.#pipelines.add(pipeline);
    return pipeline;
  }

  /** Returns the label value of a database; their number is limited, since dropped databases keep theirs. */
  #labelOf(database: string): string {
    if (this.#databases.has(database)) return database;
    if (this.#databases.size >= DATABASES_MAX) return 'other';
    this.#databases.add(database);
    return database;
  }

  #secondsSince(startedMs: number): number {
    return (this.#clock.monotonicMs() - startedMs) / 1_000;
  }
}

/** Reports the ages of the tables that pipelines look up, in seconds by their name. */
export function watchLookupAges(metrics: Metrics, ages: () => ReadonlyMap<string, number>): void {
  metrics.gauge({
    name: 'pipeline_lookup_age_seconds',
    help: 'time since the rows of a table that pipelines look up were read, in seconds',
    labelNames: ['table'],
    collect() {
      this.reset();
      for (const [table, seconds] of ages()) this.set({ table }, seconds);
    },
  });
}
