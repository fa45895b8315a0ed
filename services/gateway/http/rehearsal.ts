import { createServer, type RequestListener, type Server } from 'node:http';
import { duplexPair, type Duplex } from 'node:stream';

import type { Clock } from '#shared/clock/clock';
import type { QuerierService } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { MemoryBudget } from '#shared/limits/memory-budget';
import { Metrics } from '#shared/telemetry/metrics';

import type { AuthGuard } from '../auth/guard.js';
import { GatewayMetrics } from '../metrics.js';
import type { Protocol } from '../protocols/protocol.js';
import { QueryIds } from '../query/query-ids.js';
import type { QueryDeps } from '../query/query-route.js';
import { SQL_DOC } from '../query/sql-doc.js';
import { sqlHandler } from '../query/sql.js';
import { Cors } from './cors.js';
import { RequestLifecycle } from './lifecycle.js';
import { Router } from './routes.js';

type SqlService = Pick<QuerierService, 'sql'>;

/**
 * Returns a service that sends what another one returns, as the gateway sends it to clients, to no client. Thus V8
 * compiles the code of a query as a whole.
 */
export type Rehearse = (service: SqlService) => SqlService;

/** What the rehearsal shares with the requests of clients. */
export interface RehearsalDeps extends Omit<QueryDeps, 'querier' | 'metrics' | 'slowQueries' | 'queryIds'> {
  readonly clock: Clock;
  readonly budget: MemoryBudget;
  readonly protocols: readonly Protocol[];
  /** Returns a guard that lets all requests pass. */
  readonly guard: (metrics: GatewayMetrics) => AuthGuard;
}

/** Returns a rehearsal, whose requests are neither counted nor logged. */
export function rehearsing(deps: RehearsalDeps): Rehearse {
  const { config, clock, budget, protocols, log, gate } = deps;
  return (querier) => {
    const unseen = new Metrics({ unprefixedProcess: false, ofProcess: false });
    const metrics = new GatewayMetrics(unseen, { clock, bodies: budget, protocols });
    const slowQueries = { observe: () => undefined, prepare: () => Promise.resolve() };
    const handler = sqlHandler({ ...deps, querier, metrics, slowQueries, queryIds: new QueryIds() });
    const lifecycle = new RequestLifecycle({
      clock,
      log,
      metrics,
      guard: deps.guard(metrics),
      tracing: { isOn: false, start: () => undefined },
      slowQueries,
      cors: new Cors(config.http),
      requestsMax: config.http.maxConcurrentRequests,
      gate,
      router: new Router([{ methods: ['POST'], path: '/v1/sql', handler, doc: SQL_DOC }]),
      sockets: [],
    });
    const requests = new OwnRequests((request, response) => lifecycle.handle(request, response, 'main'));
    return {
      async *sql({ sql, database, timezone, format, limit }, { signal }) {
        const parameters = new URLSearchParams({ db: database, timezone, format });
        if (limit !== undefined) parameters.set('limit', String(limit));
        await requests.post(`/v1/sql?${parameters.toString()}`, `sql=${encodeURIComponent(sql)}`, signal);
      },
    };
  };
}

/** Sends requests of this process to its own HTTP code, over a connection in memory, one after the other. */
export class OwnRequests {
  readonly #server: Server;
  #connection: { readonly ours: Duplex; readonly theirs: Duplex } | undefined = undefined;
  #onClosed: (status: number, isWhole: boolean) => void = () => undefined;

  /** @param handle answers the requests. */
  constructor(handle: RequestListener) {
    // It never listens: connections are passed to it.
    this.#server = createServer((request, response) => {
      const onClosed = this.#onClosed;
      response.once('close', () => onClosed(response.statusCode, response.writableFinished));
      handle(request, response);
    });
  }

  /**
   * Posts a form, and resolves when the response is sent; what it contains is dropped.
   *
   * @throws the reason of `signal`; `unexpected` if the response reports an error.
   */
  post(path: string, form: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const { ours, theirs } = this.#connected();
      const disconnect = (): void => {
        theirs.destroy();
        if (this.#connection?.theirs === theirs) this.#connection = undefined;
      };
      const onAbort = (): void => {
        disconnect();
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#onClosed = (status, isWhole) => {
        signal.removeEventListener('abort', onAbort);
        if (!isWhole) disconnect();
        if (isWhole && status < 400) resolve();
        else reject(new AlmanacError('unexpected', `the response is incomplete or has status ${status}`));
      };
      ours.write(
        `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\n` +
          `content-length: ${Buffer.byteLength(form)}\r\n\r\n${form}`,
      );
    });
  }

  #connected(): { readonly ours: Duplex; readonly theirs: Duplex } {
    if (this.#connection !== undefined) return this.#connection;
    const [ours, theirs] = duplexPair();
    ours.resume();
    this.#server.emit('connection', theirs);
    this.#connection = { ours, theirs };
    return this.#connection;
  }
}
