import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';

import { within, type Containers } from './containers.js';

export interface TrialOptions {
  /** False: the image is there. */
  readonly build: boolean;
  readonly say: (text: string) => void;
}

const WRITERS = 4;
const HOSTS = 50;
const TABLES = ['cpu', 'disk', 'net'];
const ROWS_PER_REQUEST = 200;
/** The trial shows what is kept, not how fast: the machine has other work. */
const WRITE_PAUSE_MS = 100;
const READ_PAUSE_MS = 100;
/** Time without a failure after which a disturbance counts as over. */
const QUIET_MS = 5_000;
const FULL_MS_MAX = 30_000;
const MOVED_MS_MAX = 60_000;
const DOWN_MS = 3_000;
const START_NS = 1_700_000_000_000_000_000n;

type Kind = 'read' | 'write';

interface Writer {
  readonly name: string;
  /** Rows 0 up to this one were acknowledged, all of them. */
  acknowledged: number;
}

/**
 * all stopped and started. Every acknowledged row has to be there once; every query in between returns all rows that were
 * acknowledged before it, or is refused with "not ready" (503).
 *
 * @throws an error that says what was missing.
 */
export async function containersTrial(containers: Containers, { build, say }: TrialOptions): Promise<void> {
  const trial = new Trial(containers, say);
  await trial.step('up, 2 ingesters and 2 queriers', async () => {
    await containers.up({ ingester: 2, querier: 2 }, ...(build ? ['--build'] : []));
    return containers.healthy();
  });
  await trial.underLoad(async () => {
    await trial.step('rows are written and read', () => trial.quiet());
    await trial.step('an ingester is killed and started again', () => trial.killAndStart('ingester'));
    await trial.step('an ingester is removed for good', () => trial.removeOne());
    await trial.step('scaled to 3 ingesters', () => trial.scaleTo(3));
    await trial.step('a querier is killed and started again', () => trial.killAndStart('querier'));
    await trial.step('metadata is killed and started again', () => trial.killAndStart('metadata'));
    await trial.step('a table is made', () => trial.makeTable());
  });
  await trial.step('every row is counted', () => trial.check());
  await trial.step('stopped and taken down', async () => {
    await containers.compose('stop');
    const ends = await containers.inspect('{{.Name}} {{.State.ExitCode}}');
    invariant(
      ends.every((end) => end.endsWith(' 0')),
      `exit codes: ${ends.join(', ')}`,
    );
    await containers.compose('down');
    return undefined;
  });
  await trial.step('up again with 2 ingesters, every row is counted', async () => {
    await containers.up({ ingester: 2, querier: 2 });
    await containers.healthy();
    const text = await trial.readable();
    await trial.check();
    return text;
  });
  await trial.underLoad(() => trial.step('rows are written and read again', () => trial.quiet()));
  await trial.step('every row is counted', () => trial.check());
}

class Trial {
  readonly #containers: Containers;
  readonly #say: (text: string) => void;
  readonly #writers = Array.from({ length: WRITERS }, (_, i): Writer => ({ name: `w${i}`, acknowledged: 0 }));
  #answeredReads = 0;
  readonly #failures = new Map<string, number>();
  #lastFailureMs = 0;
  /** The end of the first read or write that went well, of those begun after the trouble and after the last that failed. */
  readonly #well = new Map<Kind, number>();
  #troubleMs = 0;
  #isOver = true;

  constructor(containers: Containers, say: (text: string) => void) {
    this.#containers = containers;
    this.#say = say;
  }

  async step(name: string, work: () => Promise<string | undefined>): Promise<void> {
    const sinceMs = performance.now();
    this.#failures.clear();
    const readsBefore = this.#answeredReads;
    const found = await work();
    const failures = [...this.#failures].map(([what, count]) => `${what} (${count} times)`).join(', ');
    this.#say(
      [
        `${name}: ${seconds(performance.now() - sinceMs)}`,
        ...(found === undefined ? [] : [found]),
        `${this.#answeredReads - readsBefore} reads answered in full`,
        `failed: ${failures === '' ? 'none' : failures}`,
        `${this.#rows()} rows acknowledged`,
      ].join('\n    '),
    );
  }

  /** Writers and readers work until it is done. */
  async underLoad(work: () => Promise<void>): Promise<void> {
    this.#isOver = false;
    const others = [...this.#writers.map((writer) => this.#write(writer)), this.#read(0), this.#read(1)];
    // One of them that fails ends the trial at once.
    const failed = Promise.all(others).then(() => new Promise<never>(() => undefined));
    try {
      await Promise.race([work(), failed]);
    } finally {
      this.#isOver = true;
    }
    await Promise.all(others);
  }

  async killAndStart(service: string): Promise<string> {
    const id = await this.#killOne(service, 0);
    await systemClock.sleep(DOWN_MS);
    await this.#containers.docker('start', id);
    return this.#wellAgain();
  }

  async removeOne(): Promise<string> {
    // Some engines end a container in good order before they remove it.
    await this.#containers.docker('rm', '-f', await this.#killOne('ingester', 1));
    return this.#wellAgain();
  }

  async scaleTo(count: number): Promise<string> {
    const before = await this.#regionCounts();
    const sinceMs = performance.now();
    await this.#containers.up({ ingester: count, querier: 2 }, '--no-recreate');
    let counts: number[] = [];
    const areEven = await within(MOVED_MS_MAX, async () => {
      counts = await this.#regionCounts();
      return counts.length === count && Math.max(...counts) - Math.min(...counts) <= 1;
    });
    invariant(areEven, `regions did not spread: ${counts.join()}`);
    const tookMs = performance.now() - sinceMs;
    await this.#containers.healthy();
    await this.quiet();
    return `regions of each went from ${before.join()} to ${counts.join()} within ${seconds(tookMs)}`;
  }

  /** What only metadata can do. */
  async makeTable(): Promise<undefined> {
    const isMade = await within(FULL_MS_MAX, async () => (await this.#containers.write('made v=1 1')).status === 204);
    invariant(isMade, 'a new table cannot be written to');
  }

  /** Resolves once nothing has failed for a while. */
  async quiet(): Promise<undefined> {
    const sinceMs = performance.now();
    const isQuiet = await within(2 * FULL_MS_MAX, () => {
      const nowMs = performance.now();
      return Promise.resolve(nowMs - Math.max(sinceMs, this.#lastFailureMs) > QUIET_MS);
    });
    invariant(isQuiet, 'requests keep failing');
  }

  /** Resolves when all tables can be queried: logs without an owner are adopted after a lease. */
  async readable(): Promise<string> {
    const sinceMs = performance.now();
    const isReadable = await within(FULL_MS_MAX, async () => {
      const answers = await Promise.all(TABLES.map((table) => this.#containers.sql(`SELECT count(*) FROM ${table}`)));
      for (const { status, text } of answers) if (status !== 200) this.#refused('read', status, text);
      return answers.every(({ status }) => status === 200);
    });
    invariant(isReadable, 'tables cannot be read');
    return `reads are full ${seconds(performance.now() - sinceMs)} after all are healthy`;
  }

  /** Counts and sums of each writer's rows: what was acknowledged, once. Nothing is under way. */
  async check(): Promise<undefined> {
    for (const { name, acknowledged } of this.#writers) {
      for (const [table, each] of TABLES.map((table) => [table, rowsIn(table, acknowledged)] as const)) {
        const { status, text, rows } = await this.#containers.sql(
          `SELECT count(*), count(DISTINCT n), sum(n), sum(v) FROM ${table} WHERE writer = '${name}'`,
        );
        invariant(status === 200, `${table}: ${text}`);
        const expected = [each.count, each.count, each.sum, each.sumOfValues];
        const found = rows[0].map(Number);
        invariant(
          found.every((value, i) => value === expected[i]),
          `${table} of ${name}: count, different, sums are ${found.join()}; acknowledged were ${expected.join()}`,
        );
      }
    }
  }

  async #killOne(service: string, index: number): Promise<string> {
    const before = await this.#regionCounts();
    invariant(
      before.every((count) => count > 0),
      `an ingester has no region: ${before.join()}`,
    );
    const id = (await this.#containers.ids(service))[index];
    await this.#containers.docker('kill', '-s', 'KILL', id);
    this.#troubleMs = performance.now();
    this.#well.clear();
    return id;
  }

  async #wellAgain(): Promise<string> {
    const kinds = ['read', 'write'] as const;
    const tookMs = (kind: Kind): number => (this.#well.get(kind) ?? Infinity) - this.#troubleMs;
    const areWell = (): Promise<boolean> => Promise.resolve(kinds.every((kind) => this.#well.has(kind)));
    await within(FULL_MS_MAX, areWell);
    await this.quiet();
    await within(FULL_MS_MAX, areWell);
    const text = `reads are full again after ${seconds(tookMs('read'))}, writes taken again after ${seconds(tookMs('write'))}`;
    invariant(Math.max(...kinds.map(tookMs)) < FULL_MS_MAX, text);
    return `${text}; regions of each ingester now: ${(await this.#regionCounts()).join()}`;
  }

  async #regionCounts(): Promise<number[]> {
    return (await this.#containers.nodes('ingester')).map(({ regionCount }) => regionCount);
  }

  /** Sends rows until each request is acknowledged; a row that comes twice replaces itself. */
  async #write(writer: Writer): Promise<void> {
    while (!this.#isOver) {
      const to = writer.acknowledged + ROWS_PER_REQUEST;
      const lines: string[] = [];
      for (let n = writer.acknowledged; n < to; n++) lines.push(lineOf(writer.name, n));
      const begunMs = performance.now();
      const { status, text } = await this.#containers.write(lines.join('\n'));
      if (status === 204) {
        writer.acknowledged = to;
        this.#wentWell('write', begunMs);
      } else this.#refused('write', status, text);
      await systemClock.sleep(WRITE_PAUSE_MS);
    }
    // What was sent last and refused may be there in part.
    await this.#settle(writer);
  }

  async #settle(writer: Writer): Promise<void> {
    const to = writer.acknowledged + ROWS_PER_REQUEST;
    const lines: string[] = [];
    for (let n = writer.acknowledged; n < to; n++) lines.push(lineOf(writer.name, n));
    const isWritten = await within(FULL_MS_MAX, async () => {
      return (await this.#containers.write(lines.join('\n'))).status === 204;
    });
    invariant(isWritten, `${writer.name} cannot write`);
    writer.acknowledged = to;
  }

  async #read(offset: number): Promise<void> {
    for (let turn = offset; !this.#isOver; turn++) {
      await systemClock.sleep(READ_PAUSE_MS);
      const writer = this.#writers[turn % WRITERS];
      const table = TABLES[turn % TABLES.length];
      const { count: before } = rowsIn(table, writer.acknowledged);
      if (before === 0) continue;
      const begunMs = performance.now();
      const { status, text, rows } = await this.#containers.sql(
        `SELECT count(*), count(DISTINCT n) FROM ${table} WHERE writer = '${writer.name}'`,
      );
      if (status !== 200) {
        this.#refused('read', status, text);
        continue;
      }
      const [count, distinct] = rows[0] as [number, number];
      invariant(count >= before, `a read was short: ${count} rows in ${table}, ${before} were acknowledged before`);
      invariant(count === distinct, `a read has rows twice: ${count} in ${table}, ${distinct} different`);
      this.#answeredReads++;
      this.#wentWell('read', begunMs);
    }
  }

  #wentWell(kind: Kind, begunMs: number): void {
    if (begunMs > this.#troubleMs && !this.#well.has(kind)) this.#well.set(kind, performance.now());
  }

  /** Not ready is the one way to fail. */
  #refused(kind: Kind, status: number, text: string): void {
    invariant(status === 503, `a ${kind} was answered ${status}: ${text}`);
    const code = /"code":\s*(\d+)/.exec(text)?.[1] ?? '';
    const key = `${kind} ${status} ${code}`.trim();
    this.#failures.set(key, (this.#failures.get(key) ?? 0) + 1);
    this.#lastFailureMs = performance.now();
    this.#well.delete(kind);
  }

  #rows(): number {
    return this.#writers.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
  }
}

/** Row `n` of a writer: everything about it follows from `n`. */
function lineOf(writer: string, n: number): string {
  const time = START_NS + BigInt(n) * 1_000_000n;
  return `${TABLES[n % TABLES.length]},writer=${writer},host=h${n % HOSTS} n=${n}i,v=${valueOf(n)} ${time}`;
}

function valueOf(n: number): number {
  return (n % 1000) + 0.5;
}

/** What a table has to have of a writer whose rows below `acknowledged` are all there. */
function rowsIn(table: string, acknowledged: number): { count: number; sum: number; sumOfValues: number } {
  let [count, sum, sumOfValues] = [0, 0, 0];
  for (let n = TABLES.indexOf(table); n < acknowledged; n += TABLES.length) {
    count++;
    sum += n;
    sumOfValues += valueOf(n);
  }
  return { count, sum, sumOfValues };
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
