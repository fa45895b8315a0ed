import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

import { WebSocketServer, type WebSocket } from 'ws';

import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { MessageSink, SocketServe } from '../socket-route.js';

/** A request for an upgrade, and the connection that it came by. */
export interface UpgradeRequest {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** First bytes after the request. */
  readonly head: Buffer;
}

/** Bytes that wait for a client before it counts as slow. */
const FULL_BYTES = 1024 * 1024;
/** A client that takes nothing for this time is disconnected. */
const STALL_MS = 30_000;
const PING_MS = 15_000;
/** Clients send nothing but control frames. */
const PAYLOAD_BYTES_MAX = 4 * 1024;
const GOING_AWAY = 1001;
const INTERNAL_ERROR = 1011;
/** A close frame has room for a reason of this size. */
const REASON_BYTES_MAX = 120;

/** Upgrades requests to WebSockets. */
export class SocketUpgrades {
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: PAYLOAD_BYTES_MAX, perMessageDeflate: false });
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Upgrades a request and runs `serve` until it resolves or the client disconnects. Resolves when the socket is closed. */
  async run({ request, socket, head }: UpgradeRequest, serve: SocketServe, onClosed: () => void): Promise<void> {
    const webSocket = await new Promise<WebSocket>((resolve, reject) => {
      socket.once('close', () => reject(new AlmanacError('cancelled', 'the client went away')));
      this.#server.handleUpgrade(request, socket, head, resolve);
    });
    const closed = new Promise<void>((resolve) => webSocket.once('close', () => resolve()));
    webSocket.once('close', onClosed);
    // A protocol error closes the socket, too.
    webSocket.on('error', () => webSocket.terminate());
    const stopWatch = this.#watch(webSocket);
    try {
      await serve(sinkOf(webSocket));
      webSocket.close(GOING_AWAY, 'the server is about to exit');
    } catch (thrown) {
      const { publicMessage } = AlmanacError.from(thrown);
      const reason = Buffer.from(publicMessage)
        .subarray(0, REASON_BYTES_MAX)
        .toString()
        .replace(/\ufffd+$/, '');
      webSocket.close(INTERNAL_ERROR, reason);
    } finally {
      // A client that does not reply to the close frame is disconnected.
      const timer = this.#clock.after(1_000, () => webSocket.terminate());
      await closed;
      timer.cancel();
      stopWatch();
    }
  }

  /** Disconnects clients that neither read nor reply to pings. */
  #watch(webSocket: WebSocket): () => void {
    let lastMs = this.#clock.monotonicMs();
    webSocket.on('pong', () => (lastMs = this.#clock.monotonicMs()));
    const check = (): void => {
      if (this.#clock.monotonicMs() - lastMs > STALL_MS + PING_MS) return webSocket.terminate();
      if (webSocket.readyState === webSocket.OPEN) webSocket.ping();
      timer = this.#clock.after(PING_MS, check);
    };
    let timer = this.#clock.after(PING_MS, check);
    return () => timer.cancel();
  }
}

function sinkOf(webSocket: WebSocket): MessageSink {
  return {
    get isFull() {
      return webSocket.bufferedAmount > FULL_BYTES;
    },
    send: (text) => webSocket.send(text),
  };
}

/**
 * Returns the bytes of a request without its header `Upgrade`, and what followed it. The connection is closed after it,
 * as HTTP allows a server that does not upgrade.
 */
export function withoutUpgrade({ request, head }: UpgradeRequest): Buffer {
  const { method, url, httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i].toLowerCase();
    if (name !== 'upgrade' && name !== 'connection') lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`);
  }
  return Buffer.concat([Buffer.from([...lines, 'Connection: close', '', ''].join('\r\n'), 'latin1'), head]);
}
