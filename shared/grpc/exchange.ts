import { setMaxListeners } from 'node:events';

import { connectivityState, Metadata, status, type Channel, type StatusObject } from '@grpc/grpc-js';

import type { Clock, Timer } from '#shared/clock/clock';
import { callError, type Call } from '#shared/contracts/call';
import { encodeRights } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';

import { RefusedError, UnansweredError } from './call-errors.js';
import { DEADLINE_MS_MAX, REQUEST_ID_KEY, RIGHTS_KEY, SECRET_KEY, TRACEPARENT_KEY } from './options.js';
import { deadlineError, fromStatus, isOfPeer } from './status.js';

/** A connection as calls see it. */
export interface Link {
  readonly secret: string | undefined;
  readonly channel: Channel;
  /** Returns why the last handshake failed, if it did. */
  readonly tlsFailure: () => string | undefined;
  readonly address: string;
  /** Name of the peer; undefined: errors name the method. */
  readonly name: string | undefined;
  readonly clock: Clock;
  readonly messageBytesMax: number;
  /** How long a call waits for a connection; undefined: up to its deadline. */
  readonly connectMs: number | undefined;
  /** Whether a peer that refuses connections is retried for that time. */
  readonly isPatient: boolean;
}

/** What a call sends. */
export interface Outgoing {
  readonly path: string;
  readonly title: string;
  readonly message: Buffer;
}

/**
 * One call: sends the request at once and returns the replies one by one on request.
 *
 * Works below grpc-js's client classes, whose streams read 16 messages ahead, of any size.
 */
export class Exchange {
  readonly #link: Link;
  readonly #title: string;
  readonly #signal: AbortSignal;
  readonly #call: ReturnType<Channel['createCall']>;
  #connecting: Timer | undefined;
  #message: Buffer | undefined;
  /** How the call ended: `undefined` while it runs, `null` on success. */
  #end: AlmanacError | null | undefined;
  #wake: (() => void) | undefined;

  /** @throws the call's error if it has ended, and `invalid_arguments` if the request is too large. */
  constructor(link: Link, outgoing: Outgoing, call: Call) {
    this.#link = link;
    this.#title = `${link.name ?? outgoing.title} at ${link.address}`;
    this.#signal = call.signal;
    const leftMs = this.#check(outgoing, call);
    const deadline = leftMs > DEADLINE_MS_MAX ? Infinity : call.deadlineMs;
    try {
      this.#call = link.channel.createCall(outgoing.path, deadline, undefined, null, undefined);
    } catch (cause) {
      throw this.unanswered('cannot be called any more', cause);
    }
    // A request may have many running calls, which all end with it.
    if (call.signal instanceof EventTarget) setMaxListeners(0, call.signal);
    call.signal.addEventListener('abort', this.#onAbort);
    this.#limitConnecting();
    this.#start(outgoing.message, call);
  }

  /** Returns the next reply; undefined at the end. Requests only this one from the peer. */
  async next(): Promise<Buffer | undefined> {
    if (this.#end === undefined) this.#call.startRead();
    while (this.#message === undefined && this.#end === undefined) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const message = this.#message;
    this.#message = undefined;
    if (message === undefined && this.#end instanceof AlmanacError) throw this.#end;
    return message;
  }

  /** Creates the error for a call without a reply. @param how continues the text after the peer's name. */
  unanswered(how: string, cause?: unknown): UnansweredError {
    return new UnansweredError(`${this.#title} ${how}`, { details: { peer: this.#title }, cause });
  }

  /** Tells the peer that no more replies are needed. Has no effect after the end. */
  cancel(): void {
    if (this.#end !== undefined) return;
    this.#finish(null);
    this.#call.cancelWithStatus(status.CANCELLED, 'the caller left');
  }

  #check({ title, message }: Outgoing, call: Call): number {
    if (call.signal.aborted) throw callError(call.signal);
    const leftMs = call.deadlineMs - this.#link.clock.nowMs();
    if (leftMs <= 0) throw new AlmanacError('deadline_exceeded', `${title} was called after its deadline`);
    const max = this.#link.messageBytesMax;
    if (message.length <= max) return leftMs;
    const text = `${title}: the request has ${message.length} bytes, more than the ${max} that a message may have`;
    throw new AlmanacError('invalid_arguments', text);
  }

  #start(message: Buffer, { requestId, rights, span }: Call): void {
    const metadata = new Metadata({ waitForReady: this.#link.isPatient });
    metadata.set(REQUEST_ID_KEY, Buffer.from(requestId));
    if (this.#link.secret !== undefined) metadata.set(SECRET_KEY, Buffer.from(this.#link.secret));
    if (rights !== undefined) metadata.set(RIGHTS_KEY, encodeRights(rights));
    if (span !== undefined) metadata.set(TRACEPARENT_KEY, span.traceparent);
    this.#call.start(metadata, {
      onReceiveMetadata: () => undefined,
      onReceiveMessage: (answer: Buffer) => {
        this.#message = answer;
        this.#wake?.();
      },
      onReceiveStatus: (answer) => {
        // After a cancellation nothing reads the error, and errors are expensive to create.
        if (this.#end === undefined) this.#finish(this.#failureOf(answer));
      },
    });
    this.#call.sendMessageWithContext({}, message);
    this.#call.halfClose();
  }

  #failureOf(answer: StatusObject): AlmanacError | null {
    if (answer.code === status.OK) return null;
    const isLate = answer.code === status.DEADLINE_EXCEEDED && !isOfPeer(answer);
    if (isLate) return this.#late();
    const failure = fromStatus(answer, this.#title);
    const isAway = failure instanceof UnansweredError && !(failure instanceof RefusedError) && !this.#isConnected;
    return isAway ? this.#unreached(failure) : failure;
  }

  get #isConnected(): boolean {
    return this.#link.channel.getConnectivityState(false) === connectivityState.READY;
  }

  /** Names the failed handshake, if that is why there is no connection. @param failure otherwise. */
  #unreached(failure: UnansweredError): UnansweredError {
    const reason = this.#link.tlsFailure();
    return reason === undefined ? failure : this.unanswered(`cannot be reached over TLS: ${reason}`, failure.cause);
  }

  /** A call that waits for a connection ends at its deadline too, but not because the peer is slow. */
  #late(): AlmanacError {
    const isAway = this.#link.isPatient && !this.#isConnected;
    return isAway ? this.#unreached(this.unanswered('cannot be reached')) : deadlineError(this.#title);
  }

  readonly #onAbort = (): void => {
    const reason = callError(this.#signal);
    // The caller learns what it was waiting for.
    this.#finish(reason.code === 'deadline_exceeded' ? this.#late() : reason);
    this.#call.cancelWithStatus(status.CANCELLED, 'the caller gave up');
  };

  /** Without this, a peer that does not even refuse would hold the call up to its deadline. */
  #limitConnecting(): void {
    const { channel, clock, connectMs } = this.#link;
    const isConnected = (): boolean => channel.getConnectivityState(true) === connectivityState.READY;
    if (connectMs === undefined || isConnected()) return;
    this.#connecting = clock.after(connectMs, () => {
      if (isConnected()) return;
      this.#finish(this.#unreached(this.unanswered(`cannot be reached: no connection within ${connectMs} ms`)));
      this.#call.cancelWithStatus(status.UNAVAILABLE, 'no connection');
    });
  }

  #finish(end: AlmanacError | null): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#connecting?.cancel();
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#wake?.();
  }
}
