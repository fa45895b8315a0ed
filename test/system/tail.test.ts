import { connect } from 'node:net';

import { expect } from 'chai';
import { WebSocket } from 'ws';

import { Almanac } from '#test/support/almanac';
import { Cluster } from '#test/support/cluster';
import { eventually } from '#test/support/conditions';
import { tempFolder } from '#test/support/temp-folder';

const BASE = '/v1/loki/loki/api/v1';
const JSON_TYPE = { 'content-type': 'application/json' };

interface TailMessage {
  readonly streams: readonly {
    readonly stream: Record<string, string>;
    readonly values: readonly [string, string][];
  }[];
}

/** Clients of the current test. */
const clients: { close(): void }[] = [];

/** A client of the tail of Loki. */
class LokiTailClient {
  readonly #socket: WebSocket;
  readonly messages: TailMessage[] = [];
  closeCode = 0;

  constructor(url: string, parameters: Readonly<Record<string, string>>) {
    this.#socket = new WebSocket(
      `${url.replace('http', 'ws')}${BASE}/tail?${new URLSearchParams(parameters).toString()}`,
    );
    clients.push(this);
    this.#socket.on('message', (data: Buffer) => this.messages.push(JSON.parse(data.toString()) as TailMessage));
    this.#socket.on('close', (code) => (this.closeCode = code));
    this.#socket.on('error', () => undefined);
  }

  get lines(): string[] {
    return this.messages.flatMap(({ streams }) => streams.flatMap(({ values }) => values.map(([, line]) => line)));
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  close(): void {
    this.#socket.close();
  }
}

/** A client of the tail of `/v1/logs`. */
class EventsClient {
  readonly #abort = new AbortController();
  text = '';
  isEnded = false;

  constructor() {
    clients.push(this);
  }

  async open(url: string, query: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const response = await fetch(`${url}/v1/logs/tail?${query}`, { signal: this.#abort.signal, headers });
    void this.#read(response);
    return response;
  }

  get lines(): unknown[] {
    const events = [...this.text.matchAll(/^data: (.*)$/gm)];
    return events.map(([, json]) => (JSON.parse(json) as { line: unknown }).line);
  }

  get lastId(): string {
    return [...this.text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? '';
  }

  close(): void {
    this.#abort.abort();
  }

  async #read(response: Response): Promise<void> {
    try {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        this.text += Buffer.from(chunk).toString();
      }
    } catch {
      // Closed by the client.
    }
    this.isEnded = true;
  }
}

describe('tails of logs', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after), {
      environment: { ALMANAC_STANDALONE__LOKI_QUERY__MAX_TAILS: '5' },
    });
  });

  after(() => almanac.stop());

  afterEach(() => clients.splice(0).forEach((client) => client.close()));

  async function push(app: string, lines: readonly string[], timeNs = BigInt(Date.now()) * 1_000_000n): Promise<void> {
    const streams = [{ stream: { app }, values: lines.map((line) => [String(timeNs), line]) }];
    const { status, text } = await almanac.post(`${BASE}/push`, JSON.stringify({ streams }), JSON_TYPE);
    expect(status, text).to.equal(204);
  }

  describe('by WebSocket', () => {
    it('begins before the first line is written', async () => {
      const tail = new LokiTailClient(almanac.url, { query: '{app="first"}' });
      await eventually(() => tail.isOpen);
      await push('first', ['one']);
      await eventually(() => tail.lines.length === 1);
      expect(tail.messages[0].streams[0].stream).to.deep.equal({ app: 'first' });
      tail.close();
    });

    it('sends the last lines, then those that are written, whatever their times', async () => {
      await push('live', ['before 1', 'before 2']);
      const tail = new LokiTailClient(almanac.url, { query: '{app="live"} |= "e" | label_format x=app', limit: '10' });
      await eventually(() => tail.lines.length === 2);
      await push('live', ['new, equal', 'new, equal']);
      await push('live', ['hidden by filter'.replaceAll('e', '_'), 'older by years'], 1_500_000_000_000_000_000n);
      await push('other', ['of another stream']);
      await push('live', ['the end']);
      await eventually(() => tail.lines.includes('the end'));
      expect(tail.lines).to.have.members([
        'before 1',
        'before 2',
        'new, equal',
        'new, equal',
        'older by years',
        'the end',
      ]);
      expect(tail.messages.at(-1)?.streams[0].stream).to.deep.equal({ x: 'live' });
      tail.close();
    });

    it('sends each line once, also if it is flushed before it is read', async () => {
      await push('flushed', ['line 0']);
      const tail = new LokiTailClient(almanac.url, { query: '{app="flushed"}' });
      await eventually(() => tail.lines.length === 1);
      for (let i = 1; i <= 20; i++) {
        await push('flushed', [`line ${i}`]);
        if (i % 3 === 0) await almanac.flush('loki_logs');
      }
      await eventually(() => tail.lines.includes('line 20'));
      expect(tail.lines).to.have.members(Array.from({ length: 21 }, (_none, i) => `line ${i}`));
      tail.close();
    });

    it('delivers a line within a second', async () => {
      await push('quick', ['0']);
      const tail = new LokiTailClient(almanac.url, { query: '{app="quick"}' });
      await eventually(() => tail.lines.length === 1);
      await push('quick', ['1']);
      await eventually(() => tail.lines.length === 2, 1_000);
      tail.close();
    });

    it('replies errors before the upgrade', async () => {
      const refused: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
        [{ query: '{app="x"' }, 'parse error'],
        [{ query: 'rate({app="x"}[1m])' }, 'only log selector is supported'],
        [{ query: '{}', delay_for: '6' }, "delay_for can't be greater than 5"],
        [{ query: '{}', db: 'none' }, 'none'],
        [{}, 'unexpected $end'],
      ];
      for (const [parameters, error] of refused) {
        const socket = new WebSocket(
          `${almanac.url.replace('http', 'ws')}${BASE}/tail?${new URLSearchParams(parameters).toString()}`,
        );
        const text = await new Promise<string>((resolve) => {
          socket.on('error', () => undefined);
          socket.on('unexpected-response', (_request, response) => {
            let body = `${response.statusCode} `;
            response.on('data', (data: Buffer) => (body += data.toString()));
            response.on('end', () => resolve(body));
          });
        });
        expect(text).to.match(/^400 /).and.to.contain(error);
        socket.terminate();
      }
      const plain = await almanac.get(`${BASE}/tail?query={}`);
      expect(plain.status).to.equal(400);
      expect(plain.text).to.contain('a tail is a WebSocket');
    });

    it('limits the number of tails, and frees the slots of clients that disconnect', async () => {
      const tails = Array.from({ length: 5 }, () => new LokiTailClient(almanac.url, { query: '{}' }));
      await eventually(() => tails.every(({ isOpen }) => isOpen));
      const more = new LokiTailClient(almanac.url, { query: '{}' });
      await eventually(() => more.closeCode !== 0);
      const events = await almanac.get('/v1/logs/tail');
      expect(events.status).to.equal(429);
      expect(events.headers.get('retry-after')).to.equal('5');
      for (const tail of tails) tail.close();
      await eventually(async () => {
        const again = new LokiTailClient(almanac.url, { query: '{}' });
        await eventually(() => again.isOpen || again.closeCode !== 0);
        return again.isOpen;
      });
    });

    it('treats other upgrades as ordinary requests', async () => {
      const { hostname, port } = new URL(almanac.url);
      for (const upgrade of ['h2c', 'websocket']) {
        const text = await new Promise<string>((resolve, reject) => {
          const socket = connect(Number(port), hostname);
          let received = '';
          socket.on('data', (data) => (received += data.toString()));
          socket.on('close', () => resolve(received));
          socket.on('error', reject);
          const body = 'sql=SELECT 42';
          const type = 'Content-Type: application/x-www-form-urlencoded';
          socket.write(
            `POST /v1/sql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\n${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
          );
        });
        expect(text)
          .to.match(/^HTTP\/1\.1 200 OK/)
          .and.to.contain('[[42]]');
      }
    });
  });

  describe('by server-sent events', () => {
    it('sends rows as they are written, and continues after the last event', async () => {
      await push('events', ['before']);
      const first = new EventsClient();
      const response = await first.open(almanac.url, 'where=app%3Devents');
      expect(response.headers.get('content-type')).to.equal('text/event-stream');
      await eventually(() => first.text.includes(': connected'));
      await push('events', ['one', 'two']);
      await push('other', ['not this']);
      await eventually(() => first.lines.length === 2);
      expect(first.lines).to.have.members(['one', 'two']);
      first.close();
      await push('events', ['three']);
      await almanac.flush('loki_logs');
      const second = new EventsClient();
      await second.open(almanac.url, 'where=app%3Devents', { 'last-event-id': first.lastId });
      await eventually(() => second.lines.includes('three'));
      await push('events', ['four'], 1_400_000_000_000_000_000n);
      await eventually(() => second.lines.includes('four'));
      expect(second.lines.filter((line) => line === 'three')).to.have.length(1);
      second.close();
    });

    it('sends rows with columns that are added meanwhile', async () => {
      const tail = new EventsClient();
      await tail.open(almanac.url, 'search=widened');
      await eventually(() => tail.text.includes(': connected'));
      const streams = [{ stream: { app: 'x', zone: 'z1' }, values: [['1', 'widened']] }];
      await almanac.post(`${BASE}/push`, JSON.stringify({ streams }), JSON_TYPE);
      await eventually(() => tail.lines.length === 1);
      expect(tail.text).to.contain('"zone":"z1"');
      tail.close();
    });

    it('refuses malformed requests', async () => {
      for (const [query, error] of [
        ['where=none%3D1', 'has no column'],
        ['last_event_id=x', 'Last-Event-ID'],
        ['table=none', 'none'],
      ]) {
        const { status, text } = await almanac.get(`/v1/logs/tail?${query}`);
        expect(status).to.equal(400);
        expect(text).to.contain(error);
      }
    });
  });

  it('read from all regions of a cluster', async () => {
    const cluster = await Cluster.start(tempFolder(after), { gateways: 2, ingesters: 2, queriers: 1 });
    try {
      const [one, two] = cluster.gateways;
      const write = async (line: string): Promise<void> => {
        // Streams are spread over the regions.
        const streams = ['a', 'b', 'c', 'd'].map((app) => ({
          stream: { app },
          values: [['1700000000000000000', line]],
        }));
        const { status, text } = await two.post(`${BASE}/push`, JSON.stringify({ streams }), JSON_TYPE);
        expect(status, text).to.equal(204);
      };
      await write('first');
      const tail = new LokiTailClient(one.url, { query: '{}', start: '1' });
      await eventually(() => tail.lines.length === 4);
      await write('second');
      await eventually(() => tail.lines.length === 8);
      await two.flush('loki_logs');
      await write('third');
      await eventually(() => tail.lines.includes('third') && tail.lines.length >= 12);
      expect(tail.lines.filter((line) => line === 'second')).to.have.length(4);
    } finally {
      await cluster.stop();
    }
  });

  it('end when the server stops', async () => {
    const own = await Almanac.start(tempFolder(after));
    await own.post(
      `${BASE}/push`,
      JSON.stringify({ streams: [{ stream: { app: 'a' }, values: [['1', 'x']] }] }),
      JSON_TYPE,
    );
    const socket = new LokiTailClient(own.url, { query: '{}' });
    const events = new EventsClient();
    await events.open(own.url, '');
    await eventually(() => socket.isOpen && events.text.includes(': connected'));
    expect(await own.stop()).to.equal(0);
    await eventually(() => socket.closeCode === 1001 && events.isEnded);
  });
});
