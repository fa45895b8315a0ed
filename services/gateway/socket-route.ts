import type { AlmanacError } from '#shared/errors/almanac-error';

import type { HttpReply } from './reply.js';
import type { RequestContext } from './request-context.js';

/** Where the messages of a WebSocket are sent. */
export interface MessageSink {
  /** Whether the client has not read much of what was sent. */
  readonly isFull: boolean;
  send(text: string): void;
}

/** Sends messages until it resolves or the socket closes, which ends the call of the request. */
export type SocketServe = (sink: MessageSink) => Promise<void>;

/** A path that serves WebSockets. */
export interface SocketRoute {
  readonly path: string;
  /** Checks a request before it is upgraded. @throws any error, which becomes the reply of `failure`. */
  readonly open: (context: RequestContext) => Promise<SocketServe>;
  readonly failure: (error: AlmanacError) => HttpReply;
}
