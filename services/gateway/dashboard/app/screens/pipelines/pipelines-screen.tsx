import './pipelines.css';

import { yaml } from '@codemirror/lang-yaml';
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';

import { isAbort, messageOf } from '../../core/http.js';
import { useLoaded } from '../../data/use-loaded.js';
import { linkTo, parameter, setParameters } from '../../core/route.js';
import { storedSignal } from '../../core/stored.js';
import { reload, reloadCount } from '../../time/page-range.js';
import { database } from '../../data/sql.js';
import { mayWrite } from '../../shell/available.js';
import { Editor } from '../../widgets/editor.js';
import { DryRunResult } from './dry-run-result.js';
import { listPipelines, readPipeline, storePipeline } from './pipeline-api.js';
import { VersionList } from './version-list.js';

/** What was typed and not stored yet. */
interface Draft {
  readonly pipeline: string;
  readonly sample: string;
}

const isDraft = (value: unknown): value is Draft => {
  const { pipeline, sample } = (value ?? {}) as Partial<Draft>;
  return typeof pipeline === 'string' && typeof sample === 'string';
};
const FIRST_DRAFT: Draft = {
  pipeline: `processors:
  - dissect: {field: message, pattern: "%{level} %{service} %{text}"}
transform:
  - {field: level, type: string, tag: true}
  - {field: service, type: string, tag: true}
  - {field: text, type: string}
`,
  sample: 'info shop started in 12 ms\nwarn cart nothing in stock\n',
};
const draft = storedSignal('pipeline-draft', FIRST_DRAFT, isDraft);

/** The pipeline whose latest version was stored from the editor. */
let storedName = '';

/** Writes pipelines beside samples and what becomes of them. */
export function PipelinesScreen() {
  const name = parameter('name');
  const version = parameter('version') || undefined;
  const language = useMemo(() => yaml(), []);
  const pipelines = useLoaded((signal) => listPipelines(signal), [reloadCount.value]);
  const failure = useSignal('');
  useEffect(() => {
    // The text that was just stored is in the editor, where more may have been typed meanwhile.
    if (name === '' || (name === storedName && version === undefined)) return;
    storedName = '';
    const abort = new AbortController();
    readPipeline(name, version, abort.signal).then(
      (pipeline) => {
        failure.value = '';
        draft.value = { ...draft.peek(), pipeline };
      },
      (error: unknown) => {
        if (!isAbort(error)) failure.value = messageOf(error);
      },
    );
    return () => abort.abort();
  }, [name, version]);
  return (
    <div class="screen pipelines">
      <div class="row">
        <h1>Pipelines</h1>
        <label class="row tight">
          <span class="visually-hidden">Stored pipeline</span>
          <select
            value={name}
            onChange={({ currentTarget }) =>
              setParameters({ name: currentTarget.value || undefined, version: undefined })
            }
          >
            <option value="">New pipeline</option>
            {(pipelines.value ?? []).map((pipeline) => (
              <option key={pipeline.name} value={pipeline.name}>
                {pipeline.name}
              </option>
            ))}
          </select>
        </label>
        <span class="grow" />
        {mayWrite(database()) && <SaveForm />}
      </div>
      {[pipelines.failure, failure.value].filter(Boolean).map((error) => (
        <p key={error} class="error" role="alert">
          {error}
        </p>
      ))}
      <div class="pipelines-panes">
        <section class="stack" aria-label="Pipeline">
          <h2>Pipeline</h2>
          <Editor
            label="Pipeline in YAML. Press Escape, then Tab to leave."
            text={draft.value.pipeline}
            onChange={(pipeline) => (draft.value = { ...draft.value, pipeline })}
            language={language}
          />
        </section>
        <section class="stack" aria-label="Samples">
          <h2>Samples</h2>
          <textarea
            class="mono"
            aria-label="Samples: up to ten lines of text, or JSON"
            rows={12}
            value={draft.value.sample}
            onInput={({ currentTarget }) => (draft.value = { ...draft.value, sample: currentTarget.value })}
          />
        </section>
        <section class="stack" aria-label="Result">
          <h2>Result</h2>
          <DryRunResult pipeline={draft.value.pipeline} sample={draft.value.sample} />
        </section>
      </div>
      {name !== '' && <VersionList name={name} current={version} text={draft.value.pipeline} />}
      <p class="dim">
        A pipeline turns lines and JSON into typed columns. Send data through it at <code>/v1/ingest</code>, or on the
        screen <a href={linkTo('ingest', { kind: 'items' })}>Ingest</a>.
      </p>
    </div>
  );
}

/** Stores the text of the editor as a new version. */
function SaveForm() {
  const name = useSignal(parameter('name'));
  const state = useSignal<{ readonly text: string; readonly isError: boolean } | undefined>(undefined);
  const chosen = parameter('name');
  useEffect(() => {
    if (chosen !== '') name.value = chosen;
  }, [chosen]);
  const save = async (): Promise<void> => {
    try {
      const { version, warnings } = await storePipeline(name.value.trim(), draft.value.pipeline);
      state.value = { text: [`Stored as version ${version}.`, ...warnings].join(' '), isError: false };
      storedName = name.value.trim();
      setParameters({ name: storedName, version: undefined });
      reload();
    } catch (error) {
      state.value = { text: messageOf(error), isError: true };
    }
  };
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {state.value !== undefined && (
        <span class={state.value.isError ? 'bad' : 'good'} role={state.value.isError ? 'alert' : 'status'}>
          {state.value.text}
        </span>
      )}
      <label class="row tight">
        Name
        <input required value={name} onInput={({ currentTarget }) => (name.value = currentTarget.value)} />
      </label>
      <button type="submit" class="primary">
        Save
      </button>
    </form>
  );
}
