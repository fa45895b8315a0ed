import { useSignal } from '@preact/signals';

import { messageOf } from '../../../core/http.js';
import { counted } from '../../../format/counted.js';
import { dashboardText, isObject, parseDashboard } from '../document.js';
import { createDashboard } from '../new-dashboard-form.js';
import { fromGrafana, isGrafana, type ImportedDashboard } from './grafana.js';
import { fromPerses, isPerses } from './perses.js';

const BYTES_MAX = 4 * 1024 * 1024;

/** Reads a dashboard of Almanac, Grafana or Perses. @throws SyntaxError, or an Error that says what is wrong. */
function readAny(text: string): ImportedDashboard {
  const raw = JSON.parse(text) as unknown;
  if (!isObject(raw)) throw new Error('A dashboard is a JSON object.');
  if (raw['almanac'] === 1) return { document: parseDashboard(text), leftOut: [] };
  if (isPerses(raw)) return fromPerses(raw);
  if (isGrafana(raw)) return fromGrafana(raw);
  throw new Error('This is no dashboard of Almanac, Grafana or Perses.');
}

/** Reads a dashboard from a file or pasted text, says what of it cannot be shown, and stores it. */
export function ImportForm() {
  const text = useSignal('');
  const name = useSignal('');
  const found = useSignal<ImportedDashboard | undefined>(undefined);
  const failure = useSignal('');
  const read = (given: string): void => {
    text.value = given;
    found.value = undefined;
    failure.value = '';
    if (given.trim() === '') return;
    try {
      const read = readAny(given);
      // As it will be read again: within the limits, without variables that have no valid name.
      found.value = { ...read, document: parseDashboard(dashboardText(read.document)) };
      name.value = found.value.document.title.slice(0, 100);
    } catch (error) {
      failure.value = messageOf(error);
    }
  };
  const open = async (file: File | null | undefined): Promise<void> => {
    if (file === null || file === undefined) return;
    if (file.size > BYTES_MAX) failure.value = 'The file has more than 4 MiB.';
    else {
      try {
        read(await file.text());
      } catch (error) {
        failure.value = messageOf(error);
      }
    }
  };
  const store = async (): Promise<void> => {
    if (found.value === undefined) return;
    try {
      await createDashboard(name.value.trim(), found.value.document, false);
    } catch (error) {
      failure.value = messageOf(error);
    }
  };
  return (
    <form
      class="panel stack"
      aria-label="Import a dashboard"
      onSubmit={(event) => {
        event.preventDefault();
        void store();
      }}
    >
      <label class="row tight">
        File of Grafana, Perses or Almanac
        <input
          type="file"
          accept=".json,application/json"
          onChange={({ currentTarget }) => void open(currentTarget.files?.item(0))}
        />
      </label>
      <label>
        Or its text
        <textarea
          class="mono dashboard-text"
          rows={6}
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => read(currentTarget.value)}
        />
      </label>
      {failure.value !== '' && (
        <p class="error" role="alert">
          <bdi>{failure}</bdi>
        </p>
      )}
      {found.value !== undefined && <Found {...found.value} />}
      <div class="row">
        <label class="row tight">
          Name
          <input
            required
            maxLength={100}
            value={name}
            onInput={({ currentTarget }) => (name.value = currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary" disabled={found.value === undefined}>
          Save
        </button>
      </div>
    </form>
  );
}

function Found({ document, leftOut }: ImportedDashboard) {
  return (
    <>
      <p class="good" role="status">
        {counted(document.panels.length, 'panel')} and {counted(document.variables.length, 'variable')} can be shown.
      </p>
      {leftOut.length > 0 && (
        <details class="notice" open>
          <summary>Left out: {leftOut.length}</summary>
          <ul>
            {leftOut.map((text, i) => (
              <li key={i}>
                <bdi>{text}</bdi>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
