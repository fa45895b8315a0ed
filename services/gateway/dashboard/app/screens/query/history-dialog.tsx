import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { messageOf } from '../../core/http.js';
import { countText, secondsText } from '../../format/numbers.js';
import { civilOf, civilText } from '../../time/civil.js';
import { zone } from '../../time/zones.js';
import { saveFile } from '../../widgets/save-file.js';
import { Icon } from '../../widgets/icons.js';
import { clearRuns, importRuns, runs, toggleFavourite, type QueryRun } from './runs.js';

interface HistoryProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onChoose: (run: QueryRun) => void;
}

const SHOWN_MAX = 100;

/** The queries that were run in this browser, to be searched, starred, exported and opened again. */
export function HistoryDialog({ isOpen, onClose, onChoose }: HistoryProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const words = useSignal('');
  const hasOnlyStars = useSignal(false);
  const fault = useSignal('');
  const found = useComputed(() => {
    const wanted = words.value.toLowerCase();
    return runs.value
      .filter((run) => (!hasOnlyStars.value || run.isFavourite) && run.text.toLowerCase().includes(wanted))
      .slice(0, SHOWN_MAX);
  });
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  const load = (file: File | undefined): void => {
    if (file === undefined) return;
    file
      .text()
      .then(importRuns)
      .then(
        () => (fault.value = ''),
        (error: unknown) => (fault.value = messageOf(error)),
      );
  };
  return (
    <dialog ref={dialog} class="history" aria-labelledby="history-title" onClose={() => isOpen && onClose()}>
      {isOpen && (
        <div class="stack">
          <h2 id="history-title">History</h2>
          <div class="row">
            <input
              type="search"
              class="grow"
              aria-label="Search the history"
              placeholder="Search"
              value={words}
              onInput={({ currentTarget }) => (words.value = currentTarget.value)}
            />
            <label class="check">
              <input
                type="checkbox"
                checked={hasOnlyStars}
                onChange={({ currentTarget }) => (hasOnlyStars.value = currentTarget.checked)}
              />
              Starred
            </label>
          </div>
          {found.value.length === 0 && <p class="dim">No query of this browser matches.</p>}
          <ul class="history-list" aria-label="Queries">
            {found.value.map((run) => (
              <RunItem key={run.mode + run.text} run={run} onChoose={onChoose} />
            ))}
          </ul>
          {fault.value !== '' && (
            <p class="error" role="alert">
              {fault}
            </p>
          )}
          <div class="row">
            <button
              type="button"
              onClick={() =>
                saveFile(
                  'almanac-queries.json',
                  new Blob([JSON.stringify(runs.value, null, 2)], { type: 'application/json' }),
                )
              }
            >
              Export
            </button>
            <label class="button">
              Import
              <input
                type="file"
                class="visually-hidden"
                accept=".json,application/json"
                onChange={({ currentTarget }) => load(currentTarget.files?.[0])}
              />
            </label>
            <button type="button" onClick={clearRuns}>
              Remove all without a star
            </button>
            <span class="grow" />
            <button type="button" onClick={onClose}>
              Close
            </button>
          </div>
        </div>
      )}
    </dialog>
  );
}

function RunItem({ run, onChoose }: { readonly run: QueryRun; readonly onChoose: (run: QueryRun) => void }) {
  const { text, mode, atMs, tookMs, rowCount, error, isFavourite } = run;
  return (
    <li>
      <button
        type="button"
        class="icon-button"
        aria-pressed={isFavourite}
        aria-label={isFavourite ? 'Remove the star' : 'Add a star'}
        onClick={() => toggleFavourite(run)}
      >
        <Icon name="star" />
      </button>
      <button type="button" class="plain history-text" onClick={() => onChoose(run)}>
        <code>
          <bdi>{text.length > 300 ? `${text.slice(0, 300)}…` : text}</bdi>
        </code>
        <span class="dim">
          {mode === 'sql' ? 'SQL' : 'PromQL'} · {civilText(civilOf(atMs, zone.value))} ·{' '}
          {error === '' ? `${countText(rowCount)} ${mode === 'sql' ? 'rows' : 'series'}` : 'failed'} in{' '}
          {secondsText(tookMs / 1000, 3)}
        </span>
      </button>
    </li>
  );
}
