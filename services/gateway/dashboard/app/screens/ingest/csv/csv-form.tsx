import { useEffect } from 'preact/hooks';

import { database, quotedName } from '../../../data/sql.js';
import { linkTo } from '../../../core/route.js';
import { readSchema } from '../../../data/schema.js';
import { csvRow } from '../../../format/csv.js';
import { bytesText, countText } from '../../../format/numbers.js';
import { Grid } from '../../../widgets/grid.js';
import { fileNameOf, saveFile } from '../../../widgets/save-file.js';
import { CsvColumnList } from './csv-column-list.js';
import type { RejectedRow } from './csv-columns.js';
import { csvDraft as draft, type UploadOutcome } from './csv-draft.js';

const ENCODINGS = { 'utf-8': 'UTF-8', 'windows-1252': 'Windows 1252, Latin 1', 'utf-16le': 'UTF-16' } as const;
const DELIMITERS = { '': 'detected', ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'vertical bar' } as const;
const REJECTED_SHOWN = 20;

/** Uploads a file of values that are separated by commas, or by another character, into a new or an existing table. */
export function CsvForm() {
  const file = draft.file.value;
  useEffect(() => void readSchema(database()), [database()]);
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void draft.upload(database());
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        const [dropped] = event.dataTransfer?.files ?? [];
        if (dropped !== undefined && draft.state.value === undefined) draft.choose(dropped);
      }}
    >
      <div class="row">
        <label class="row tight">
          CSV file, chosen or dropped here
          <input
            type="file"
            disabled={draft.state.value !== undefined}
            accept=".csv,.tsv,.txt,text/csv"
            onChange={({ currentTarget: { files } }) => {
              const chosen = files?.item(0) ?? undefined;
              if (chosen !== undefined) draft.choose(chosen);
            }}
          />
        </label>
        {file !== undefined && (
          <span class="dim">
            <bdi>{file.name}</bdi>, {bytesText(file.size, 3)}
          </span>
        )}
      </div>
      {file !== undefined && <FileSettings />}
      {draft.previewError.value !== '' && (
        <p class="error" role="alert">
          <bdi>{draft.previewError}</bdi>
        </p>
      )}
      {file !== undefined && draft.preview.value !== undefined && <FileColumns />}
      {draft.outcome.value !== undefined && <Outcome {...draft.outcome.value} />}
    </form>
  );
}

function FileSettings() {
  const { encoding, delimiter, hasNames, preview } = draft;
  const found =
    preview.value === undefined ? '' : (DELIMITERS[preview.value.delimiter as ','] ?? preview.value.delimiter);
  return (
    <div class="row">
      <label class="row tight">
        Values are separated by
        <select value={delimiter} onChange={({ currentTarget }) => (delimiter.value = currentTarget.value)}>
          {Object.entries(DELIMITERS).map(([value, title]) => (
            <option key={value} value={value}>
              {value === '' && found !== '' ? `${title}: ${found}` : title}
            </option>
          ))}
        </select>
      </label>
      <label class="row tight">
        Encoding
        <select value={encoding} onChange={({ currentTarget }) => (encoding.value = currentTarget.value)}>
          {Object.entries(ENCODINGS).map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <label class="row tight">
        <input
          type="checkbox"
          checked={hasNames.value}
          onChange={({ currentTarget }) => (hasNames.value = currentTarget.checked)}
        />
        The first row has the names
      </label>
    </div>
  );
}

function FileColumns() {
  const { table, columns, rows, existing, problem, definition, state, file } = draft;
  const progress = state.value;
  const isRunning = progress !== undefined;
  const shown = rows.value;
  return (
    <>
      <section class="csv-preview" aria-label="First rows">
        <Grid
          label="First rows of the file"
          columns={columns.value.map(({ header, place }) => ({
            name: header || `column ${place + 1}`,
            isNumber: false,
          }))}
          rowCount={shown.length}
          cell={(column, row) => ({ text: shown[row]?.[column] ?? '' })}
        />
      </section>
      <label class="row tight">
        Table
        <input required value={table} onInput={({ currentTarget }) => (table.value = currentTarget.value)} />
        <span class="dim">
          {existing.value === undefined ? 'It is made for the file.' : 'Rows are added to the table that exists.'}
        </span>
      </label>
      <CsvColumnList />
      {existing.value === undefined && (
        <label class="check">
          <input
            type="checkbox"
            checked={draft.keepsAll}
            onChange={({ currentTarget }) => (draft.wantsAll.value = currentTarget.checked)}
          />
          Keep all rows that have the same tags and time; otherwise the last of them is kept
        </label>
      )}
      {existing.value === undefined && problem.value === '' && (
        <pre class="panel" aria-label="Definition of the table" tabIndex={0}>
          {definition}
        </pre>
      )}
      {problem.value !== '' && <p class="notice">{problem}</p>}
      <div class="row">
        {progress !== undefined && (
          <>
            <progress
              aria-label="Part of the file that was read"
              max={file.value?.size ?? 1}
              value={progress.readBytes}
            />
            <span role="status">
              {countText(progress.storedRows)} rows stored, {countText(progress.rejectedRows)} rejected
            </span>
            <button type="button" onClick={() => draft.stop()}>
              Stop
            </button>
          </>
        )}
        <span class="grow" />
        <button type="submit" class="primary" disabled={isRunning || problem.value !== ''}>
          Upload
        </button>
      </div>
    </>
  );
}

function Outcome({ storedRows, rejectedRows, rejected, error, isStopped }: UploadOutcome) {
  const table = draft.table.value.trim();
  return (
    <div class="stack">
      {error !== '' && (
        <p class="error" role="alert">
          <bdi>{error}</bdi>
        </p>
      )}
      <p class={error === '' && !isStopped ? 'good' : 'notice'} role="status">
        {isStopped && 'Stopped. '}
        {countText(storedRows)} {storedRows === 1 ? 'row was' : 'rows were'} stored.{' '}
        {storedRows > 0 && (
          <>
            <a href={linkTo('tables', { t: table })}>See the table</a>{' '}
            <a href={linkTo('query', { q: `SELECT * FROM ${quotedName(table)} LIMIT 1000` })}>Open in Query</a>
          </>
        )}
      </p>
      {rejectedRows > 0 && (
        <div class="error" role="alert">
          <p>
            {countText(rejectedRows)} {rejectedRows === 1 ? 'row was' : 'rows were'} rejected.{' '}
            <button type="button" onClick={() => saveRejected(table, rejected)}>
              Download {rejected.length < rejectedRows ? `the first ${countText(rejected.length)}` : 'them'}
            </button>
          </p>
          <ul>
            {rejected.slice(0, REJECTED_SHOWN).map(({ row, reason }) => (
              <li key={row}>
                row {row}: <bdi>{reason}</bdi>
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

function saveRejected(table: string, rejected: readonly RejectedRow[]): void {
  const names = draft.names.value ?? [];
  const lines = [
    ['row', 'reason', ...names],
    ...rejected.map(({ row, reason, cells }) => [String(row), reason, ...cells]),
  ];
  const text = lines.map(csvRow).join('\r\n');
  saveFile(`${fileNameOf(table)}-rejected.csv`, new Blob([text, '\r\n'], { type: 'text/csv' }));
}
