import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';
import { runProgram } from '#test/bench/ingest';
import { START_MS } from '#test/bench/remote-write/generator';
import { Almanac } from '#test/support/almanac';
import { watchHealth } from '#test/support/health-watch';
import { tempFolder } from '#test/support/temp-folder';

/**
 * `npm run trial -- long-query [hours]`: how long `/health` takes, and how fast samples are taken, while a PromQL query
 * computes for several seconds over `hours` of 20 node exporters.
 */
const hours = Number(process.argv[2] ?? 1);
const RANGE_SECONDS = 900;

const cleanUps: (() => void)[] = [];
const almanac = await Almanac.start(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
const target = { port: Number(new URL(almanac.url).port), path: '/v1/prometheus/write', hosts: 20, connections: 4 };
const load = (seed: number): Promise<{ rowsPerSecond: number }> =>
  runProgram('remote-write/loader.js', { ...target, hours, batch: 2000, seed });

const end = START_MS / 1000 + hours * 3600;
let asked = 0;
/** Sends a query that is different each time, so that no cached result serves. @returns milliseconds. */
async function ask(): Promise<number> {
  const query = `count(quantile_over_time(0.9${++asked}, {__name__=~"node_.*_.*"}[30m]))`;
  const range = `start=${end - RANGE_SECONDS}&end=${end}&step=30`;
  const askedMs = systemClock.monotonicMs();
  const { status, text } = await almanac.get(
    `/v1/prometheus/api/v1/query_range?query=${encodeURIComponent(query)}&${range}`,
  );
  invariant(status === 200, text.slice(0, 300));
  return systemClock.monotonicMs() - askedMs;
}

const { rowsPerSecond: withoutQueries } = await load(1);
const queriesMs: number[] = [];
let health = await watchHealth(
  almanac.url,
  ask().then((ms) => queriesMs.push(ms)),
);
print('a query alone', { queriesMs, health });

queriesMs.length = 0;
let isLoaded = false;
let samplesPerSecond = 0;
const loading = load(2).then(({ rowsPerSecond }) => {
  samplesPerSecond = rowsPerSecond;
  isLoaded = true;
});
const querying = async (): Promise<void> => {
  while (!isLoaded) queriesMs.push(await ask());
};
health = await watchHealth(almanac.url, Promise.all([loading, querying()]));
print('queries one after the other and ingestion', {
  queriesMs,
  health,
  samplesPerSecond,
  withoutQueries,
  share: samplesPerSecond / withoutQueries,
});
invariant((await almanac.stop()) === 0, 'the server did not end well');
for (const cleanUp of cleanUps) cleanUp();

function print(what: string, figures: object): void {
  process.stdout.write(`${what}: ${JSON.stringify(figures)}\n`);
}
