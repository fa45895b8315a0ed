import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Responses to pipelined requests, which wait until the earlier ones of their connection are sent. When the connection is lost,
 * Node.js emits `close` only for the response that is being sent; this emits it for the waiting ones, too.
 */
export class QueuedResponses {
  readonly #ofSockets = new WeakMap<Socket, Set<ServerResponse>>();

  /** @param response one that has no socket yet */
  add(response: ServerResponse, socket: Socket): void {
    const waiting = this.#ofSockets.get(socket) ?? this.#watched(socket);
    waiting.add(response);
    response.once('close', () => waiting.delete(response));
  }

  #watched(socket: Socket): Set<ServerResponse> {
    const waiting = new Set<ServerResponse>();
    this.#ofSockets.set(socket, waiting);
    socket.once('close', () => {
      for (const response of waiting) {
        // Node.js closes one that has the socket, and one that is sent.
        if (response.socket !== null || response.writableFinished) continue;
        response.destroy();
        response.emit('close');
      }
    });
    return waiting;
  }
}
