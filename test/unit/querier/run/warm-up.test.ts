import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect } from 'chai';

import type { Call } from '#shared/contracts/call';
import type { PromQueryRequest, PromText, SqlEvent, SqlRequest } from '#shared/contracts/gen/querier';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { eventually } from '#test/support/conditions';
import { ManualClock } from '#test/support/manual-clock';
import { KeptLog } from '#test/support/quiet-log';
import { tempFolder } from '#test/support/temp-folder';

import { WarmUp } from '../../../../services/querier/run/warm-up.js';

const HOUR_MS = 3_600_000;

const statement = (sql: string): SqlRequest => ({ sql, database: 'public', timezone: '', format: '', user: '' });
const panel = (query: string, startMs: number, stepMs: number): PromQueryRequest => {
  const endMs = stepMs === 0 ? startMs : startMs + HOUR_MS;
  return { database: 'public', query, startMs, endMs, stepMs, lookbackMs: 0, limit: 0, stats: '' };
};

/** Answers every query, and notes it. */
class Answers {
  readonly texts: string[] = [];
  readonly panels: PromQueryRequest[] = [];
  readonly #answer: (text: string, call: Call) => Promise<void>;

  constructor(answer: (text: string, call: Call) => Promise<void> = () => Promise.resolve()) {
    this.#answer = answer;
  }

  async *sql({ sql }: SqlRequest, call: Call): AsyncIterable<SqlEvent> {
    this.texts.push(sql);
    await this.#answer(sql, call);
  }

  async *promQuery(request: PromQueryRequest, call: Call): AsyncIterable<PromText> {
    this.texts.push(request.query);
    this.panels.push(request);
    await this.#answer(request.query, call);
  }
}

describe('WarmUp', () => {
  let path = '';
  let cleanUp: () => void = () => undefined;
  let log: KeptLog;
  let clock: ManualClock;

  beforeEach(() => {
    path = join(
      tempFolder((after) => (cleanUp = after)),
      'querier-0',
      'latest.json',
    );
    log = new KeptLog();
    clock = new ManualClock();
  });

  afterEach(() => cleanUp());

  const warmUp = (): WarmUp => new WarmUp({ fs: nodeFileSystem, clock, log, path });

  /** Remembers queries as a process that stops. */
  const remember = async (...texts: readonly (string | PromQueryRequest)[]): Promise<void> => {
    const before = warmUp();
    texts.forEach((text, i) => (typeof text === 'string' ? before.sqlRan(i, statement(text)) : before.promqlRan(text)));
    await before.stop();
  };

  /** Starts, and waits for the first query. */
  const started = async (answers: Answers, isBusy = (): boolean => false): Promise<WarmUp> => {
    const after = warmUp();
    after.start({ service: () => answers, isBusy });
    await eventually(async () => {
      if (answers.texts.length === 0) await clock.advance(300);
      return answers.texts.length > 0;
    });
    return after;
  };

  it('runs all eight times: the latest first, then the shortest', async () => {
    await remember('SELECT 1', 'SELECT long', panel('up', 0, 0), 'SELECT 2');
    const answers = new Answers(async (text) => (text === 'SELECT long' ? clock.advance(40) : undefined));
    await started(answers);
    const again = ['SELECT 2', 'SELECT 1', 'up', 'SELECT long'];
    await eventually(() => answers.texts.length >= 32);
    const rounds = Array.from({ length: 7 }, () => again).flat();
    expect(answers.texts).to.deep.equal(['SELECT 2', 'SELECT long', 'SELECT 1', 'up', ...rounds]);
  });

  it('counts queries with one plan, and panels that only moved, as one', async () => {
    const before = warmUp();
    for (let i = 0; i < 200; i++) {
      before.sqlRan(i % 2, statement(`SELECT ${i}`));
      before.promqlRan(panel('up', i * 1_000, 15_000));
    }
    await before.stop();
    const answers = new Answers();
    await started(answers);
    await eventually(() => answers.texts.length >= 9);
    expect(answers.texts.slice(0, 3)).to.deep.equal(['SELECT 199', 'SELECT 198', 'up']);
  });

  it('remembers the latest 64 of each language, but no long texts and no tails', async () => {
    const before = warmUp();
    for (let i = 0; i < 100; i++) before.sqlRan(i, statement(`SELECT ${i}`));
    before.sqlRan(100, statement(`SELECT '${'x'.repeat(5_000)}'`));
    before.sqlRan(101, { ...statement('SELECT 101'), after: { regions: [], mayRepeat: false } });
    before.promqlRan(panel('x'.repeat(5_000), 0, 0));
    await before.stop();
    const { sql, promql } = JSON.parse(await readFile(path, 'utf8')) as { sql: SqlRequest[]; promql: unknown[] };
    expect(sql.map((request) => request.sql)).to.deep.equal(Array.from({ length: 64 }, (_, i) => `SELECT ${99 - i}`));
    expect(promql).to.deep.equal([]);
  });

  it('moves panels by whole steps, and instant queries by the time that has passed', async () => {
    await remember(panel('up', 60_000, 15_000), panel('down', 60_000, 0));
    await clock.advance(3_614_000);
    const answers = new Answers();
    const startedMs = clock.nowMs();
    await started(answers);
    await eventually(() => answers.panels.length >= 2);
    const [down, up] = answers.panels;
    expect([up.startMs % 15_000, up.endMs - up.startMs]).to.deep.equal([0, HOUR_MS]);
    expect(up.startMs).to.be.within(60_000 + 3_600_000, 60_000 + 3_615_000 + clock.nowMs() - startedMs);
    expect(down.endMs)
      .to.equal(down.startMs)
      .and.to.be.at.least(60_000 + 3_614_000);
  });

  /** Answers after a time, or ends when its call does. */
  const answerAfter = async (ms: number, { signal }: Call): Promise<void> => {
    for (let step = 0; step < ms && !signal.aborted; step++) await clock.advance(1);
    if (signal.aborted) throw new Error('ended');
  };

  it('gives a query 250 ms in the first round, and 500 ms and 1 s after the others', async () => {
    await remember('SELECT short', 'SELECT longer', 'SELECT long', 'SELECT wrong');
    const tookMs = { 'SELECT short': 100, 'SELECT long': 300, 'SELECT longer': 900 } as Readonly<
      Record<string, number>
    >;
    const ran: (readonly [string, number])[] = [];
    const answers = new Answers(async (text, call) => {
      const startMs = clock.monotonicMs();
      try {
        if (text === 'SELECT wrong') throw new Error('no such table');
        await answerAfter(tookMs[text] ?? Infinity, call);
      } finally {
        ran.push([text, clock.monotonicMs() - startMs]);
      }
    });
    const after = await started(answers);
    await eventually(() => ran.length >= 15);
    await after.stop();
    expect(ran).to.deep.equal([
      ['SELECT wrong', 0],
      ['SELECT long', 250],
      ['SELECT longer', 250],
      ...Array.from({ length: 8 }, () => ['SELECT short', 100]),
      ['SELECT long', 300],
      ['SELECT longer', 500],
      ['SELECT long', 300],
      // What is left of 2.5 s.
      ['SELECT longer', 100],
    ]);
    const { sql } = JSON.parse(await readFile(path, 'utf8')) as { readonly sql: readonly SqlRequest[] };
    expect(sql.map((request) => request.sql)).to.deep.equal(['SELECT longer']);
  });

  it('ends all after 2.5 s', async () => {
    await remember(...Array.from({ length: 99 }, (_, i) => `SELECT ${i}`));
    const ranMs: number[] = [];
    const answers = new Answers(async (_, call) => {
      const startMs = clock.monotonicMs();
      await answerAfter(200, call).finally(() => ranMs.push(clock.monotonicMs() - startMs));
    });
    await started(answers);
    await eventually(() => ranMs.length >= 13);
    expect(ranMs).to.deep.equal([...Array.from({ length: 12 }, () => 200), 100]);
  });

  it('waits for queries of clients', async () => {
    await remember('SELECT 1');
    let busy = 3;
    const answers = new Answers();
    const startMs = clock.nowMs();
    const after = warmUp();
    after.start({ service: () => answers, isBusy: () => busy-- > 0 });
    await eventually(async () => {
      await clock.advance(20);
      return answers.texts.length > 0;
    });
    expect(clock.nowMs() - startMs).to.be.at.least(300 + 3 * 20);
    await after.stop();
  });

  it('stops at once, also while a query runs, and keeps those that wait', async () => {
    const kept = async (): Promise<readonly string[]> => {
      const { sql } = JSON.parse(await readFile(path, 'utf8')) as { readonly sql: readonly SqlRequest[] };
      return sql.map((request) => request.sql);
    };
    await remember('SELECT 1', 'SELECT 2');
    const answers = new Answers((_, { signal }) => {
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('ended'))));
    });
    const after = await started(answers);
    await after.stop();
    expect(answers.texts).to.deep.equal(['SELECT 2']);
    expect(await kept()).to.deep.equal(['SELECT 1']);
    const early = warmUp();
    early.start({ service: () => answers, isBusy: () => false });
    await early.stop();
    expect(answers.texts).to.deep.equal(['SELECT 2']);
    expect(await kept()).to.deep.equal(['SELECT 1']);
  });

  it('removes what was remembered before it runs, so that a query cannot end two processes', async () => {
    await remember('SELECT 1');
    const found: boolean[] = [];
    const answers = new Answers(() => {
      found.push(existsSync(path));
      return Promise.reject(new Error('no such table'));
    });
    await started(answers);
    await eventually(() => found.length > 0);
    expect(found).to.deep.equal([false]);
    expect(log.messages('warn')).to.deep.equal([]);
  });

  it('reports what it cannot read or write', async () => {
    await mkdir(path, { recursive: true });
    const after = warmUp();
    after.sqlRan(1, statement('SELECT 1'));
    after.start({ service: () => new Answers(), isBusy: () => false });
    await eventually(() => log.messages('warn').length > 0);
    await after.stop();
    expect(log.messages('warn')).to.deep.equal([
      'failed to run the latest queries again',
      'failed to remember the latest queries',
    ]);
  });
});
