import { connect, type Socket } from 'node:net';
import { invariant } from '#shared/errors/invariant';

export interface HttpAnswer {
  readonly status: number;
  /** Status line and header lines, as they came. */
  readonly head: string;
  readonly body: Buffer;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * One keep-alive HTTP/1.1 connection with one request at a time.
 *
 * Written on bare sockets because the loader shares its cores with the server under test: bodies go out as
 * they are, and the parser knows just what answers need (length, chunks, or no body).
 */
export class HttpConnection {
  readonly #address: Address;
  #socket: Socket | undefined;
  #parser = new AnswerParser();
  #pending: { resolve: (answer: HttpAnswer) => void; reject: (cause: Error) => void } | undefined;

  constructor(address: Address) {
    this.#address = address;
  }

  /** Sends a prepared request, connecting first where needed; rejects if the connection breaks. */
  async send(head: Uint8Array, body?: Uint8Array): Promise<HttpAnswer> {
    invariant(this.#pending === undefined, 'a request is under way on this connection');
    const socket = await this.#open();
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      socket.cork();
      socket.write(head);
      if (body !== undefined) socket.write(body);
      socket.uncork();
    });
  }

  get(path: string): Promise<HttpAnswer> {
    return this.send(requestHead('GET', path, this.#address));
  }

  /** @param headers further lines of the head. */
  postForm(path: string, form: Readonly<Record<string, string>>, headers: readonly string[] = []): Promise<HttpAnswer> {
    const body = Buffer.from(new URLSearchParams(form).toString());
    const content = { contentType: 'application/x-www-form-urlencoded', bytes: body.length };
    return this.send(requestHead('POST', path, this.#address, content, headers), body);
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  async #open(): Promise<Socket> {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect(this.#address.port, this.#address.host);
    socket.setNoDelay(true);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    this.#parser = new AnswerParser();
    socket.on('data', (bytes) => this.#receive(bytes));
    socket.on('error', (cause) => this.#lost(socket, cause));
    socket.on('close', () => this.#lost(socket, new Error('connection closed before the answer')));
    this.#socket = socket;
    return socket;
  }

  #receive(bytes: Buffer): void {
    const answer = this.#parser.push(bytes);
    if (answer === undefined) return;
    const pending = this.#pending;
    this.#pending = undefined;
    if (/\r\nconnection: *close/i.test(answer.head)) this.close();
    pending?.resolve(answer);
  }

  #lost(socket: Socket, cause: Error): void {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.reject(cause);
  }
}

/** Everything of a request before its body. */
export function requestHead(
  method: string,
  path: string,
  address: Address,
  body?: { readonly contentType: string; readonly bytes: number },
  headers: readonly string[] = [],
): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${address.host}:${address.port}`, ...headers];
  if (body !== undefined) lines.push(`Content-Type: ${body.contentType}`, `Content-Length: ${body.bytes}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

const HEAD_END = '\r\n\r\n';

/** Cuts the stream of one connection into answers. */
class AnswerParser {
  #unread: Buffer = Buffer.alloc(0);
  #head: string | undefined;
  #status = 0;
  /** Bytes that the body or the present chunk still lacks. */
  #missing = 0;
  #chunked = false;
  #isLastChunk = false;
  #parts: Buffer[] = [];

  /** Takes bytes; returns the answer when they complete it. */
  push(bytes: Buffer): HttpAnswer | undefined {
    this.#unread = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes]);
    if (this.#head === undefined && !this.#readHead()) return undefined;
    const isComplete = this.#chunked ? this.#readChunks() : this.#readMissing();
    if (!isComplete) return undefined;
    const answer = { status: this.#status, head: this.#head ?? '', body: Buffer.concat(this.#parts) };
    this.#head = undefined;
    this.#parts = [];
    return answer;
  }

  #readHead(): boolean {
    const end = this.#unread.indexOf(HEAD_END);
    if (end < 0) return false;
    const head = this.#unread.toString('latin1', 0, end);
    this.#unread = this.#unread.subarray(end + HEAD_END.length);
    this.#head = head;
    this.#status = Number(head.slice(9, 12));
    this.#chunked = /\r\ntransfer-encoding: *chunked/i.test(head);
    this.#isLastChunk = false;
    this.#missing = this.#chunked ? 0 : Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    return true;
  }

  #readMissing(): boolean {
    const part = this.#unread.subarray(0, this.#missing);
    if (part.length > 0) this.#parts.push(part);
    this.#missing -= part.length;
    this.#unread = this.#unread.subarray(part.length);
    return this.#missing === 0;
  }

  #readChunks(): boolean {
    for (;;) {
      if (this.#missing > 0 && !this.#readMissing()) return false;
      const end = this.#unread.indexOf('\r\n');
      if (end < 0) return false;
      const line = this.#unread.toString('latin1', 0, end);
      this.#unread = this.#unread.subarray(end + 2);
      // An empty line closes a chunk's bytes, or the trailer after the last chunk.
      if (line === '' && this.#isLastChunk) return true;
      if (line === '' || this.#isLastChunk) continue;
      this.#missing = Number.parseInt(line, 16);
      this.#isLastChunk = this.#missing === 0;
    }
  }
}
