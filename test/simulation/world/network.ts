import { callError, type Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';
import { InvariantError } from '#shared/errors/invariant';
import { contractOf, type ContractName, type Contracts } from '#shared/grpc/contract';
import { REPEATABLE } from '#shared/grpc/methods';
import { RefusedError, UnansweredError } from '#shared/grpc/call-errors';

import type { Life } from './life.js';
import type { Scheduler } from './scheduler.js';

/** A process that can be called: its present life and its services. */
interface Listener {
  readonly life: Life;
  readonly services: Partial<Contracts>;
}

/** Faults of the network, as chances for one message. */
export interface NetworkFaults {
  readonly lost: number;
  /** Additional chance for responses. */
  readonly answersLost: number;
  readonly doubled: number;
  readonly slow: number;
}

/** No faults. */
export const NO_FAULTS: NetworkFaults = { lost: 0, answersLost: 0, doubled: 0, slow: 0 };
/** Deadlines further away than this count as none. */
const FAR_MS = 10_000_000;
const SLOW_MS = 3_000;

type Unary = (request: object, call: Call) => Promise<object>;
type Stream = (request: object, call: Call) => AsyncIterable<object>;

/** The other end of a call, as far as the caller can reach it. */
interface Link {
  readonly caller: Life;
  readonly addr: string;
  readonly service: ContractName;
  readonly method: string;
}

/**
 * Messages between processes, each with a delay of its own: they overtake each other, get lost (the caller learns of it
 * later, as of a broken connection), or arrive twice where the contract allows repeated calls.
 */
export class Network {
  faults = NO_FAULTS;
  readonly #scheduler: Scheduler;
  readonly #listeners = new Map<string, Listener>();
  readonly #cut = new Set<string>();
  /** Requests that were sent and have not arrived; they do not depend on their sender any more. */
  readonly #onTheWay = new Set<Link>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  listen(addr: string, life: Life, services: Partial<Contracts>): void {
    this.#listeners.set(addr, { life, services });
  }

  /** Lets no message pass between two processes until `mend` or `heal`. */
  cut(one: string, other: string): void {
    this.#cut.add(pair(one, other));
  }

  mend(one: string, other: string): void {
    this.#cut.delete(pair(one, other));
  }

  /** Returns whether a request of this method by this process is on its way. */
  isOnTheWay(caller: Life, method: string): boolean {
    for (const link of this.#onTheWay) if (link.caller === caller && link.method === method) return true;
    return false;
  }

  heal(): void {
    this.#cut.clear();
    this.faults = NO_FAULTS;
  }

  /** Returns a client of the service that listens at the address when a message arrives. */
  client<Name extends ContractName>(service: Name, caller: Life, addr: string): Contracts[Name] {
    const entries = contractOf(service).methods.map((method) => {
      const link: Link = { caller, addr, service, method: method.name };
      if (method.isStream) return [method.name, (request: object, call: Call) => this.#stream(link, request, call)];
      return [method.name, (request: object, call: Call) => this.#unary(link, request, call)];
    });
    const client: unknown = Object.fromEntries(entries);
    return client as Contracts[Name];
  }

  #unary(link: Link, request: object, call: Call): Promise<object> {
    return new Promise((resolve, reject) => {
      const exchange = new Exchange(this.#scheduler, link, call, reject);
      const answer = (value: object): void => exchange.end(() => resolve(value));
      this.#send(exchange, (listener, serverCall) => this.#execute(exchange, listener, request, serverCall, answer));
      const isRepeatable = link.method === 'write' || (REPEATABLE[link.service] as Set<string>).has(link.method);
      if (isRepeatable && this.#chance(this.faults.doubled)) {
        this.#send(exchange, (listener, serverCall) => {
          this.#execute(exchange, listener, request, serverCall, () => undefined);
        });
      }
    });
  }

  /** Delivers a request to its listener; the exchange is notified if that fails. */
  #send(exchange: Exchange, run: (listener: Listener, call: Call) => void): void {
    const { link } = exchange;
    if (exchange.isOver) return;
    if (this.#isLost(link)) return exchange.breakAfter(this.#detectionMs());
    this.#onTheWay.add(link);
    this.#scheduler.after(this.#delayMs(), undefined, () => {
      this.#onTheWay.delete(link);
      const listener = this.#listeners.get(link.addr);
      if (listener === undefined || listener.life.isDead) return exchange.refuseAfter(this.#delayMs());
      const forget = listener.life.onDeath(() => exchange.breakAfter(this.#delayMs()));
      exchange.onEnd(forget);
      this.#scheduler.after(0, listener.life, () => run(listener, exchange.serverCall(listener.life)));
    });
  }

  #execute(exchange: Exchange, listener: Listener, request: object, call: Call, answer: (value: object) => void): void {
    const { link } = exchange;
    const service = listener.services[link.service] as unknown as Record<string, Unary>;
    const reply = (deliver: () => void): void => {
      if (listener.life.isDead) return;
      if (this.#isLost(link) || this.#chance(this.faults.answersLost)) return exchange.breakAfter(this.#detectionMs());
      this.#scheduler.after(this.#delayMs(), link.caller, deliver);
    };
    service[link.method](request, call).then(
      (value) => reply(() => answer(value)),
      (error: unknown) => {
        const crossed = this.#crossing(error, link);
        reply(() => exchange.end(() => exchange.reject(crossed)));
      },
    );
  }

  async *#stream(link: Link, request: object, call: Call): AsyncIterable<object> {
    const inbox = new Inbox();
    const exchange = new Exchange(this.#scheduler, link, call, (error) => inbox.fail(error));
    this.#send(exchange, (listener, serverCall) => {
      void this.#pump(exchange, listener, request, { call: serverCall, inbox });
    });
    try {
      yield* inbox.messages();
    } finally {
      exchange.cancel();
    }
  }

  /** Sends each message of a stream; they arrive in order. */
  async #pump(
    exchange: Exchange,
    listener: Listener,
    request: object,
    { call, inbox }: { readonly call: Call; readonly inbox: Inbox },
  ): Promise<void> {
    const { link } = exchange;
    // A process that was suspended receives earlier messages after later ones; this keeps the order of the stream.
    const arriving: (() => void)[] = [];
    let arrivalMs = 0;
    let isBroken = false;
    const deliver = (run: () => void): void => {
      if (isBroken || listener.life.isDead) return;
      if (this.#isLost(link)) {
        isBroken = true;
        exchange.abandon();
        return exchange.breakAfter(this.#detectionMs());
      }
      arrivalMs = Math.max(arrivalMs, this.#scheduler.nowMs + this.#delayMs());
      arriving.push(run);
      this.#scheduler.after(arrivalMs - this.#scheduler.nowMs, link.caller, () => arriving.shift()?.());
    };
    const service = listener.services[link.service] as unknown as Record<string, Stream>;
    try {
      for await (const message of service[link.method](request, call)) deliver(() => inbox.push(message));
      deliver(() => exchange.end(() => inbox.close()));
    } catch (error) {
      const crossed = this.#crossing(error, link);
      deliver(() => exchange.end(() => exchange.reject(crossed)));
    }
  }

  /** Returns an error as it leaves a service. An internal error, which must not happen, ends the simulation. */
  #crossing(error: unknown, { service, method, addr }: Link): AlmanacError {
    const known = AlmanacError.from(error);
    const isOurs = error instanceof InvariantError || known.code === 'internal' || known.code === 'unexpected';
    if (isOurs) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#scheduler.fail(new Error(`${service}.${method} at ${addr}: ${text}`, { cause: error }));
    }
    const { details, retryAfterSeconds } = known;
    return new AlmanacError(known.code, known.message, {
      details,
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    });
  }

  #isLost({ caller, addr }: Link): boolean {
    return this.#cut.has(pair(caller.name, addr)) || this.#chance(this.faults.lost);
  }

  #delayMs(): number {
    const { random } = this.#scheduler;
    if (this.#chance(this.faults.slow)) return random.fraction() * SLOW_MS;
    return 0.05 + random.fraction() ** 3 * 5;
  }

  /** Returns the time until a caller notices a broken connection. */
  #detectionMs(): number {
    const { random } = this.#scheduler;
    return random.fraction() < 0.8 ? random.fraction() * 100 : random.fraction() * 12_000;
  }

  #chance(chance: number): boolean {
    return chance > 0 && this.#scheduler.random.fraction() < chance;
  }
}

/** The caller's side of one call: it ends once, by a response, its deadline, its caller, or a broken connection. */
class Exchange {
  readonly link: Link;
  readonly reject: (error: AlmanacError) => void;
  readonly #scheduler: Scheduler;
  readonly #call: Call;
  readonly #ends: (() => void)[] = [];
  /** Aborts the listeners' work for this call. */
  readonly #serving: AbortController[] = [];
  #isOver = false;

  get isOver(): boolean {
    return this.#isOver;
  }

  constructor(scheduler: Scheduler, link: Link, call: Call, reject: (error: AlmanacError) => void) {
    this.#scheduler = scheduler;
    this.link = link;
    this.reject = reject;
    this.#call = call;
    const giveUp = (): void => this.#giveUp(callError(call.signal));
    if (call.signal.aborted) giveUp();
    call.signal.addEventListener('abort', giveUp, { once: true });
    this.onEnd(() => call.signal.removeEventListener('abort', giveUp));
    this.onEnd(link.caller.onDeath(() => this.cancel()));
    const leftMs = call.deadlineMs - link.caller.clock.nowMs();
    if (leftMs > FAR_MS) return;
    const text = `${link.service}.${link.method} did not reply before its deadline`;
    const timer = scheduler.after(leftMs, link.caller, () => this.#giveUp(new AlmanacError('deadline_exceeded', text)));
    this.onEnd(() => timer.cancel());
  }

  onEnd(run: () => void): void {
    if (this.#isOver) run();
    else this.#ends.push(run);
  }

  end(settle: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const run of this.#ends) run();
    settle();
  }

  /** The caller cancelled or died: the listener is notified. */
  cancel(): void {
    this.abandon();
    this.end(() => undefined);
  }

  /** Notifies the listener that its result is not awaited any more. */
  abandon(): void {
    for (const controller of this.#serving) this.#scheduler.after(1, undefined, () => controller.abort());
  }

  breakAfter(delayMs: number): void {
    this.#failAfter(delayMs, new UnansweredError(`${this.#title}: connection lost`));
  }

  /** No process listens. */
  refuseAfter(delayMs: number): void {
    this.#failAfter(delayMs, new RefusedError(`${this.#title}: connection refused`));
  }

  /** Returns the call as its listener receives it: the remaining time, on another clock. */
  serverCall(listener: Life): Call {
    const controller = new AbortController();
    this.#serving.push(controller);
    const leftMs = this.#call.deadlineMs - this.link.caller.clock.nowMs();
    const isFar = leftMs > FAR_MS;
    return {
      deadlineMs: isFar ? Number.MAX_SAFE_INTEGER : listener.clock.nowMs() + leftMs,
      signal: controller.signal,
      requestId: this.#call.requestId,
    };
  }

  get #title(): string {
    const { service, method, addr } = this.link;
    return `${service}.${method} at ${addr}`;
  }

  #failAfter(delayMs: number, error: UnansweredError): void {
    if (this.#isOver) return;
    this.#scheduler.after(delayMs, this.link.caller, () => this.end(() => this.reject(error)));
  }

  #giveUp(error: AlmanacError): void {
    if (this.#isOver) return;
    this.end(() => this.reject(error));
    this.cancel();
  }
}

/** Messages of a stream that have arrived. */
class Inbox {
  readonly #arrived: object[] = [];
  #end: { readonly error: AlmanacError | undefined } | undefined;
  #wake: (() => void) | undefined;

  push(message: object): void {
    this.#arrived.push(message);
    this.#wake?.();
  }

  close(): void {
    this.#end ??= { error: undefined };
    this.#wake?.();
  }

  fail(error: AlmanacError): void {
    this.#end ??= { error };
    this.#wake?.();
  }

  async *messages(): AsyncIterable<object> {
    for (;;) {
      for (let next = this.#arrived.shift(); next !== undefined; next = this.#arrived.shift()) yield next;
      if (this.#end !== undefined) {
        if (this.#end.error !== undefined) throw this.#end.error;
        return;
      }
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

function pair(one: string, other: string): string {
  return one < other ? `${one}|${other}` : `${other}|${one}`;
}
