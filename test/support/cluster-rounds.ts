import { ownCall } from '#shared/contracts/call';
import { invariant } from '#shared/errors/invariant';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

import { Cluster, type Member } from './cluster.js';

export interface ClusterRoundsOptions {
  readonly rounds: number;
  readonly seed: number;
}

export interface ClusterSummary {
  readonly rounds: number;
  readonly acknowledgedRows: number;
  /** Reads that were answered while something was broken, and those that failed. */
  readonly answeredReads: number;
  readonly failedReads: number;
}

interface Writer {
  readonly name: string;
  readonly kind: 'in-order' | 'late' | 'append' | 'append-keyed';
  readonly acknowledged: { readonly from: number; readonly to: number }[];
  /** Rows of `acknowledged`. */
  acknowledgedRows: number;
  /** Numbers below this one were sent. */
  sent: number;
}

const KINDS = ['in-order', 'late', 'append', 'append-keyed'] as const;
const ROWS_PER_REQUEST = [1, 10, 100, 500];
const START_NS = 1_700_000_000_000_000_000n;
const ROUND_MS = [300, 600, 1_200];

/** Regions are flushed many times a round; leases run out soon. */
const ENVIRONMENT = {
  ALMANAC_INGESTER__FLUSH_BYTES: '256KiB',
  ALMANAC_WAL__FILE_SIZE: '256KiB',
  ALMANAC_CLUSTER__LEASE: '2s',
  ALMANAC_MEMORY__LIMIT: '1GiB',
};

type Trouble = 'kill' | 'replace-ingester' | 'lose-replies' | 'move' | 'pause' | 'restart';
const TROUBLES: readonly Trouble[] = ['kill', 'replace-ingester', 'lose-replies', 'move', 'pause', 'restart', 'kill'];

/**
 * Rounds of: writers and readers run at once, something breaks at a random moment (a process is killed, replies are
 * lost, a region moves, a process is paused or restarted), it comes back, and every row that was acknowledged has to be
 * there once, by number and by checksum. No answer in between may be short.
 *
 * @throws an error that names round, writer and the missing or doubled rows, with the last words of the processes.
 */
export async function clusterRounds(folder: string, options: ClusterRoundsOptions): Promise<ClusterSummary> {
  const cluster = await Cluster.start(folder, { ingesters: 2, queriers: 2, environment: ENVIRONMENT });
  const rounds = new Rounds(cluster, new SeededRandom(options.seed));
  try {
    const summary = await rounds.run(options.rounds);
    const codes = await cluster.stop();
    invariant(
      codes.every((code) => code === 0),
      `processes ended with ${codes.join()}: ${cluster.words()}`,
    );
    return summary;
  } catch (error) {
    const words = cluster.words();
    await cluster.killAll();
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n${words}`, { cause: error });
  }
}

class Rounds {
  readonly #cluster: Cluster;
  readonly #random: SeededRandom;
  readonly #writers = KINDS.flatMap((kind) =>
    [0, 1].map((i): Writer => ({ name: `${kind}${i}`, kind, acknowledged: [], acknowledgedRows: 0, sent: 0 })),
  );
  #round = 0;
  #trouble: Trouble = 'kill';
  #isOver = false;
  #answeredReads = 0;
  #failedReads = 0;

  constructor(cluster: Cluster, random: SeededRandom) {
    this.#cluster = cluster;
    this.#random = random;
  }

  async run(count: number): Promise<ClusterSummary> {
    const { status, text } = await this.#cluster.sql(
      `CREATE TABLE appended (host STRING, n BIGINT, v DOUBLE, ts TIMESTAMP(9) TIME INDEX, PRIMARY KEY (host)) WITH (append_mode = 'true')`,
    );
    invariant(status === 200, text);
    for (this.#round = 0; this.#round < count; this.#round++) await this.#runRound();
    return {
      rounds: count,
      acknowledgedRows: this.#writers.reduce((sum, writer) => sum + writer.acknowledgedRows, 0),
      answeredReads: this.#answeredReads,
      failedReads: this.#failedReads,
    };
  }

  async #runRound(): Promise<void> {
    this.#isOver = false;
    this.#trouble = this.#pick(TROUBLES);
    const work = [...this.#writers.map((writer) => this.#write(writer)), this.#read(), this.#read()];
    await passed(this.#pick(ROUND_MS));
    const mend = await this.#break(this.#trouble);
    await passed(this.#pick(ROUND_MS));
    mend();
    await passed(this.#pick(ROUND_MS));
    this.#isOver = true;
    await Promise.all(work);
    await this.#cluster.ready();
    for (const writer of this.#writers) await this.#check(writer);
  }

  /** @returns what makes it whole again. */
  async #break(trouble: Trouble): Promise<() => void> {
    const { members } = this.#cluster;
    const nothing = (): void => undefined;
    switch (trouble) {
      case 'kill': {
        const member = this.#pick(members.filter(({ runs }) => runs));
        await member.kill();
        return () => member.start();
      }
      case 'replace-ingester': {
        const member = this.#pick(this.#running('ingester'));
        await member.kill();
        // Another process takes its place; the slot of the dead one is adopted or claimed.
        return () => void this.#cluster.addIngester();
      }
      case 'lose-replies':
        await this.#pick(this.#cluster.proxies).loseReplies(this.#pick([20, 100, 300]));
        return nothing;
      case 'move':
        await this.#moveRegion();
        return nothing;
      case 'pause': {
        const member = this.#pick(members.filter(({ runs }) => runs));
        member.signal('SIGSTOP');
        return () => member.signal('SIGCONT');
      }
      case 'restart': {
        const member = this.#pick(members.filter(({ runs }) => runs));
        void member.stop().then(() => member.start());
        return nothing;
      }
    }
  }

  #running(role: Member['role']): Member[] {
    return this.#cluster.of(role).filter(({ runs }) => runs);
  }

  async #moveRegion(): Promise<void> {
    const call = ownCall('test');
    const { metadata } = this.#cluster;
    const { nodes } = await metadata.listNodes({}, call);
    const takers = nodes.filter(({ role, state }) => role === 'ingester' && state === 'ready');
    const { tables } = await metadata.listTables({ database: 'public' }, call);
    const region = this.#pick(tables.flatMap((table) => table.regions));
    const to = takers.find(({ nodeId }) => nodeId !== region.nodeId);
    if (to !== undefined) await metadata.moveRegion({ regionId: region.regionId, toNodeId: to.nodeId }, call);
  }

  async #write(writer: Writer): Promise<void> {
    while (!this.#isOver) {
      const from = writer.sent;
      const to = from + this.#pick(ROWS_PER_REQUEST);
      writer.sent = to;
      const lines = linesOf(writer, from, to);
      const key = `${writer.name}-${from}`;
      for (;;) {
        const headers: Record<string, string> = writer.kind === 'append-keyed' ? { 'idempotency-key': key } : {};
        const status = await this.#cluster.post('/v1/lineproto/write', lines, headers).then(
          (answer) => answer.status,
          () => 0,
        );
        if (status === 204) {
          writer.acknowledged.push({ from, to });
          writer.acknowledgedRows += to - from;
          break;
        }
        const isClean = status === 0 || status === 503 || status === 504 || status === 429;
        invariant(isClean, `round ${this.#round} (${this.#trouble}): ${writer.name} was answered ${status}`);
        // Rows of tables with versions, and requests with a key, may be sent again.
        if (writer.kind === 'append' || this.#isOver) break;
      }
    }
  }

  /** Counts rows repeatedly: what was acknowledged before a query has to be in its result. */
  async #read(): Promise<void> {
    while (!this.#isOver) {
      const writer = this.#pick(this.#writers);
      const before = writer.acknowledgedRows;
      if (before === 0) {
        await passed(10);
        continue;
      }
      const answer = await this.#cluster
        .sql(`SELECT count(*), count(DISTINCT n) FROM ${tableOf(writer)} WHERE host = '${writer.name}'`)
        .catch(() => undefined);
      if (answer?.status !== 200) {
        this.#failedReads++;
        const text = answer?.text ?? '';
        const isClean = answer === undefined || [408, 429, 503, 504].includes(answer.status);
        invariant(isClean, `round ${this.#round} (${this.#trouble}): a read was answered ${answer?.status} ${text}`);
        continue;
      }
      this.#answeredReads++;
      const [[count, distinct]] = answer.rows as [[number, number]];
      const where = `round ${this.#round} (${this.#trouble}): ${writer.name}`;
      invariant(count >= before, `${where}: a read gave ${count} rows, ${before} were acknowledged before`);
      invariant(count === distinct, `${where}: a read gave ${count} rows, of them ${distinct} different`);
    }
  }

  async #check(writer: Writer): Promise<void> {
    const where = `round ${this.#round} (${this.#trouble})`;
    const { status, text, rows } = await this.#cluster.sql(
      `SELECT n, count(*), min(v), max(v) FROM ${tableOf(writer)} WHERE host = '${writer.name}' GROUP BY n`,
    );
    if (status !== 200 && writer.acknowledged.length === 0) return;
    invariant(status === 200, `${where}: ${text}`);
    const present = new Set<number>();
    for (const [n, count, least, most] of rows as [number, number, number, number][]) {
      invariant(count === 1, `${where}: row ${n} of ${writer.name} is there ${count} times`);
      invariant(n < writer.sent, `${where}: row ${n} of ${writer.name} was never sent`);
      invariant(least === valueOf(n) && most === valueOf(n), `${where}: row ${n} of ${writer.name} has ${least}`);
      present.add(n);
    }
    for (const { from, to } of writer.acknowledged) {
      for (let n = from; n < to; n++) {
        invariant(present.has(n), `${where}: row ${n} of ${writer.name} was acknowledged and is lost`);
      }
    }
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random.fraction() * values.length)];
  }
}

function tableOf({ kind }: Writer): string {
  return kind.startsWith('append') ? 'appended' : 'versioned';
}

/** Row `n` of a writer: its time and values follow from `n` alone. */
function linesOf(writer: Writer, from: number, to: number): string {
  const lines: string[] = [];
  for (let n = from; n < to; n++) {
    lines.push(`${tableOf(writer)},host=${writer.name} n=${n}i,v=${valueOf(n)} ${timeOf(writer, n)}`);
  }
  return lines.join('\n');
}

function valueOf(n: number): number {
  return (n % 1000) + 0.5;
}

/** Late writers go back and forth by up to an hour, without meeting a time twice. */
function timeOf(writer: Writer, n: number): bigint {
  const seconds = writer.kind === 'late' ? (n * 1789) % 3600 : 0;
  return START_NS + BigInt(seconds) * 1_000_000_000n + BigInt(n) * 1_000n;
}

/** The rounds are made of time: trouble has to last for a while. */
function passed(milliseconds: number): Promise<unknown> {
  return new Promise((resolve) => AbortSignal.timeout(milliseconds).addEventListener('abort', resolve));
}
