import { connect, type Socket } from 'node:net';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const CLIENTS = 8;
const ROUNDS = 40;
/** Requests that a client sends at once. */
const PIPELINED = 3;
/** Clients that go away before they are answered. */
const LEAVING = 4;

function get(number: number, header = ''): string {
  return `GET /v1/sql?sql=SELECT+${number} HTTP/1.1\r\nHost: a\r\n${header}\r\n`;
}

/** A connection that reads the numbers in replies. */
class NumberReader {
  readonly #socket: Socket;
  #text = '';
  #look: () => void = () => undefined;
  hasEnded = false;

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.setEncoding('latin1').on('data', (part: string) => {
      this.#text += part;
      this.#look();
    });
    this.#socket.on('close', () => {
      this.hasEnded = true;
      this.#look();
    });
  }

  get numbers(): number[] {
    return Array.from(this.#text.matchAll(/"rows":\[\[(\d+)\]\]/g), ([, number]) => Number(number));
  }

  send(requests: string): void {
    this.#socket.write(requests);
  }

  /** Resolves when there are this many numbers, or the connection has ended. */
  async count(count: number): Promise<void> {
    while (this.numbers.length < count && !this.hasEnded) await new Promise<void>((resolve) => (this.#look = resolve));
  }

  async end(): Promise<void> {
    while (!this.hasEnded) await new Promise<void>((resolve) => (this.#look = resolve));
  }
}

describe('replies to several connections', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;
  let port = 0;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
    port = Number(new URL(almanac.url).port);
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function leave(): Promise<void> {
    const socket = connect(port, '127.0.0.1');
    await new Promise<void>((resolve) => socket.once('connect', resolve));
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => undefined);
    socket.write(get(0).repeat(PIPELINED), () => socket.resetAndDestroy());
    await closed;
  }

  it('each gets its own, in order, while others go away', async () => {
    let isOver = false;
    const leaving = Array.from({ length: LEAVING }, async () => {
      while (!isOver) await leave();
    });
    const clients = Array.from({ length: CLIENTS }, async (_, client) => {
      const reader = new NumberReader(port);
      const sent: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const numbers = Array.from({ length: PIPELINED }, (_it, i) => (client * ROUNDS + round) * PIPELINED + i);
        sent.push(...numbers);
        reader.send(numbers.map((number) => get(number)).join(''));
        await reader.count(sent.length);
      }
      const last = CLIENTS * ROUNDS * PIPELINED + client;
      reader.send(get(last, 'Connection: close\r\n'));
      await reader.end();
      expect(reader.numbers).to.deep.equal([...sent, last]);
    });
    await Promise.all(clients);
    isOver = true;
    await Promise.all(leaving);
    expect(await almanac.rows('SELECT 1')).to.deep.equal([[1]]);
  });
});
