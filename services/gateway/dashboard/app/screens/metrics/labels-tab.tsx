import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';

import { setParameters } from '../../core/route.js';
import { promData } from '../../data/promql.js';
import { database } from '../../data/sql.js';
import { useLoaded } from '../../data/use-loaded.js';
import { countText } from '../../format/numbers.js';
import { pageRange, rangeNow, reloadCount } from '../../time/page-range.js';
import { FailureText } from '../../widgets/failure-text.js';
import { FilterBar } from './filter-bar.js';
import { filtersText, selectorText, withFilter, type LabelFilter } from './filters.js';
import { countLabels, type LabelCounts } from './label-counts.js';
import { metricFilters, setFilters } from './metrics-state.js';
import { ShareBar } from './share-bar.js';

const SERIES_MAX = 10_000;
const VALUES_SHOWN = 50;

/** The labels of a metric, with their values and how many series have each. */
export function LabelsTab({ metric }: { readonly metric: string }) {
  const filters = metricFilters.value;
  const { from, to } = pageRange.value;
  const { value: series, failure } = useLoaded(
    (signal) => {
      const { fromMs, toMs } = rangeNow();
      const parameters = new URLSearchParams({
        'match[]': selectorText(metric, filters),
        ...{ start: String(fromMs / 1000), end: String(toMs / 1000), limit: String(SERIES_MAX) },
      });
      return promData<readonly Readonly<Record<string, string>>[]>('series', parameters, signal);
    },
    [metric, filtersText(filters), from, to, reloadCount.value, database()],
  );
  const labels = useMemo(() => countLabels(series ?? []), [series]);
  if (series === undefined) {
    return failure === '' ? <p class="loading">Loading…</p> : <FailureText text={failure} />;
  }
  const isCut = series.length >= SERIES_MAX;
  return (
    <div class="stack">
      <FailureText text={failure} />
      <FilterBar metric={metric} labels={labels.map(({ name }) => name)} />
      <p class="dim">
        {isCut
          ? `The first ${countText(SERIES_MAX)} series are counted: all figures are approximate.`
          : `${countText(series.length)} series with data files or rows in the range`}
      </p>
      {labels.length === 0 && <p class="dim">{series.length === 0 ? 'No series.' : 'The series have no labels.'}</p>}
      {labels.map((label) => (
        <LabelDetails key={label.name} label={label} seriesCount={series.length} isCut={isCut} />
      ))}
    </div>
  );
}

interface LabelDetailsProps {
  readonly label: LabelCounts;
  readonly seriesCount: number;
  readonly isCut: boolean;
}

function LabelDetails({ label: { name, values }, seriesCount, isCut }: LabelDetailsProps) {
  const isAll = useSignal(false);
  const shown = isAll.value ? values : values.slice(0, VALUES_SHOWN);
  const approximate = isCut ? '~' : '';
  const add = (operator: LabelFilter['operator'], value: string): void => {
    setFilters(withFilter(metricFilters.peek(), { label: name, operator, value }));
  };
  return (
    <details class="panel">
      <summary>
        <b>{name}</b>{' '}
        <span class="dim">
          {approximate}
          {countText(values.length)} {values.length === 1 ? 'value' : 'values'}
        </span>
      </summary>
      <button type="button" onClick={() => setParameters({ by: name, tab: undefined })}>
        Split charts by {name}
      </button>
      <div class="table-box" role="region" aria-label={`Values of ${name}`} tabIndex={0}>
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">value</th>
              <th scope="col" class="number">
                series
              </th>
              <th scope="col">share</th>
              <th scope="col">filter</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ value, count }) => (
              <tr key={value}>
                <td class="mono wrap">{value}</td>
                <td class="number">
                  {approximate}
                  {countText(count)}
                </td>
                <td>
                  <ShareBar share={count / seriesCount} isApproximate={isCut} />
                </td>
                <td class="nowrap">
                  <button
                    type="button"
                    aria-label={`Only ${name} = ${value}`}
                    title="Only this"
                    onClick={() => add('=', value)}
                  >
                    =
                  </button>{' '}
                  <button
                    type="button"
                    aria-label={`Without ${name} = ${value}`}
                    title="Without this"
                    onClick={() => add('!=', value)}
                  >
                    !=
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < values.length && (
        <button type="button" onClick={() => (isAll.value = true)}>
          Show all {countText(values.length)}
        </button>
      )}
    </details>
  );
}
