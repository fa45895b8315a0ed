import { useSignal } from '@preact/signals';

import { linkTo, parameter, setParameters } from '../../core/route.js';
import { queryInstant, type PromResult } from '../../data/promql.js';
import { database } from '../../data/sql.js';
import { useLoaded } from '../../data/use-loaded.js';
import { countText } from '../../format/numbers.js';
import { pageRange, rangeNow, reloadCount } from '../../time/page-range.js';
import { zone } from '../../time/zones.js';
import { instantText } from '../../time/instant-text.js';
import { FailureText } from '../../widgets/failure-text.js';
import { comparedCounts } from './label-counts.js';
import { ShareBar } from './share-bar.js';

const DAY_MS = 86_400_000;
const ROWS = 20;

/** The series with samples at the end of the range, by metric, compared with the day before; for a selector or all. */
export function ActiveSeries() {
  const selector = parameter('sel');
  return (
    <section class="panel stack" aria-label="Active series by metric">
      <h2>Active series by metric</h2>
      <SelectorForm key={selector} />
      {selector !== '' && <ActiveTable selector={selector} />}
    </section>
  );
}

function SelectorForm() {
  const text = useSignal(parameter('sel'));
  const submit = (event: Event): void => {
    event.preventDefault();
    const selector = text.value.trim();
    setParameters({ sel: selector === '' ? ALL : selector });
  };
  return (
    <form class="row tight" onSubmit={submit} aria-label="Count active series">
      <input
        class="mono"
        aria-label="Selector"
        placeholder='{job="node"}'
        value={text}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
      />
      <button type="submit">Count</button>
    </form>
  );
}

/** Matches every series. */
const ALL = '{__name__!=""}';

function ActiveTable({ selector }: { readonly selector: string }) {
  const { from, to } = pageRange.value;
  const { value, failure, isLoading } = useLoaded(
    async (signal) => {
      const timeMs = rangeNow().toMs;
      const count = (ms: number): Promise<PromResult> =>
        queryInstant(`count by (__name__) (${selector})`, ms, { signal });
      const [now, before] = await Promise.all([count(timeMs), count(timeMs - DAY_MS)]);
      return { timeMs, rows: comparedCounts(countsOf(now), countsOf(before)) };
    },
    [selector, from, to, reloadCount.value, database()],
  );
  if (value === undefined) {
    return failure === '' ? <p class="loading">Loading…</p> : <FailureText text={failure} />;
  }
  const total = value.rows.reduce((sum, { count }) => sum + count, 0);
  return (
    <>
      <FailureText text={failure} />
      <p class={isLoading ? 'dim' : ''}>
        <b class="figure">{countText(total)}</b> series at {instantText(value.timeMs, zone.value)}
      </p>
      <div class="table-box" role="region" aria-label="Table of active series" tabIndex={0}>
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">name</th>
              <th scope="col" class="number">
                series
              </th>
              <th scope="col" class="number">
                since 24 h
              </th>
              <th scope="col">share</th>
            </tr>
          </thead>
          <tbody>
            {value.rows.slice(0, ROWS).map(({ name, count, before }) => (
              <tr key={name}>
                <td class="wrap">
                  <a href={linkTo('metrics', { m: name })}>{name}</a>
                </td>
                <td class="number">{countText(count)}</td>
                <td class="number">{changeText(count - before)}</td>
                <td>
                  <ShareBar share={total === 0 ? 0 : count / total} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {value.rows.length > ROWS && <p class="dim">{countText(value.rows.length - ROWS)} more metrics</p>}
    </>
  );
}

function countsOf({ series }: PromResult): ReadonlyMap<string, number> {
  return new Map(series.map(({ labels, values }) => [labels['__name__'] ?? '', values[0] ?? 0]));
}

function changeText(change: number): string {
  return change === 0 ? '0' : `${change > 0 ? '+' : '-'}${countText(Math.abs(change))}`;
}
