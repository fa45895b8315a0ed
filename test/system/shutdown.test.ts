import { request } from 'node:http';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const WRITERS = 6;
const ROWS_PER_REQUEST = 500;
const ROUNDS = 3;
const STOP_MS_MAX = 20_000;

/** Flushes are under way when the signal comes. */
const SMALL_FLUSHES = { ALMANAC_INGESTER__FLUSH_BYTES: '1MiB' };

describe('SIGTERM', () => {
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;

  beforeEach(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(folder, { environment: SMALL_FLUSHES });
  });

  afterEach(async () => {
    await almanac.stop();
    cleanUp();
  });

  it('under load replies to running requests, exits with 0, and loses no acknowledged row', async () => {
    let next = 0;
    const acknowledged: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const load = startLoad(almanac, () => next++, acknowledged);
      const target = acknowledged.length + 60;
      await load.reaches(target);
      const startMs = performance.now();
      expect(await almanac.stop(), almanac.stderr).to.equal(0);
      expect(performance.now() - startMs).to.be.lessThan(STOP_MS_MAX);
      const statuses = await load.ended;
      // Answered, or not taken at all: the connection was refused.
      expect([...statuses].filter((status) => ![204, 503].includes(status))).to.deep.equal([]);
      almanac = await Almanac.start(folder, { environment: SMALL_FLUSHES });
      await expectRows(almanac, acknowledged, next);
    }
  });

  it('lets a slow request and a running query finish', async () => {
    await almanac.write(linesOf(0));
    const query = almanac.sql(
      'SELECT count(*) FROM load AS a, load AS b, range(100) AS c WHERE a.n + b.n + c.range > 0',
    );
    const write = slowWrite(almanac.url);
    await write.isUnderWay;
    const stopped = almanac.stop();
    write.finish();
    expect(await write.status).to.equal(204);
    expect((await query).status).to.equal(200);
    expect(await stopped).to.equal(0);
    almanac = await Almanac.start(folder);
    expect((await almanac.sql('SELECT v FROM slow')).rows).to.deep.equal([[1], [2]]);
  });
});

interface Load {
  /** Statuses of all requests that were answered; 0 never. */
  readonly ended: Promise<Set<number>>;
  reaches(acknowledged: number): Promise<void>;
}

/** Writers that send until the server is gone. */
function startLoad(almanac: Almanac, take: () => number, acknowledged: number[]): Load {
  const statuses = new Set<number>();
  let onAnswer: () => void = () => undefined;
  const write = async (): Promise<void> => {
    for (;;) {
      const number = take();
      let status: number;
      try {
        ({ status } = await almanac.write(linesOf(number)));
      } catch (error) {
        const cause = (error as { cause?: NodeJS.ErrnoException }).cause;
        // A keep-alive connection that the server has closed, or no listener: the request was not taken.
        if (['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET', 'EPIPE'].includes(cause?.code ?? '')) return;
        throw error;
      }
      statuses.add(status);
      if (status === 204) acknowledged.push(number);
      onAnswer();
    }
  };
  const ended = Promise.all(Array.from({ length: WRITERS }, write)).then(() => statuses);
  return {
    ended,
    reaches: (count) =>
      new Promise((resolve) => {
        onAnswer = () => {
          if (acknowledged.length >= count) resolve();
        };
      }),
  };
}

/** Rows `number * ROWS_PER_REQUEST` and on, each of a time of its own. */
function linesOf(number: number): string {
  return Array.from({ length: ROWS_PER_REQUEST }, (_, i) => {
    const n = number * ROWS_PER_REQUEST + i;
    return `load,host=host-${n % 50} n=${n}i,v=${n % 97},text="row ${n}" ${n + 1}`;
  }).join('\n');
}

/** Rows of requests without an answer may be there, but whole and once. */
async function expectRows(almanac: Almanac, acknowledged: readonly number[], sent: number): Promise<void> {
  const { status, text, rows } = await almanac.sql(
    `SELECT n // ${ROWS_PER_REQUEST} AS request, count(*), count(DISTINCT n), sum(v), min(text), max(n)
     FROM load GROUP BY request`,
  );
  expect(status, text).to.equal(200);
  const found = new Map(rows.map(([request, ...rest]) => [request as number, rest]));
  for (const number of found.keys()) expect(number).to.be.lessThan(sent);
  for (const number of acknowledged) expect(found.has(number), `request ${number}`).to.equal(true);
  for (const [number, [count, distinct, sum]] of found) {
    let expectedSum = 0;
    for (let i = 0; i < ROWS_PER_REQUEST; i++) expectedSum += (number * ROWS_PER_REQUEST + i) % 97;
    expect([count, distinct, sum], `request ${number}`).to.deep.equal([
      ROWS_PER_REQUEST,
      ROWS_PER_REQUEST,
      expectedSum,
    ]);
  }
}

interface SlowWrite {
  /** Resolves when the server has requested the body. */
  readonly isUnderWay: Promise<void>;
  readonly status: Promise<number>;
  finish(): void;
}

/** A write whose last line is sent when the test says so. */
function slowWrite(url: string): SlowWrite {
  const sent = request(`${url}/v1/lineproto/write`, { method: 'POST', headers: { expect: '100-continue' } });
  const isUnderWay = new Promise<void>((resolve) => {
    sent.on('continue', () => sent.write('slow v=1 1\n', () => resolve()));
  });
  sent.flushHeaders();
  const status = new Promise<number>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
  });
  return { isUnderWay, status, finish: () => void sent.end('slow v=2 2\n') };
}
