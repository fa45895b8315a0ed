import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { setParameters } from '../../core/route.js';
import { counted } from '../../format/counted.js';
import { countText, secondsText } from '../../format/numbers.js';
import { CopyButton } from '../../widgets/copy-button.js';
import { lazyComponent } from '../../widgets/lazy.js';
import { ResultJson } from './result-json.js';
import { ResultTable, SeriesTable } from './result-table.js';
import { RunProgress } from './run-progress.js';
import { isRunning, outcomes, ROWS_MAX, runAgain, type QueryError, type QueryOutcome } from './run.js';
import { activeTab, changeTab, RESULT_VIEWS, type ResultView } from './tabs.js';

const LazyChart = lazyComponent(async () => (await import('./result-chart.js')).ResultChart);
const LazyPlan = lazyComponent(async () => (await import('./plan/plan-view.js')).PlanView);
const LazyPromqlPlan = lazyComponent(async () => (await import('./plan/promql-plan.js')).PromqlPlan);

const TITLES: Readonly<Record<ResultView, string>> = { table: 'Table', chart: 'Chart', json: 'JSON', plan: 'Plan' };

/** The results of the last run: one strip for each statement, and the result of the chosen one. */
export function ResultPanel() {
  const all = outcomes.value;
  const chosen = useSignal(0);
  useSignalEffect(() => {
    // The newest result is the one that is waited for.
    chosen.value = Math.max(0, outcomes.value.length - 1);
  });
  const outcome = all[Math.min(chosen.value, all.length - 1)];
  if (outcome === undefined) return <EmptyResult />;
  return (
    <section class="result" aria-label="Result">
      {all.length > 1 && (
        <div class="tabs" role="tablist" aria-label="Statements">
          {all.map(({ query, state }, i) => (
            <button
              key={i}
              type="button"
              role="tab"
              aria-selected={i === chosen.value}
              title={query.text}
              onClick={() => (chosen.value = i)}
            >
              {i + 1}{' '}
              <span class={state === 'failed' ? 'bad' : 'good'}>
                {state === 'failed' ? '✗' : state === 'done' ? '✓' : '…'}
              </span>
            </button>
          ))}
        </div>
      )}
      <div class="row">
        <ViewTabs />
        <span class="grow" />
        <Status outcome={outcome} />
        {outcome.state === 'running' && <RunningTime key={outcome.queryId} startedMs={outcome.startedMs} />}
      </div>
      {outcome.state === 'running' && <RunProgress key={outcome.queryId} {...outcome} />}
      {outcome.error !== undefined && <Failure error={outcome.error} />}
      {outcome.kind === 'series' && <Remarks {...outcome.result} />}
      <div class={outcome.isStale === true ? 'result-view stale' : 'result-view'} aria-busy={outcome.isStale === true}>
        <ResultView outcome={outcome} view={activeTab.value.view} />
      </div>
    </section>
  );
}

function ViewTabs() {
  const { view } = activeTab.value;
  const choose = (name: ResultView): void => {
    changeTab({ view: name });
    setParameters({ view: name === 'table' ? undefined : name });
  };
  return (
    <div class="tabs" role="tablist" aria-label="View">
      {RESULT_VIEWS.map((name) => (
        <button key={name} type="button" role="tab" aria-selected={name === view} onClick={() => choose(name)}>
          {TITLES[name]}
        </button>
      ))}
    </div>
  );
}

function ResultView({ outcome, view }: { readonly outcome: QueryOutcome; readonly view: ResultView }) {
  if (view === 'plan' && outcome.query.mode === 'sql') return <LazyPlan statement={outcome.query.text} />;
  if (outcome.kind === 'none') return null;
  if (outcome.kind === 'command') {
    const { affectedRows } = outcome;
    return (
      <p class="notice-good">{affectedRows === undefined ? 'Done.' : `${counted(affectedRows, 'row')} affected.`}</p>
    );
  }
  if (view === 'plan' && outcome.kind === 'series') {
    const { query, range, stepSeconds } = outcome;
    return <LazyPromqlPlan query={query.text} range={range} stepSeconds={stepSeconds} />;
  }
  if (view === 'json') return <ResultJson outcome={outcome} />;
  if (view === 'chart') return <LazyChart outcome={outcome} />;
  return outcome.kind === 'rows' ? <ResultTable outcome={outcome} /> : <SeriesTable outcome={outcome} />;
}

/** The seconds since a query began, from the first one on. It is no status, which would be read aloud every second. */
function RunningTime({ startedMs }: { readonly startedMs: number }) {
  const seconds = useSignal(0);
  useEffect(() => {
    const timer = setInterval(() => (seconds.value = Math.floor((Date.now() - startedMs) / 1000)), 200);
    return () => clearInterval(timer);
  }, [startedMs]);
  return seconds.value < 1 ? null : <span class="dim">Running for {countText(seconds.value)} s</span>;
}

/** What the result is, how long it took, and how many rows it has so far. */
function Status({ outcome }: { readonly outcome: QueryOutcome }) {
  const isActive = outcome.state === 'running';
  const took = secondsText(outcome.tookMs / 1000, 3);
  const size = outcome.isStale === true ? '' : sizeOf(outcome);
  const isCut = outcome.kind === 'rows' && outcome.rowCount >= ROWS_MAX;
  return (
    <span role="status" class={isActive ? 'dim' : ''}>
      {outcome.state === 'cancelled' ? `Cancelled after ${took}. ` : ''}
      {size}
      {outcome.state === 'done' && size !== '' ? ` in ${took}` : ''}
      {isCut ? '. More rows are not shown: add LIMIT or a condition.' : ''}
    </span>
  );
}

function sizeOf(outcome: QueryOutcome): string {
  if (outcome.kind === 'rows') {
    return outcome.state === 'done' ? counted(outcome.rowCount, 'row') : `${countText(outcome.rowCount)} of ? rows`;
  }
  if (outcome.kind === 'series') {
    const { series } = outcome.result;
    const points = series.reduce((sum, { values }) => sum + values.length, 0);
    return `${countText(series.length)} series, ${counted(points, 'sample')}`;
  }
  return outcome.kind === 'command' ? 'Done' : '';
}

function Failure({ error }: { readonly error: QueryError }) {
  const { message, code, queryId, retryAfterSeconds, waitsForServer } = error;
  const details = [code === undefined ? '' : `code ${code}`, queryId === undefined ? '' : `query ${queryId}`].filter(
    Boolean,
  );
  const shown = useRef<HTMLParagraphElement>(null);
  return (
    <div class="error" role="alert">
      <p ref={shown}>
        <bdi>{message}</bdi>
      </p>
      {details.length > 0 && <p class="dim-on-error">{details.join(' · ')}</p>}
      <div class="row">
        <CopyButton text={[message, ...details].join('\n')} shownIn={shown}>
          Copy details
        </CopyButton>
        {retryAfterSeconds !== undefined && <Retry seconds={retryAfterSeconds} />}
        {waitsForServer && <span>It runs again when the server is back.</span>}
      </div>
    </div>
  );
}

/** Counts down to the time that the server named, and repeats the query once. */
function Retry({ seconds }: { readonly seconds: number }) {
  const left = useSignal(Math.max(1, Math.ceil(seconds)));
  useEffect(() => {
    const timer = setInterval(() => {
      left.value--;
      if (left.value > 0) return;
      clearInterval(timer);
      if (!isRunning.value) void runAgain(true);
    }, 1000);
    return () => clearInterval(timer);
  }, []);
  return <span>Repeated in {left.value} s</span>;
}

function Remarks({ warnings, infos }: { readonly warnings: readonly string[]; readonly infos: readonly string[] }) {
  const all = [...warnings, ...infos];
  if (all.length === 0) return null;
  return (
    <details class="notice" open={warnings.length > 0}>
      <summary>
        {warnings.length} warnings, {infos.length} remarks
      </summary>
      <ul>
        {all.map((text) => (
          <li key={text}>
            <bdi>{text}</bdi>
          </li>
        ))}
      </ul>
    </details>
  );
}

function EmptyResult() {
  return (
    <div class="empty">
      <p>
        Write a statement and press <kbd>Ctrl+Enter</kbd>. <kbd>Ctrl+Space</kbd> completes tables, columns and metrics.
      </p>
    </div>
  );
}
