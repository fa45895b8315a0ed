import { useMemo } from 'preact/hooks';

import { linkTo, parameter, setParameters } from '../../core/route.js';
import { quotedName, quotedText, sqlRows } from '../../data/sql.js';
import { countText, secondsText } from '../../format/numbers.js';
import { civilOf, civilText } from '../../time/civil.js';
import { pageRange, rangeNow } from '../../time/page-range.js';
import { zone } from '../../time/zones.js';
import { LoadFailure } from '../../widgets/load-failure.js';
import { usePolled } from '../../widgets/use-polled.js';
import { groupSlowRuns, type SlowGroup, type SlowRun } from './slow-groups.js';

/** Databases of the table, by the naming that the server is configured with. */
const DATABASES = ['almanac_private', 'greptime_private'];
const RUNS_MAX = 5000;
const SHOWN_RUNS_MAX = 20;

/** The recorded runs, and whether there are more. */
interface SlowRuns {
  readonly runs: readonly SlowRun[];
  readonly isCut: boolean;
}

/** The queries of the page's range that took longer than the threshold, by their text without literals. */
export function SlowQueries() {
  const { from, to } = pageRange.value;
  const { value, error, isLoading, reload } = usePolled(loadRuns, [from, to]);
  const groups = useMemo(() => groupSlowRuns(value?.runs ?? []), [value]);
  const sort = sortOf(parameter('sort'));
  const sorted = useMemo(() => [...groups].sort(ORDERS[sort]), [groups, sort]);
  const failure = error === undefined ? null : <LoadFailure error={error} onRetry={reload} />;
  if (value === undefined) return failure ?? <p class="loading">Loading…</p>;
  if (groups.length === 0) {
    return (
      failure ?? (
        <p class="empty">
          No slow query was recorded in this time range. Queries that take longer than <code>slow_query.threshold</code>{' '}
          are recorded when <code>slow_query.enable</code> is true and <code>slow_query.record_type</code> is{' '}
          <code>system_table</code>; choose a longer range, or a lower threshold in the configuration.
        </p>
      )
    );
  }
  return (
    <div class={isLoading ? 'stack stale' : 'stack'}>
      {failure}
      <p role="status">
        {countText(value.runs.length)} slow {value.runs.length === 1 ? 'query' : 'queries'} of{' '}
        {countText(groups.length)} {groups.length === 1 ? 'shape' : 'shapes'}
        {value.isCut && `; only the ${countText(RUNS_MAX)} slowest are shown`}
      </p>
      <div class="scroll-x">
        <table class="plain wide" aria-label="Slow queries">
          <thead>
            <tr>
              {COLUMNS.map(([key, title]) => (
                <th key={key} scope="col" class="number" aria-sort={sort === key ? 'descending' : undefined}>
                  <button type="button" class="plain" onClick={() => setParameters({ sort: key })}>
                    {title}
                    {sort === key ? ' ▼' : ''}
                  </button>
                </th>
              ))}
              <th scope="col">Database</th>
              <th scope="col" class="grow">
                Query
              </th>
            </tr>
          </thead>
          <tbody>
            {sorted.map((group) => (
              <GroupRow key={`${group.isPromql} ${group.database} ${group.fingerprint}`} group={group} />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

type SortKey = 'total' | 'count' | 'average' | 'p95' | 'max';

const COLUMNS: readonly (readonly [SortKey, string])[] = [
  ['total', 'Total'],
  ['count', 'Count'],
  ['average', 'Average'],
  ['p95', 'p95'],
  ['max', 'Longest'],
];

const ORDERS: Readonly<Record<SortKey, (a: SlowGroup, b: SlowGroup) => number>> = {
  total: (a, b) => b.totalMs - a.totalMs,
  count: (a, b) => b.count - a.count,
  average: (a, b) => b.averageMs - a.averageMs,
  p95: (a, b) => b.p95Ms - a.p95Ms,
  max: (a, b) => b.maxMs - a.maxMs,
};

function sortOf(text: string): SortKey {
  return COLUMNS.find(([key]) => key === text)?.[0] ?? 'total';
}

function GroupRow({ group }: { readonly group: SlowGroup }) {
  const { fingerprint, database, isPromql, count, totalMs, averageMs, p95Ms, maxMs, runs } = group;
  const [slowest] = runs;
  return (
    <tr>
      {[totalMs, count, averageMs, p95Ms, maxMs].map((value, i) => (
        <td key={COLUMNS[i][0]} class="number">
          {COLUMNS[i][0] === 'count' ? countText(value) : secondsText(value / 1000, 3)}
        </td>
      ))}
      <td>{database}</td>
      <td>
        <details class="query-details">
          <summary>
            <code>{fingerprint}</code>
          </summary>
          <pre class="query-text" aria-label="Slowest query">
            {slowest.query}
          </pre>
          <a href={linkTo('query', { q: slowest.query, db: database, mode: isPromql ? 'promql' : undefined })}>
            Open in Query
          </a>
          {slowest.plan !== '' && (
            <details>
              <summary>Plan</summary>
              <pre class="query-text">{slowest.plan}</pre>
            </details>
          )}
          <ul class="run-list">
            {runs.slice(0, SHOWN_RUNS_MAX).map(({ startMs, costMs, user }, i) => (
              <li key={i}>
                {civilText(civilOf(startMs, zone.value), 3)} · {secondsText(costMs / 1000, 3)}
                {user === '' ? '' : ` · ${user}`}
              </li>
            ))}
          </ul>
          {runs.length > SHOWN_RUNS_MAX && (
            <p class="dim">{countText(runs.length - SHOWN_RUNS_MAX)} more runs were faster.</p>
          )}
        </details>
      </td>
    </tr>
  );
}

/** A row of the table of slow queries. */
interface SlowRow {
  readonly timestamp: bigint;
  readonly cost: bigint;
  readonly query: string | null;
  readonly is_promql: boolean | null;
  readonly database: string | null;
  readonly user: string | null;
  readonly plan: string | null;
}

async function loadRuns(signal: AbortSignal): Promise<SlowRuns> {
  const names = DATABASES.map((name) => `'${name}'`).join(', ');
  const found = await sqlRows<{ table_schema: string }>(
    `SELECT table_schema FROM information_schema.tables WHERE table_name = 'slow_queries' AND table_schema IN (${names})`,
    { signal, database: 'information_schema' },
  );
  const [table] = found;
  // The table is created with the first slow query.
  if (table === undefined) return { runs: [], isCut: false };
  const { fromMs, toMs } = rangeNow();
  const rows = await sqlRows<SlowRow>(
    `SELECT "timestamp", cost, query, is_promql, "database", "user", plan FROM ${quotedName(table.table_schema)}.slow_queries ` +
      `WHERE "timestamp" >= ${timeSql(fromMs)} AND "timestamp" < ${timeSql(toMs)} ` +
      `ORDER BY cost DESC LIMIT ${RUNS_MAX + 1}`,
    { signal, database: table.table_schema },
  );
  return { runs: rows.slice(0, RUNS_MAX).map(runOf), isCut: rows.length > RUNS_MAX };
}

function timeSql(ms: number): string {
  return quotedText(new Date(ms).toISOString());
}

function runOf({ timestamp, cost, query, is_promql: isPromql, database, user, plan }: SlowRow): SlowRun {
  return {
    startMs: Number(timestamp),
    costMs: Number(cost),
    query: query ?? '',
    isPromql: isPromql ?? false,
    database: database ?? '',
    user: user ?? '',
    plan: plan ?? '',
  };
}
