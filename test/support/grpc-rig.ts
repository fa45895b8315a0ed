import { systemClock } from '#shared/clock/clock';
import { callError, type Call } from '#shared/contracts/call';
import type { IngesterService } from '#shared/contracts/gen/ingester';
import type { AlmanacError } from '#shared/errors/almanac-error';
import { connect, type ConnectOptions, type Connection } from '#shared/grpc/connect';
import { serve, type GrpcServer } from '#shared/grpc/serve';

import { overGrpc, type OverGrpc, type OverGrpcOptions } from './over-grpc.js';
import { partialIngester } from './partial-ingester.js';
import { KeptLog } from './quiet-log.js';

export const FLUSH = { tableId: 1, regionIds: [1] };

export function callFor(ms: number, signal = new AbortController().signal): Call {
  return { deadlineMs: Date.now() + ms, signal, requestId: 'request-1' };
}

/** Something that one side waits for and the other brings about. */
export function event(): { readonly happened: Promise<void>; happen(): void } {
  let happen: () => void = () => undefined;
  const happened = new Promise<void>((resolve) => (happen = resolve));
  return { happened, happen };
}

/** Resolves when the call's signal aborts, with its error. */
export function aborted({ signal }: Call): Promise<AlmanacError> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(callError(signal)), { once: true });
    if (signal.aborted) resolve(callError(signal));
  });
}

/** Servers and connections of one test, which all end with it. */
export class GrpcRig {
  #closings: (() => unknown)[] = [];

  onClose(close: () => unknown): void {
    this.#closings.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closings.reverse()) await close();
    this.#closings = [];
  }

  /** An ingester of these methods and a connection to it. */
  async start(methods: Partial<IngesterService>, options: OverGrpcOptions = {}): Promise<OverGrpc<'Ingester'>> {
    const running = await overGrpc('Ingester', partialIngester(methods), options);
    this.onClose(() => running.stop());
    return running;
  }

  connectTo(port: number, options: Partial<ConnectOptions> = {}): Connection {
    const connection = connect(`127.0.0.1:${port}`, { clock: systemClock, ...options });
    this.onClose(() => connection.close());
    return connection;
  }

  async serveOn(port: number, methods: Partial<IngesterService> = {}): Promise<GrpcServer> {
    const place = { host: '127.0.0.1', port, clock: systemClock, log: new KeptLog() };
    const server = await serve({ ...place, services: { Ingester: partialIngester(methods) } });
    this.onClose(() => server.stop(0));
    return server;
  }
}
