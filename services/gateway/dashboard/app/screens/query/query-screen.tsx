import './query.css';

import type { Extension } from '@codemirror/state';
import { untracked, useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { requestJson } from '../../core/http.js';
import { fragment, parameter, parameters, setParameters } from '../../core/route.js';
import { addActions } from '../../shell/actions.js';
import { pageRange, reloadCount } from '../../time/page-range.js';
import { Editor, type EditorFault, type EditorPlace } from '../../widgets/editor.js';
import { Icon } from '../../widgets/icons.js';
import { checkedFaults, checkLater, forgetCheck, formattedSql } from './check-sql.js';
import { foreignParameters } from './foreign-links.js';
import { HistoryDialog } from './history-dialog.js';
import { isLong, packed, unpacked } from './long-text.js';
import { ResultPanel } from './result-panel.js';
import { cancelRun, isReadOnly, isRunning, outcomes, runAgain, runQueries, type QueryText } from './run.js';
import { runs } from './runs.js';
import { splitStatements, statementAt } from '../../data/statements.js';
import { TabStrip } from './tab-strip.js';
import {
  activeTab,
  addTab,
  changeTab,
  reopenTab,
  RESULT_VIEWS,
  type QueryMode,
  type QueryTab,
  type ResultView,
} from './tabs.js';

const HINTS: Readonly<Record<QueryMode, string>> = {
  sql: 'SELECT * FROM my_table ORDER BY 1 DESC LIMIT 100',
  promql: 'sum by (job) (rate(http_requests_total[5m]))',
};

/** Runs SQL and PromQL, and shows their results as tables, charts and JSON. */
export function QueryScreen() {
  const tab = activeTab.value;
  const isHistoryOpen = useSignal(false);
  const language = useLanguage(tab.mode);
  const faults = useComputed(() => checkedFaults.value ?? runFaults());
  useEffect(() => forgetCheck, [tab.id, tab.mode]);
  useEffect(() => {
    void openLink();
    return cancelRun;
  }, []);
  const lastReload = useRef(reloadCount.peek());
  useSignalEffect(() => {
    const count = reloadCount.value;
    const isSame = count === lastReload.current;
    lastReload.current = count;
    if (!isSame && outcomes.peek().length > 0) runUntracked();
  });
  const lastRange = useRef(pageRange.peek());
  useSignalEffect(() => {
    const range = pageRange.value;
    const isSame = range.from === lastRange.current.from && range.to === lastRange.current.to;
    lastRange.current = range;
    // The range of a statement is in its text.
    if (!isSame && outcomes.peek().some(({ query }) => query.mode === 'promql')) runUntracked();
  });
  useEffect(
    () =>
      addActions([
        { title: 'Run the statement', shortcut: 'Ctrl+Enter', run: runWhole },
        { title: 'Format the query', shortcut: 'Shift+Alt+F', run: () => void format() },
        { title: 'Open the history of queries', run: () => (isHistoryOpen.value = true) },
        { title: 'Open a query tab', run: () => addTab() },
        { title: 'Open the closed query tab again', run: reopenTab },
      ]),
    [],
  );
  return (
    <div class="screen query" onKeyDown={(event) => event.key === 'Escape' && isRunning.value && cancelRun()}>
      <h1 class="visually-hidden">Query</h1>
      <TabStrip />
      <Editor
        key={`${tab.id} ${tab.mode}`}
        label={
          tab.mode === 'sql' ? 'SQL. Press Escape, then Tab to leave.' : 'PromQL. Press Escape, then Tab to leave.'
        }
        text={textOf(tab)}
        onChange={(text) => {
          changeTab({ [tab.mode]: text });
          if (tab.mode === 'sql') checkLater(text);
        }}
        language={language}
        faults={faults.value}
        hint={HINTS[tab.mode]}
        keys={keysOf(tab.mode)}
      />
      <div class="row">
        {isRunning.value ? (
          <button type="button" class="run-button" onClick={cancelRun}>
            <Icon name="stop" /> Cancel
          </button>
        ) : (
          <button type="button" class="primary run-button" onClick={runWhole} disabled={textOf(tab).trim() === ''}>
            <Icon name="play" /> Run
          </button>
        )}
        <ModeSwitch mode={tab.mode} />
        {tab.mode === 'promql' && <PromqlOptions />}
        <span class="grow" />
        <button type="button" onClick={() => void format()}>
          Format
        </button>
        <button type="button" onClick={() => (isHistoryOpen.value = true)}>
          History
        </button>
      </div>
      <ResultPanel />
      <HistoryDialog
        isOpen={isHistoryOpen.value}
        onClose={() => (isHistoryOpen.value = false)}
        onChoose={({ text, mode }) => {
          isHistoryOpen.value = false;
          changeTab({ mode, [mode]: text });
        }}
      />
    </div>
  );
}

/** Runs the last queries again in an effect: what a run reads and changes, such as its outcomes, must not start another. */
function runUntracked(): void {
  untracked(() => void runAgain());
}

const PLAIN: Extension = [];

/** Faults of the last run. */
function runFaults(): readonly EditorFault[] {
  return outcomes.value.flatMap(({ error }): EditorFault[] => {
    return error?.place === undefined ? [] : [{ ...error.place, message: error.message }];
  });
}

/** Loads a language when it is first used; until then its text can be edited without colours. */
function useLanguage(mode: QueryMode): Extension {
  const loaded = useSignal(PLAIN);
  useEffect(() => {
    let isWanted = true;
    const language =
      mode === 'sql'
        ? import('./sql-language.js').then(({ sqlLanguage }) => sqlLanguage())
        : import('./promql-language.js').then(({ promqlLanguage }) => promqlLanguage());
    language.then(
      (extension) => {
        if (isWanted) loaded.value = extension;
      },
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, [mode]);
  return loaded.value;
}

function ModeSwitch({ mode }: { readonly mode: QueryMode }) {
  return (
    <fieldset class="switch">
      <legend class="visually-hidden">Language</legend>
      {(['sql', 'promql'] as const).map((name) => (
        <label key={name} class={name === mode ? 'chosen' : ''}>
          <input
            type="radio"
            name="query-mode"
            class="visually-hidden"
            checked={name === mode}
            onChange={() => changeTab({ mode: name })}
          />
          {name === 'sql' ? 'SQL' : 'PromQL'}
        </label>
      ))}
    </fieldset>
  );
}

function PromqlOptions() {
  const isInstant = parameter('instant') === '1';
  return (
    <>
      <label class="check">
        <input
          type="checkbox"
          checked={isInstant}
          onChange={({ currentTarget }) => {
            setParameters({ instant: currentTarget.checked ? '1' : undefined });
            runWhole();
          }}
        />
        Instant
      </label>
      {!isInstant && (
        <label class="row tight">
          Step
          <input
            class="step"
            placeholder="auto"
            value={parameter('step')}
            onChange={({ currentTarget }) => {
              setParameters({ step: currentTarget.value.trim() || undefined });
              runWhole();
            }}
          />
        </label>
      )}
    </>
  );
}

function textOf(tab: QueryTab): string {
  return tab.mode === 'sql' ? tab.sql : tab.promql;
}

/** Keys of the editor. PromQL is one line mostly, so Enter runs it. */
function keysOf(mode: QueryMode): NonNullable<Parameters<typeof Editor>[0]['keys']> {
  const common = [
    { key: 'Shift-Mod-Enter', run: runAll },
    { key: 'Mod-Enter', run: runAt },
    { key: 'Shift-Alt-f', run: () => format() !== undefined },
    { key: 'Mod-ArrowUp', run: (place: EditorPlace) => place.isFirstLine && walk(1) },
    { key: 'Mod-ArrowDown', run: (place: EditorPlace) => place.isLastLine && walk(-1) },
  ];
  return mode === 'sql' ? common : [...common, { key: 'Enter', run: runAll }];
}

/** Runs the selection, or the statement in which the cursor is. */
function runAt({ text, cursor, from, to }: EditorPlace): boolean {
  if (activeTab.value.mode === 'promql') return runAll();
  const statement = from === to ? statementAt(text, cursor) : { text: text.slice(from, to), from };
  if (statement !== undefined) start([{ mode: 'sql', text: statement.text, from: statement.from }]);
  return true;
}

/** Runs all statements of the tab. */
function runAll(): boolean {
  const tab = activeTab.value;
  const text = textOf(tab);
  if (text.trim() === '') return true;
  if (tab.mode === 'promql') start([{ mode: 'promql', text, from: 0 }]);
  else start(splitStatements(text).map((statement) => ({ mode: 'sql', text: statement.text, from: statement.from })));
  return true;
}

function runWhole(): void {
  runAll();
}

function start(queries: readonly QueryText[]): void {
  walked = -1;
  forgetCheck();
  void writeLink();
  void runQueries(queries);
}

/** Puts the tab into the address, so that it can be copied and reloaded. */
async function writeLink(): Promise<void> {
  const tab = activeTab.value;
  const text = textOf(tab);
  const change = { mode: tab.mode === 'sql' ? undefined : tab.mode, view: tab.view === 'table' ? undefined : tab.view };
  if (isLong(text)) setParameters({ ...change, q: undefined }, { fragment: `z=${await packed(text)}` });
  else setParameters({ ...change, q: text }, { fragment: '' });
}

/** Opens what the address says in a tab, and runs it if it only reads. */
async function openLink(): Promise<void> {
  const isReload = isReloaded();
  const foreign = foreignParameters(parameters.value);
  if (foreign !== undefined) setParameters(foreign, { replaces: true });
  const text = fragment.value.startsWith('z=') ? await unpacked(fragment.value.slice(2)) : parameter('q');
  const mode: QueryMode = parameter('mode') === 'promql' ? 'promql' : 'sql';
  const view = RESULT_VIEWS.find((name) => name === parameter('view'));
  if (text === undefined || text === '') {
    changeTab({ ...(parameter('mode') === '' ? {} : { mode }), ...(view === undefined ? {} : { view }) });
    return;
  }
  const typed = textOf(activeTab.value);
  if (isReload && typed.trim() !== '' && typed !== text) return;
  openText(mode, text, view);
  if (mode === 'promql' || splitStatements(text).every((statement) => isReadOnly({ mode, text: statement.text }))) {
    runAll();
  }
}

let isFirstLink = true;

/** Whether the page was reloaded, and shows its first link: what was typed after it was run is in the tab. */
function isReloaded(): boolean {
  const [entry] = performance.getEntriesByType('navigation');
  const isReload = isFirstLink && entry instanceof PerformanceNavigationTiming && entry.type === 'reload';
  isFirstLink = false;
  return isReload;
}

/** Opens a text in the tab that has it, in the current one if that is empty, or in a new one. */
function openText(mode: QueryMode, text: string, view: ResultView | undefined): void {
  const tab = activeTab.value;
  if (tab.mode === mode && textOf(tab) === text) return changeTab(view === undefined ? {} : { view });
  const content = { mode, [mode]: text, view: view ?? 'table' };
  if (textOf(tab).trim() === '') changeTab(content);
  else addTab(content);
}

/** Lets the server lay out a query. */
async function format(): Promise<void> {
  const tab = activeTab.value;
  if (textOf(tab).trim() === '') return;
  if (tab.mode === 'sql') {
    const sql = await formattedSql(tab.sql);
    // What was typed meanwhile stays.
    if (sql !== undefined && activeTab.value.id === tab.id && activeTab.value.sql === tab.sql) changeTab({ sql });
    return;
  }
  const path = 'v1/prometheus/api/v1/format_query';
  try {
    const { data } = await requestJson<{ readonly data: string }>(path, { form: { query: tab.promql } });
    if (activeTab.value.id === tab.id && activeTab.value.promql === tab.promql) changeTab({ promql: data });
  } catch {
    // A query that cannot be read is marked when it runs.
    runAll();
  }
}

let walked = -1;

/** Shows an older (1) or newer (-1) query of the history. */
function walk(by: 1 | -1): boolean {
  const { mode } = activeTab.value;
  const texts = runs.value.filter((run) => run.mode === mode).map(({ text }) => text);
  const next = walked + by;
  if (next < 0 || next >= texts.length) return true;
  walked = next;
  changeTab({ [mode]: texts[next] });
  return true;
}
