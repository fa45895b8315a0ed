import './logs.css';

import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';

import { linkTo, parameter, setParameters } from '../../core/route.js';
import { SERVER_URL } from '../../core/origin.js';
import { database } from '../../data/sql.js';
import { counted } from '../../format/counted.js';
import { countText } from '../../format/numbers.js';
import { addActions } from '../../shell/actions.js';
import { civilOf, civilText } from '../../time/civil.js';
import { setRange } from '../../time/page-range.js';
import { zone } from '../../time/zones.js';
import { Icon } from '../../widgets/icons.js';
import { lazyComponent } from '../../widgets/lazy.js';
import { fileNameOf, saveFile } from '../../widgets/save-file.js';
import { ContextView } from './context-view.js';
import { Facets } from './facets.js';
import { HistogramChart } from './histogram-chart.js';
import { lineJson } from './line-details.js';
import { LinesView } from './lines-view.js';
import { LiveView } from './tail/live-view.js';
import { linesSql } from './search/log-sql.js';
import type { LogTable } from './search/log-table.js';
import { LogsModel, type FoundLines } from './logs-model.js';
import { FailureNote, SearchBar } from './search-bar.js';
import * as state from './logs-state.js';
import { TableView } from './table-view.js';
import { isTracePattern, tracePattern } from './trace-link.js';
import { withCondition } from './search/search.js';

const LazyPatterns = lazyComponent(async () => (await import('./patterns/patterns-view.js')).PatternsView);

/** Searches lines of logs, and follows them as they are written. */
export function LogsScreen() {
  const model = useMemo(() => new LogsModel(), []);
  useEffect(() => {
    model.start();
    const removeActions = addActions([
      {
        title: 'Follow new lines, or stop it',
        run: () => setParameters({ live: state.isLive.value ? undefined : '1' }),
      },
      { title: 'Break long lines, or not', run: () => (state.isWrapped.value = !state.isWrapped.value) },
      { title: 'Stop the search', shortcut: 'Esc', run: () => model.cancel() },
    ]);
    const onKey = ({ key }: KeyboardEvent): void => {
      if (key === 'Escape' && document.querySelector('dialog[open]') === null) model.cancel();
    };
    addEventListener('keydown', onKey);
    return () => {
      removeEventListener('keydown', onKey);
      removeActions();
      model.stop();
    };
  }, []);
  const table = model.table.value;
  return (
    <div class="screen logs">
      <h1 class="visually-hidden">Logs</h1>
      <SearchBar model={model} />
      {model.tablesFailure.value !== '' && (
        <p class="error" role="alert">
          {model.tablesFailure}
        </p>
      )}
      {table === undefined ? <NoTable model={model} /> : <Results model={model} table={table} />}
    </div>
  );
}

function Results({ model, table }: { readonly model: LogsModel; readonly table: LogTable }) {
  if (state.context.value !== undefined) {
    return <ContextView key={parameter('at')} context={state.context.value} table={table} />;
  }
  if (state.isLive.value) {
    return (
      <>
        <ViewBar model={model} />
        <LiveView table={table} text={state.searchText.value} />
      </>
    );
  }
  return (
    <>
      <Counts model={model} table={table} />
      <ViewBar model={model} />
      {model.failure.value !== undefined && <FailureNote failure={model.failure.value} />}
      <div class={state.hasFacets.value ? 'logs-body with-facets' : 'logs-body'}>
        {state.hasFacets.value && model.selection.value !== undefined && (
          <Facets selection={model.selection.value} lines={model.found.value?.lines ?? []} />
        )}
        <FoundOrEmpty model={model} table={table} />
      </div>
    </>
  );
}

/** Whether what is shown is the result of the search before. */
function isOld(model: LogsModel): boolean {
  return model.isLoading.value || model.failure.value !== undefined;
}

function Counts({ model, table }: { readonly model: LogsModel; readonly table: LogTable }) {
  const histogram = model.histogram.value;
  return (
    <>
      {model.histogramFailure.value !== '' && (
        <p class="error" role="alert">
          Lines could not be counted: {model.histogramFailure}
        </p>
      )}
      {histogram !== undefined && (
        <HistogramChart
          histogram={histogram}
          isStale={isOld(model)}
          onLevel={(level) => {
            state.searchFor(withCondition(state.searchText.value, table.levelColumn ?? 'level', '=', level));
          }}
        />
      )}
    </>
  );
}

function FoundOrEmpty({ model, table }: { readonly model: LogsModel; readonly table: LogTable }) {
  const found = model.found.value;
  const hasFailed = model.failure.value !== undefined;
  return (
    <div class={isOld(model) ? 'logs-lines stale' : 'logs-lines'}>
      {found !== undefined && found.lines.length > 0 && <Found found={found} model={model} />}
      {found?.lines.length === 0 && !model.isLoading.value && !hasFailed && (
        <NoLines table={table} newestMs={model.newestMs.value} />
      )}
      {found === undefined && !hasFailed && <p class="loading">Loading…</p>}
    </div>
  );
}

function Found({ found, model }: { readonly found: FoundLines; readonly model: LogsModel }) {
  const { lines, selection, limit } = found;
  const isCut = lines.length >= limit;
  const total = model.histogram.value?.total;
  const topKey = JSON.stringify([selection.table.name, state.searchText.value, state.isAscending.value]);
  return (
    <>
      {state.view.value === 'table' && <TableView lines={lines} table={selection.table} />}
      {state.view.value === 'patterns' && <LazyPatterns lines={lines} table={selection.table} />}
      {!SETTLED_VIEWS.includes(state.view.value) && (
        <LinesView
          lines={lines}
          table={selection.table}
          search={selection.search}
          isJson={state.view.value === 'json'}
          topKey={topKey}
        />
      )}
      <div class="row logs-foot">
        <span role="status">
          {isCut && total !== undefined && total > lines.length
            ? `${countText(lines.length)} of ${countText(total)} lines`
            : counted(lines.length, 'line')}
        </span>
        {isCut && limit < state.LINES_MAX && (
          <button
            type="button"
            onClick={() => setParameters({ limit: String(Math.min(state.LINES_MAX, limit + state.LINES_STEP)) })}
          >
            Load more
          </button>
        )}
        {isCut && limit >= state.LINES_MAX && <span class="dim">Search for less to see the other lines.</span>}
      </div>
    </>
  );
}

const VIEW_NAMES: Readonly<Record<state.LogsView, string>> = {
  lines: 'Lines',
  table: 'Table',
  json: 'JSON',
  patterns: 'Patterns',
};
/** Views that new lines do not appear in as they are written. */
const SETTLED_VIEWS: readonly state.LogsView[] = ['table', 'patterns'];

function ViewBar({ model }: { readonly model: LogsModel }) {
  const selection = model.selection.value;
  const lines = model.found.value;
  const sql = selection === undefined ? '' : linesSql(selection, state.isAscending.value, state.lineLimit.value);
  return (
    <div class="row view-bar">
      <div class="row tight" role="group" aria-label="View">
        {(Object.keys(VIEW_NAMES) as state.LogsView[]).map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={state.view.value === name}
            disabled={SETTLED_VIEWS.includes(name) && state.isLive.value}
            onClick={() => setParameters({ view: name === 'lines' ? undefined : name })}
          >
            {VIEW_NAMES[name]}
          </button>
        ))}
      </div>
      {!state.isLive.value && (
        <button
          type="button"
          title="Order of the lines"
          onClick={() => setParameters({ order: state.isAscending.value ? undefined : 'asc' })}
        >
          {state.isAscending.value ? 'Oldest first' : 'Newest first'}
        </button>
      )}
      <Switch label="Wrap" value={state.isWrapped} />
      <Switch label="Join repeats" value={state.joinsRepeats} />
      {!state.isLive.value && <Switch label="Fields" value={state.hasFacets} />}
      <span class="grow" />
      {model.isLoading.value && (
        <>
          <Elapsed />
          <button type="button" onClick={() => model.cancel()}>
            <Icon name="stop" /> Cancel
          </button>
        </>
      )}
      <TracePattern />
      {sql !== '' && !state.isLive.value && <a href={linkTo('query', { q: sql })}>Open in Query</a>}
      {lines !== undefined && lines.lines.length > 0 && !state.isLive.value && (
        <button type="button" onClick={() => download(lines)}>
          <Icon name="download" /> Download
        </button>
      )}
    </div>
  );
}

/** The time since a search began, once it is longer than a second. */
function Elapsed() {
  const seconds = useSignal(0);
  useEffect(() => {
    const startMs = performance.now();
    const timer = setInterval(() => (seconds.value = (performance.now() - startMs) / 1000), 200);
    return () => clearInterval(timer);
  }, []);
  return <span class="dim">{seconds.value < 1 ? '' : `${seconds.value.toFixed(1)} s`}</span>;
}

function Switch({ label, value }: { readonly label: string; readonly value: { value: boolean } }) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={value.value}
        onChange={({ currentTarget }) => (value.value = currentTarget.checked)}
      />
      {label}
    </label>
  );
}

/** The pattern that finds IDs of traces in lines of tables without a column for them. */
function TracePattern() {
  const isOpen = useSignal(false);
  const text = useSignal(tracePattern.value);
  if (!isOpen.value) {
    return (
      <button type="button" class="plain" onClick={() => (isOpen.value = true)}>
        Trace IDs
      </button>
    );
  }
  const isValid = isTracePattern(text.value);
  return (
    <span class="row tight">
      <input
        class="mono"
        aria-label="Regular expression whose first group is the ID of a trace"
        aria-invalid={!isValid}
        value={text}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          if (isTracePattern(text.value)) tracePattern.value = text.value;
        }}
      />
      {!isValid && <span class="bad">no regular expression</span>}
      <button type="button" class="icon-button" aria-label="Close" onClick={() => (isOpen.value = false)}>
        <Icon name="close" />
      </button>
    </span>
  );
}

function download({ lines, selection: { table } }: FoundLines): void {
  const texts = lines.map((line) => `${lineJson(line, table)}\n`);
  saveFile(`${fileNameOf(table.name)}.ndjson`, new Blob(texts, { type: 'application/x-ndjson' }));
}

function NoLines({ table, newestMs }: { readonly table: LogTable; readonly newestMs: number | undefined }) {
  const showNewest = (ms: number): void => setRange({ fromMs: ms - 3_600_000, toMs: ms + 1000 });
  return (
    <div class="empty">
      <p>No line of {table.name} in this time range has been found.</p>
      {newestMs === undefined ? (
        <p>The table has no lines.</p>
      ) : (
        <p>
          Its newest line is of {civilText(civilOf(Math.floor(newestMs), zone.value), 3)}.{' '}
          <button type="button" onClick={() => showNewest(newestMs)}>
            Show the hour before it
          </button>
        </p>
      )}
    </div>
  );
}

function NoTable({ model }: { readonly model: LogsModel }) {
  if (model.tablesFailure.value !== '') return null;
  if (model.tables.value === undefined) return <p class="loading">Loading…</p>;
  const name = state.tableName.value;
  if (name !== '') {
    return (
      <div class="empty">
        <p>
          The database {database()} has no table <code>{name}</code> with lines of text: choose another one above.
        </p>
      </div>
    );
  }
  const push =
    `curl ${SERVER_URL}/v1/loki/api/v1/push?db=${encodeURIComponent(database())} -H 'Content-Type: application/json' \\\n` +
    `  -d '{"streams":[{"stream":{"app":"shop"},"values":[["'$(date +%s)000000000'","level=info msg=\\"hello\\""]]}]}'`;
  return (
    <div class="empty">
      <h2>There are no logs yet</h2>
      <p>Send some by Loki push, OTLP, Splunk events or a pipeline; for example with curl:</p>
      <pre tabIndex={0}>{push}</pre>
      <p>Then load this page again (r).</p>
    </div>
  );
}
