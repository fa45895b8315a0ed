import { compressSync } from 'snappy';

import { invariant } from '#shared/errors/invariant';

import type { HttpApi } from './almanac.js';
import { bodyV1 } from './remote-write-messages.js';

const START_MS = 1_700_000_000_000;
const ROWS = 40;

/** Sends rows that are known by number, to a table of its own, in requests one after the other. */
interface Writer {
  readonly name: string;
  /** Requests that together make rows `[from, to)` what they shall be. */
  requests(from: number, to: number): readonly (() => Promise<{ status: number; text: string }>)[];
  /** Gives rows `[number, how often it is there, its value]`. */
  readonly question: string;
  /** Rows below this one were acknowledged. */
  acknowledged: number;
  /** Rows below this one were sent. */
  sent: number;
}

export const LOAD_TABLES = [
  `CREATE TABLE replaced (host STRING, n BIGINT, v DOUBLE, ts TIMESTAMP(3) TIME INDEX, PRIMARY KEY (host)) WITH (merge_mode = 'last_row')`,
  `CREATE TABLE appended (host STRING, n BIGINT, v DOUBLE, ts TIMESTAMP(3) TIME INDEX, PRIMARY KEY (host)) WITH (append_mode = 'true')`,
];

/** Writers of every kind of table that run until they are stopped, and tables that are created and dropped. */
export class BackupLoad {
  readonly #writers: readonly Writer[];
  #isStopped = false;
  #running: Promise<unknown> = Promise.resolve();

  readonly #server: HttpApi;

  constructor(server: HttpApi) {
    this.#server = server;
    this.#writers = [merged(server), replaced(server), appended(server), metric(server, 0), metric(server, 1)];
  }

  start(): void {
    this.#running = Promise.all([...this.#writers.map((writer) => this.#write(writer)), this.#makeAndDrop()]);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  /** Acknowledged rows of each writer, by its name. */
  acknowledged(): Map<string, number> {
    return new Map(this.#writers.map(({ name, acknowledged }) => [name, acknowledged]));
  }

  /**
   * Compares what a server has with what was acknowledged at an earlier moment. Later rows may be there, too, but whole
   * and once.
   *
   * @throws an error that names the writer and the row.
   */
  async check(server: HttpApi, acknowledged: ReadonlyMap<string, number>): Promise<void> {
    for (const { name, question, sent } of this.#writers) {
      const { status, text, rows } = await server.sql(question);
      invariant(status === 200, `${name}: ${text}`);
      const present = new Set<number>();
      for (const [n, count, value] of rows as [number, number, number | null][]) {
        invariant(count === 1 && n < sent, `${name}: row ${n} is there ${count} times`);
        const isHalf = n >= (acknowledged.get(name) ?? 0) && (value === null || value === -1);
        invariant(isHalf || value === valueOf(n), `${name}: row ${n} has ${value}`);
        present.add(n);
      }
      const least = acknowledged.get(name) ?? 0;
      for (let n = 0; n < least; n++) invariant(present.has(n), `${name}: row ${n} of ${least} is lost`);
    }
  }

  async #write(writer: Writer): Promise<void> {
    while (!this.#isStopped) {
      const from = writer.sent;
      writer.sent += ROWS;
      for (const send of writer.requests(from, writer.sent)) {
        const { status, text } = await send();
        invariant(status === 204, `${writer.name} was answered ${status}: ${text}`);
      }
      writer.acknowledged = writer.sent;
    }
  }

  async #makeAndDrop(): Promise<void> {
    for (let n = 0; !this.#isStopped; n++) {
      const { status, text } = await this.#server.write(lines(0, ROWS, (i) => `passing_${n % 3} v=${i} ${i}`));
      invariant(status === 204, `passing was answered ${status}: ${text}`);
      const dropped = await this.#server.sql(`DROP TABLE passing_${n % 3}`);
      invariant(dropped.status === 200, dropped.text);
    }
  }
}

function valueOf(n: number): number {
  return (n % 1000) + 0.5;
}

/** One request writes one field, the next the other. */
function merged(server: HttpApi): Writer {
  return {
    name: 'merged',
    requests: (from, to) => [
      () =>
        server.write(
          lines(from, to, (n) => `merged,host=x n=${n}i ${START_MS + n}`),
          'precision=ms',
        ),
      () =>
        server.write(
          lines(from, to, (n) => `merged,host=x v=${valueOf(n)} ${START_MS + n}`),
          'precision=ms',
        ),
    ],
    question: 'SELECT n, count(*), max(v) FROM merged WHERE n IS NOT NULL GROUP BY n',
    acknowledged: 0,
    sent: 0,
  };
}

/** The second request puts other rows in the place of those of the first. */
function replaced(server: HttpApi): Writer {
  const send = (from: number, to: number, value: (n: number) => number) => () =>
    server.write(
      lines(from, to, (n) => `replaced,host=x n=${n}i,v=${value(n)} ${START_MS + n}`),
      'precision=ms',
    );
  return {
    name: 'replaced',
    requests: (from, to) => [send(from, to, () => -1), send(from, to, valueOf)],
    question: 'SELECT n, count(*), max(v) FROM replaced GROUP BY n',
    acknowledged: 0,
    sent: 0,
  };
}

/** Times go back and forth. */
function appended(server: HttpApi): Writer {
  const line = (n: number): string => `appended,host=x n=${n}i,v=${valueOf(n)} ${START_MS + ((n * 1789) % 86_400_000)}`;
  return {
    name: 'appended',
    requests: (from, to) => [() => server.write(lines(from, to, line), 'precision=ms')],
    question: 'SELECT n, count(*), max(v) FROM appended GROUP BY n',
    acknowledged: 0,
    sent: 0,
  };
}

/** Samples of Prometheus remote write; their number is in their time. */
function metric(server: HttpApi, index: number): Writer {
  const name = `metric_${index}`;
  const send = (from: number, to: number): Promise<{ status: number; text: string }> => {
    const samples = numbers(from, to).map((n) => ({ value: valueOf(n), timestamp: START_MS + n }));
    const labels: [string, string][] = [
      ['__name__', name],
      ['job', 'load'],
    ];
    return server.post('/v1/prometheus/write', Uint8Array.from(compressSync(bodyV1([{ labels, samples }]))));
  };
  return {
    name,
    requests: (from, to) => [() => send(from, to)],
    question: `SELECT epoch_ms(almanac_timestamp) - ${START_MS} AS n, count(*), max(almanac_value) FROM ${name} GROUP BY n`,
    acknowledged: 0,
    sent: 0,
  };
}

function lines(from: number, to: number, line: (n: number) => string): string {
  return numbers(from, to).map(line).join('\n');
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}
