import type { ComponentChildren } from 'preact';

import { linkTo } from '../../core/route.js';
import { database } from '../../data/sql.js';
import { useLoaded } from '../../data/use-loaded.js';
import { countText } from '../../format/numbers.js';
import { reloadCount } from '../../time/page-range.js';
import { FailureText } from '../../widgets/failure-text.js';
import { ActiveSeries } from './active-series.js';
import { loadTsdbStatus, type NamedCount } from './catalog.js';
import { nameText } from './filters.js';
import { pairOf } from './label-counts.js';
import { ShareBar } from './share-bar.js';

const ROWS = 20;
/** Pairs of the name are the metrics, which have a list of their own. */
const ROWS_LOADED = 500;

/** What the series of the database consist of. */
export function CardinalityTab() {
  const { value: status, failure } = useLoaded(
    (signal) => loadTsdbStatus(ROWS_LOADED, signal),
    [reloadCount.value, database()],
  );
  if (status === undefined) {
    return failure === '' ? <p class="loading">Loading…</p> : <FailureText text={failure} />;
  }
  const { numSeries, numLabelPairs } = status.headStats;
  const pairs = status.seriesCountByLabelValuePair.filter(({ name }) => !name.startsWith('__name__='));
  return (
    <div class="stack">
      <FailureText text={failure} />
      <p>
        <b class="figure">{countText(numSeries)}</b> series <b class="figure">{countText(numLabelPairs)}</b> label pairs{' '}
        <span class="dim">exact, counted now over all stored series of the database</span>
      </p>
      <div class="cardinality">
        <Ranking title="Metrics by series" unit="series" rows={status.seriesCountByMetricName} total={numSeries}>
          {({ name }) => <a href={linkTo('metrics', { m: name })}>{name}</a>}
        </Ranking>
        <Ranking title="Labels by values" unit="values" rows={status.labelValueCountByLabelName} total={numLabelPairs}>
          {({ name }) => {
            const label = nameText(name);
            return <QueryLink query={`topk(20, count by (${label}) ({${label}!=""}))`}>{name}</QueryLink>;
          }}
        </Ranking>
        <Ranking title="Label pairs by series" unit="series" rows={pairs} total={numSeries}>
          {({ name }) => {
            const pair = pairOf(name);
            const selector = `{${nameText(pair.name)}=${JSON.stringify(pair.value)}}`;
            return <QueryLink query={`count by (__name__) (${selector})`}>{name}</QueryLink>;
          }}
        </Ranking>
        <ActiveSeries />
      </div>
    </div>
  );
}

interface RankingProps {
  readonly title: string;
  readonly unit: string;
  readonly rows: readonly NamedCount[];
  readonly total: number;
  readonly children: (row: NamedCount) => ComponentChildren;
}

function Ranking({ title, unit, rows, total, children }: RankingProps) {
  return (
    <section class="panel stack" aria-label={title}>
      <h2>{title}</h2>
      {rows.length === 0 ? (
        <p class="dim">No series.</p>
      ) : (
        <div class="table-box" role="region" aria-label={`Table of ${title}`} tabIndex={0}>
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">name</th>
                <th scope="col" class="number">
                  {unit}
                </th>
                <th scope="col">share</th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, ROWS).map((row) => (
                <tr key={row.name}>
                  <td class="wrap">{children(row)}</td>
                  <td class="number">{countText(row.value)}</td>
                  <td>
                    <ShareBar share={total === 0 ? 0 : row.value / total} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function QueryLink({ query, children }: { readonly query: string; readonly children: ComponentChildren }) {
  return <a href={linkTo('query', { mode: 'promql', instant: '1', q: query })}>{children}</a>;
}
