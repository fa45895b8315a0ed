import { connect, createServer, type Server, type Socket } from 'node:net';

import { invariant } from '#shared/errors/invariant';

/** Forwards connections to a port of this machine, and breaks them on request. */
export class BreakableProxy {
  readonly port: number;
  /** Where connections go from now on. */
  target = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Answers of the target are thrown away. */
  #isDeaf = false;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
    server.on('connection', (socket) => this.#pass(socket));
  }

  static open(): Promise<BreakableProxy> {
    const server = createServer();
    return new Promise((resolve, reject) => {
      server.on('error', reject);
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        invariant(address !== null && typeof address === 'object', 'a listener without an address');
        resolve(new BreakableProxy(server, address.port));
      });
    });
  }

  /** What the target answers from now on is lost, as are the connections after that time. */
  async loseReplies(milliseconds: number): Promise<void> {
    this.#isDeaf = true;
    await new Promise((resolve) => AbortSignal.timeout(milliseconds).addEventListener('abort', resolve));
    this.breakAll();
    this.#isDeaf = false;
  }

  breakAll(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  close(): void {
    this.#server.close();
    this.breakAll();
  }

  #pass(socket: Socket): void {
    const onward = connect(this.target, '127.0.0.1');
    for (const [from, to] of [
      [socket, onward],
      [onward, socket],
    ]) {
      this.#sockets.add(from);
      from.setNoDelay(true);
      from.on('data', (bytes) => {
        if (this.#isDeaf && from === onward) return;
        if (!to.write(bytes)) from.pause();
      });
      to.on('drain', () => from.resume());
      from.on('error', () => undefined);
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }
}
