import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';
import { pollUntil } from '#test/support/almanac';
import { Cluster } from '#test/support/cluster';
import { tempFolder } from '#test/support/temp-folder';

/**
 * `npm run trial -- flow-exactness [rows]`: writes rows of which 5 % are late and 1 % are written again with other values, and deletes
 * some, while all processes are killed twice, and each querier once, so that the flows change their owner. At the end the tables that
 * the flows keep must equal the same aggregates, value by value.
 */
const ROWS = Number(process.argv[2] ?? 10_000_000);
const SEED = 1;
const HOSTS = 1000;
const REGIONS = 20;
const STEP_MS = 10_000;
const BATCH_STEPS = 10;
const WRITERS = 3;
const FIRST_MS = Date.UTC(2026, 0, 1);
/** Steps by which a late row is late at most: three hours. */
const LATE_STEPS_MAX = 1080;
const FINISH_MS_MAX = 300_000;
const RETRY_MS = 200;

/** Values are small integers, so that sums of doubles do not depend on their order. */
const FLOWS: Readonly<Record<string, { readonly columns: string; readonly query: string }>> = {
  minutes: {
    columns: 'w, region, s, c, lo, hi, m',
    query:
      "SELECT date_bin(INTERVAL '1 minute', ts) AS w, region, sum(v) AS s, count(v) AS c, min(v) AS lo, max(v) AS hi, avg(v) AS m " +
      'FROM src GROUP BY w, region',
  },
  hours: {
    columns: 'w, host, s, c',
    query:
      "SELECT date_trunc('hour', ts) AS w, host, sum(v) AS s, count(*) AS c FROM src WHERE v > 10 GROUP BY w, host",
  },
  whole: { columns: 'region, c', query: 'SELECT region, count(*) AS c FROM src GROUP BY region' },
};

const cleanUps: (() => void)[] = [];
const cluster = await Cluster.start(
  tempFolder((cleanUp) => cleanUps.push(cleanUp)),
  { ingesters: 2, queriers: 2 },
);
const random = new SeededRandom(SEED);
/** Rows that wait until they are late enough, by the step with which they are sent. */
const late = new Map<number, string[]>();
let sent = 0;
let deletes = 0;
let retries = 0;
const events: string[] = [];
try {
  await statement(
    'CREATE TABLE src (ts TIMESTAMP(3) TIME INDEX, host STRING, region STRING, v DOUBLE, PRIMARY KEY (host, region))',
  );
  for (const [name, { query }] of Object.entries(FLOWS)) {
    await statement(`CREATE FLOW ${name} SINK TO ${name}_sink AS ${query}`);
  }
  const startedMs = systemClock.monotonicMs();
  const steps = Math.ceil(ROWS / HOSTS);
  const disturbances = plan(steps);
  for (let step = 0; step < steps; step += BATCH_STEPS * WRITERS) {
    const bodies: string[] = [];
    for (let i = 0; i < WRITERS; i++) bodies.push(linesOf(step + i * BATCH_STEPS, Math.min(BATCH_STEPS, steps - step)));
    const isDue = disturbances.length > 0 && disturbances[0].step <= step;
    await Promise.all([...bodies.map(write), isDue ? disturbances.shift()?.run() : undefined]);
  }
  await write([...late.values()].flat().join('\n'));
  const writtenMs = systemClock.monotonicMs();
  for (const name of Object.keys(FLOWS)) await statement(`ADMIN flush_flow('${name}')`);
  const flushedMs = systemClock.monotonicMs();
  print('rows sent', sent);
  print('statements that deleted rows', deletes);
  print('requests sent again', retries);
  print('events', events.join(', '));
  print('seconds of writing', Math.round((writtenMs - startedMs) / 1000));
  print('seconds until all flows were flushed', ((flushedMs - writtenMs) / 1000).toFixed(1));
  for (const [name, flow] of Object.entries(FLOWS)) await compare(name, flow);
} finally {
  await cluster.killAll();
  for (const cleanUp of cleanUps) cleanUp();
}

function plan(steps: number): { step: number; run: () => Promise<void> }[] {
  const at = (share: number): number => Math.floor(steps * share);
  const [first, second] = cluster.of('querier');
  return [
    { step: at(0.1), run: remove },
    { step: at(0.2), run: restartAll },
    { step: at(0.3), run: () => statement("ADMIN flush_table('src')") },
    { step: at(0.35), run: remove },
    { step: at(0.4), run: () => replace(first) },
    { step: at(0.5), run: () => statement("ADMIN compact_table('src')") },
    { step: at(0.55), run: () => replace(second) },
    { step: at(0.6), run: remove },
    { step: at(0.7), run: restartAll },
    { step: at(0.9), run: remove },
  ];
}

/** Kills all processes at once and starts them again. */
async function restartAll(): Promise<void> {
  await Promise.all(cluster.members.map((member) => member.kill()));
  for (const member of cluster.members) member.start();
  await cluster.ready();
  events.push('all processes killed and started');
}

/** Kills a querier, so that the other one owns all flows, and starts it again. */
async function replace(member: Cluster['members'][number]): Promise<void> {
  await member.kill();
  const before = await owners();
  const isElsewhere = await pollUntil(
    performance.now() + FINISH_MS_MAX,
    async () => new Set((await owners()).split(' ')).size === 1,
  );
  invariant(isElsewhere, `flows of a killed querier have no other owner: ${cluster.words()}`);
  member.start();
  await cluster.ready();
  events.push(`${member.name} killed: owners ${before} -> ${await owners()}`);
}

async function owners(): Promise<string> {
  const rows = await retried(() =>
    cluster.rows('SELECT flownode_ids FROM information_schema.flows ORDER BY flow_name'),
  );
  return rows.map(([ids]) => String(ids)).join(' ');
}

async function remove(): Promise<void> {
  const host = `host_${random.below(HOSTS)}`;
  await statement(`DELETE FROM src WHERE host = '${host}'`);
  await statement(`DELETE FROM src WHERE v = ${random.below(97)} AND region = 'region_${random.below(REGIONS)}'`);
  deletes += 2;
}

/** Rows of some steps in order of time, those that are due because they were held back, and some that are written again. */
function linesOf(from: number, count: number): string {
  const lines: string[] = [];
  for (let step = from; step < from + count; step++) {
    for (let host = 0; host < HOSTS; host++) {
      const row = lineOf(step, host);
      const chance = random.below(100);
      if (chance < 5) {
        const due = step + 1 + random.below(LATE_STEPS_MAX);
        late.set(due, [...(late.get(due) ?? []), row]);
      } else {
        lines.push(row);
      }
      if (chance === 99 && step > 0) lines.push(lineOf(random.below(step), host));
    }
    lines.push(...(late.get(step) ?? []));
    late.delete(step);
  }
  return lines.join('\n');
}

function lineOf(step: number, host: number): string {
  sent++;
  return `src,host=host_${host},region=region_${host % REGIONS} v=${random.below(97)} ${FIRST_MS + step * STEP_MS}`;
}

/** Sends lines until they are acknowledged. */
async function write(lines: string): Promise<void> {
  if (lines === '') return;
  await retried(() => cluster.written(lines, 'precision=ms'));
}

async function statement(sql: string): Promise<void> {
  await retried(() => cluster.rows(sql));
}

async function retried<T>(work: () => Promise<T>): Promise<T> {
  const untilMs = systemClock.monotonicMs() + FINISH_MS_MAX;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (systemClock.monotonicMs() > untilMs) throw error;
      retries++;
      await systemClock.sleep(RETRY_MS);
    }
  }
}

async function compare(
  name: string,
  { columns, query }: { readonly columns: string; readonly query: string },
): Promise<void> {
  const wanted = `SELECT ${columns} FROM (${query})`;
  const kept = `SELECT ${columns} FROM ${name}_sink`;
  const count = async (sql: string): Promise<number> =>
    Number((await cluster.rows(`SELECT count(*) FROM (${sql})`))[0][0]);
  const figures = {
    rows: await count(kept),
    wanted: await count(wanted),
    missing: await count(`${wanted} EXCEPT ${kept}`),
    wrong: await count(`${kept} EXCEPT ${wanted}`),
  };
  print(`flow ${name}`, JSON.stringify(figures));
  const isEqual = figures.rows === figures.wanted && figures.missing === 0 && figures.wrong === 0;
  if (!isEqual) process.exitCode = 1;
}

function print(what: string, value: string | number): void {
  process.stdout.write(`${what.padEnd(40)} ${value}\n`);
}
