import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { runLoader } from '#test/bench/ingest';
import { ensureLinesFile, type LinesFile } from '#test/bench/tsbs/lines-file';

describe('loader', () => {
  const file: LinesFile = ensureLinesFile({ hosts: 7, steps: 30, seed: 9 });
  let server: Server;
  let port: number;
  let bodies: string[];
  /** Status of the n-th request; 204 where nothing is said. */
  let statuses: number[];

  beforeEach(async () => {
    bodies = [];
    statuses = [];
    server = createServer((request, response) => {
      void readText(request).then((text) => {
        const status = statuses.shift() ?? 204;
        if (status === 204) bodies.push(text);
        response.writeHead(status).end(status === 204 ? undefined : 'no');
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    port = typeof address === 'object' && address ? address.port : 0;
  });

  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });

  it('sends every line of its rows once, in bodies of the given number of lines', async () => {
    const result = await runLoader({ port, path: '/write' }, { file, from: 10, to: 205, batch: 50, connections: 3 });
    const sent = bodies.join('').trimEnd().split('\n').sort();
    const lines = readFileSync(file.linesPath, 'utf8').trimEnd().split('\n');
    expect(sent).to.deep.equal(lines.slice(10, 205).sort());
    expect(bodies.map((body) => body.trimEnd().split('\n').length).sort()).to.deep.equal([45, 50, 50, 50]);
    expect([result.rows, result.requests, result.errors, result.retries]).to.deep.equal([195, 4, 0, 0]);
  });

  it('repeats what was refused as retryable, and does not count what was refused for good', async () => {
    statuses = [503, 400];
    const result = await runLoader({ port, path: '/write' }, { file, from: 0, to: 90, batch: 40, connections: 1 });
    expect([result.rows, result.errors, result.retries, result.firstError]).to.deep.equal([50, 1, 1, '400 no']);
  });
});

async function readText(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}
