import { createHash, timingSafeEqual } from 'node:crypto';

import { Server, ServerInterceptingCall } from '@grpc/grpc-js';
import type { sendUnaryData, ServerUnaryCall, ServerWritableStream, UntypedHandleCall } from '@grpc/grpc-js';

import type { Clock } from '#shared/clock/clock';
import { callError, type Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';
import { LimitedLog } from '#shared/telemetry/limited-log';
import type { Logger } from '#shared/telemetry/log';
import type { Tracing } from '#shared/telemetry/tracing';

import {
  contractOf,
  healthContract,
  type Contract,
  type ContractName,
  type Contracts,
  type Method,
} from './contract.js';
import { serverCredentials } from './credentials.js';
import { Health } from './health.js';
import { Incoming, type ServerSide } from './incoming.js';
import { ENDLESS } from './methods.js';
import { commonOptions, MESSAGE_BYTES_MAX, SECRET_KEY, type TransportOptions } from './options.js';
import { toStatus } from './status.js';

/** Options of a gRPC server. */
export interface ServeOptions extends TransportOptions {
  readonly host: string;
  /** 0 chooses a free port. */
  readonly port: number;
  readonly services: Partial<Contracts>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly tracing?: Tracing | undefined;
  /** Called for each finished call: `Ingester.write`, `ok` or the error code, and its duration. */
  readonly onCall?: (method: string, code: string, seconds: number) => void;
}

/** Errors that callers meet and handle while nodes start, drain and move regions; logged at debug level. */
const USUAL: ReadonlySet<string> = new Set(['region_not_ready', 'region_busy', 'cancelled']);

/** Time between two log lines about callers without the secret of the cluster. */
const REFUSALS_LOG_MS = 30_000;
const SAME_SECRET = 'set the same grpc.secret in all processes of the cluster';
const REFUSED = `call refused: the caller has no grpc.secret or another one; ${SAME_SECRET}`;

type Answer = (request: object, call: Call) => unknown;
type Implementation = Readonly<Record<string, Answer>>;

/** Starts a server. @throws `illegal_state` if it cannot listen on the address. */
export async function serve(options: ServeOptions): Promise<GrpcServer> {
  const server = new GrpcServer(options);
  await server.listen(options.host, options.port);
  return server;
}

/** Serves contracts and the standard health service to other processes. */
export class GrpcServer {
  readonly health: Health;
  readonly #options: ServeOptions;
  readonly #server: Server;
  readonly #refusals: LimitedLog;
  readonly #atWork = new Set<Incoming>();
  #port = 0;
  #stopping: Promise<void> | undefined;

  constructor(options: ServeOptions) {
    this.#options = options;
    this.#refusals = new LimitedLog(options.log, options.clock, REFUSALS_LOG_MS);
    // grpc-js starts handlers of calls that are already cancelled, without a notice; with an interceptor it does
    // not start them.
    const interceptors = [
      (_method: unknown, call: ConstructorParameters<typeof ServerInterceptingCall>[0]) =>
        new ServerInterceptingCall(call),
    ];
    this.#server = new Server({ ...commonOptions(options), interceptors });
    const names = Object.keys(options.services) as ContractName[];
    this.health = new Health(names.map((name) => contractOf(name).fullName));
    for (const name of names) this.#add(contractOf(name), options.services[name] as unknown as Implementation);
    this.#add(healthContract(), this.health as unknown as Implementation);
  }

  /** Port of the listener. */
  get port(): number {
    return this.#port;
  }

  async listen(host: string, port: number): Promise<void> {
    const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    this.#port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync(address, serverCredentials(this.#options.tls), (cause, bound) => {
        if (cause === null) resolve(bound);
        else reject(new AlmanacError('illegal_state', `cannot listen on ${address}: ${cause.message}`, { cause }));
      });
    });
  }

  /**
   * Refuses new calls, waits up to `limitMs` for running ones, then fails them with `external`. Endless streams fail at
   * once. May be called twice.
   */
  stop(limitMs: number): Promise<void> {
    return (this.#stopping ??= this.#stop(limitMs));
  }

  async #stop(limitMs: number): Promise<void> {
    this.health.set(false);
    for (const incoming of this.#atWork) if (ENDLESS.has(incoming.method.title)) incoming.cut(stopped());
    const done = new AbortController();
    const drained = new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve()));
    await Promise.race([drained, this.#options.clock.sleep(limitMs, done.signal)]);
    done.abort();
    for (const incoming of this.#atWork) incoming.cut(stopped());
    this.#server.forceShutdown();
  }

  #add(contract: Contract, service: Implementation): void {
    for (const method of contract.methods) {
      const answer: Answer = (request, call) => service[method.name](request, call);
      const handle = method.isStream ? this.#streaming(method, answer) : this.#unary(method, answer);
      const type = method.isStream ? 'serverStream' : 'unary';
      this.#server.register(method.path, handle as UntypedHandleCall, asIs, asIs, type);
    }
  }

  #unary(method: Method, answer: Answer) {
    return (side: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>): void => {
      const handle = async (incoming: Incoming): Promise<void> => {
        const response = await (answer(method.request.decode(side.request), incoming.call) as Promise<object>);
        reply(null, this.#encode(method, response));
      };
      void this.#run(method, side, handle, (error) => reply(toStatus(error)));
    };
  }

  #streaming(method: Method, answer: Answer) {
    return (side: ServerWritableStream<Buffer, Buffer>): void => {
      const handle = async ({ call }: Incoming): Promise<void> => {
        const answers = answer(method.request.decode(side.request), call) as AsyncIterable<object>;
        await this.#pump(method, answers[Symbol.asyncIterator](), side, call.signal);
        side.end();
      };
      void this.#run(method, side, handle, (error) => side.emit('error', toStatus(error)));
    };
  }

  async #run(
    method: Method,
    side: ServerSide,
    handle: (incoming: Incoming) => Promise<void>,
    fail: (error: AlmanacError) => void,
  ): Promise<void> {
    const { clock, onCall } = this.#options;
    const startMs = clock.monotonicMs();
    const incoming = new Incoming(method, side, this.#options);
    this.#atWork.add(incoming);
    let code = 'ok';
    try {
      this.#admit(method, side);
      await handle(incoming);
      incoming.call.span?.end();
      this.#logCall(incoming, clock.monotonicMs() - startMs);
    } catch (thrown) {
      const error = AlmanacError.from(thrown);
      ({ code } = error);
      incoming.call.span?.end(error);
      this.#logFailure(incoming, thrown);
      fail(error);
    } finally {
      incoming.end();
      this.#atWork.delete(incoming);
      onCall?.(method.title, code, (clock.monotonicMs() - startMs) / 1_000);
    }
  }

  /** Refuses callers that do not know the secret of the cluster: what they say of rights would be believed. */
  #admit({ title }: Method, { metadata }: ServerSide): void {
    const { secret } = this.#options;
    if (secret === undefined || title.startsWith('Health.')) return;
    const [given = ''] = metadata.get(SECRET_KEY);
    if (timingSafeEqual(hashOf(given), hashOf(secret))) return;
    this.#refusals.warn({ method: title, isGiven: given.length > 0 }, REFUSED);
    const problem = given.length === 0 ? 'it has no grpc.secret' : 'its grpc.secret is another one';
    throw new AlmanacError('peer_not_trusted', `refused the calling process: ${problem}; ${SAME_SECRET}`);
  }

  #logCall({ method, call }: Incoming, durationMs: number): void {
    const { log } = this.#options;
    if (!log.isEnabled('debug')) return;
    const fields = { method: method.title, requestId: call.requestId, durationMs: Math.round(durationMs) };
    log.debug(fields, 'call');
  }

  /** Logs a failure with the ID of the client's request, which its gateway logs as well. */
  #logFailure({ method, call }: Incoming, thrown: unknown): void {
    const { log } = this.#options;
    const fields = { method: method.title, requestId: call.requestId };
    if (!(thrown instanceof AlmanacError)) {
      log.error({ ...fields, error: thrown }, 'call failed unexpectedly');
      return;
    }
    const { code, message } = thrown;
    // Refused callers are logged at a limited rate.
    if (thrown.httpStatus < 500 || code === 'peer_not_trusted' || ENDLESS.has(method.title)) return;
    if (USUAL.has(code)) log.debug({ ...fields, code, reason: message }, 'call failed');
    else log.warn({ ...fields, code, reason: message }, 'call failed');
  }

  /** Sends one message at a time; the next is requested when the connection has accepted it. */
  async #pump(
    method: Method,
    answers: AsyncIterator<object>,
    side: ServerWritableStream<Buffer, Buffer>,
    signal: AbortSignal,
  ): Promise<void> {
    let wake: () => void = () => undefined;
    // A waiting generator is ended by its signal; one that this loop has not resumed is ended by `return`.
    const onAbort = (): void => {
      wake();
      void leave(answers);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      for (let step; (step = await answers.next()).done !== true;) {
        if (signal.aborted) throw callError(signal);
        const message = this.#encode(method, step.value);
        await new Promise<void>((resolve) => {
          wake = resolve;
          side.write(message, () => resolve());
        });
        if (signal.aborted) throw callError(signal);
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      await leave(answers);
    }
  }

  #encode(method: Method, response: object): Buffer {
    const message = method.response.encode(response);
    const max = this.#options.messageBytesMax ?? MESSAGE_BYTES_MAX;
    if (message.length <= max) return message;
    const text = `${method.title}: the reply has ${message.length} bytes, more than the message limit of ${max}`;
    throw new AlmanacError('resources_exhausted', text);
  }
}

async function leave(answers: AsyncIterator<object>): Promise<void> {
  await answers.return?.().catch(() => undefined);
}

function stopped(): AlmanacError {
  return new AlmanacError('external', 'the process is stopping', { retryAfterSeconds: 1 });
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}

function hashOf(text: string | Buffer): Buffer {
  return createHash('sha256').update(text).digest();
}
