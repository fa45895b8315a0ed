import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { HttpConnection } from '#test/bench/http-connection';

describe('HttpConnection', () => {
  let server: Server;
  let connection: HttpConnection;
  /** Replies of the server, request by request; each part is sent on its own. */
  let answers: string[][];
  let connections: number;

  beforeEach(async () => {
    answers = [];
    connections = 0;
    server = createServer((socket) => {
      connections++;
      socket.setNoDelay(true);
      socket.on('error', () => socket.destroy());
      socket.on('data', () => void sendPieces(socket, answers.shift() ?? []));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    connection = new HttpConnection({
      host: '127.0.0.1',
      port: typeof address === 'object' && address ? address.port : 0,
    });
  });

  afterEach(() => {
    connection.close();
    server.close();
  });

  it('reads a body of known length that arrives in parts', async () => {
    answers.push(['HTTP/1.1 200 OK\r\nContent-Le', 'ngth: 5\r\n\r', '\nab', 'cde']);
    const { status, body } = await connection.get('/');
    expect([status, body.toString()]).to.deep.equal([200, 'abcde']);
  });

  it('reads a chunked body cut at every byte', async () => {
    answers.push(
      Array.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nb\r\ndefghijklmn\r\n0\r\n\r\n'),
    );
    const { body } = await connection.get('/');
    expect(body.toString()).to.equal('abcdefghijklmn');
  });

  it('reads a reply without a body, and the next one on the same connection', async () => {
    answers.push(['HTTP/1.1 204 No Content\r\n\r\n'], ['HTTP/1.1 400 Bad Request\r\nContent-Length: 1\r\n\r\nx']);
    const first = await connection.get('/');
    const second = await connection.get('/');
    expect([first.status, first.body.length, second.status, second.body.toString()]).to.deep.equal([204, 0, 400, 'x']);
    expect(connections).to.equal(1);
  });

  it('reconnects after a reply that closes the connection', async () => {
    const closing = ['HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'];
    answers.push(closing, closing);
    await connection.get('/');
    await connection.get('/');
    expect(connections).to.equal(2);
  });

  it('rejects when the server closes before the reply', async () => {
    server.once('connection', (socket: Socket) => socket.once('data', () => socket.end()));
    const outcome = await connection.get('/').catch((cause: unknown) => String(cause));
    expect(outcome).to.include('closed before the answer');
  });
});

/** Sends parts one after the other, each only once the kernel has accepted the previous one. */
async function sendPieces(socket: Socket, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) await new Promise((resolve) => socket.write(piece, resolve));
}
