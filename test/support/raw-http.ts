import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends parts as they are and reads what comes until the server ends the connection. */
export function exchange(url: string, parts: string | readonly (string | Uint8Array)[]): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (text) => (received += String(text)));
    socket.on('error', (error: NodeJS.ErrnoException) =>
      // The server may close while the client still sends: what it said before counts.
      received === '' ? reject(error) : resolve(received),
    );
    socket.on('close', () => resolve(received));
    for (const part of typeof parts === 'string' ? [parts] : parts) socket.write(part);
  });
}

/** One request with this request line, on a connection of its own. */
export async function sendRaw(url: string, requestLine: string, headers: readonly string[] = []): Promise<RawAnswer> {
  const lines = [`${requestLine} HTTP/1.1`, 'Host: test', 'Connection: close', ...headers, '', ''];
  return parseAnswer(await exchange(url, lines.join('\r\n')));
}

export function parseAnswer(text: string): RawAnswer {
  const [head, ...rest] = text.split('\r\n\r\n');
  const [statusLine, ...lines] = head.split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { status: Number(statusLine.split(' ')[1] ?? 0), headers, body: rest.join('\r\n\r\n') };
}
