import { useSignal } from '@preact/signals';

import { messageOf, requestJson } from '../../core/http.js';
import { useLoaded } from '../../data/use-loaded.js';
import { linkTo } from '../../core/route.js';
import { storedSignal } from '../../core/stored.js';
import { database } from '../../data/sql.js';
import { countText } from '../../format/numbers.js';

const TYPES = {
  'application/x-ndjson': 'JSON, an object on each line',
  'application/json': 'JSON, a list of objects',
  'text/plain': 'text, an item on each line',
} as const;

type ItemType = keyof typeof TYPES;

const draft = storedSignal(
  'ingest-items',
  '{"level":"info","message":"shop started","duration_ms":12}\n',
  (value): value is string => {
    return typeof value === 'string';
  },
);

interface IngestReply {
  readonly output: readonly { readonly affectedrows: number }[];
  readonly skipped?: number;
  readonly failed?: number;
}

/** Sends items that were pasted through a pipeline. */
export function ItemForm() {
  const pipelines = useLoaded(
    (signal) => requestJson<{ readonly pipelines: readonly { readonly name: string }[] }>('v1/pipelines', { signal }),
    [],
  );
  const table = useSignal('');
  const pipeline = useSignal('almanac_identity');
  const type = useSignal<ItemType>('application/x-ndjson');
  const outcome = useSignal<{ readonly text: string; readonly isError: boolean } | undefined>(undefined);
  const send = async (): Promise<void> => {
    try {
      const { output, skipped, failed } = await requestJson<IngestReply>('v1/ingest', {
        parameters: { db: database(), table: table.value.trim(), pipeline_name: pipeline.value },
        body: draft.value,
        headers: { 'content-type': type.value },
      });
      const rows = output.reduce((sum, { affectedrows: count }) => sum + count, 0);
      const left = (skipped ?? 0) + (failed ?? 0);
      outcome.value = {
        text: `${countText(rows)} rows were stored${left > 0 ? `, ${left} items were not` : ''}.`,
        isError: false,
      };
    } catch (error) {
      outcome.value = { text: messageOf(error), isError: true };
    }
  };
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <div class="row">
        <label class="row tight">
          Table
          <input required value={table} onInput={({ currentTarget }) => (table.value = currentTarget.value)} />
        </label>
        <label class="row tight">
          Pipeline
          <select value={pipeline} onChange={({ currentTarget }) => (pipeline.value = currentTarget.value)}>
            <option value="almanac_identity">as it is (almanac_identity)</option>
            {(pipelines.value?.pipelines ?? []).map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label class="row tight">
          Items are
          <select value={type} onChange={({ currentTarget }) => (type.value = currentTarget.value as ItemType)}>
            {Object.entries(TYPES).map(([name, title]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </label>
      </div>
      <label>
        Items
        <textarea
          class="mono"
          rows={12}
          required
          spellcheck={false}
          value={draft}
          onInput={({ currentTarget }) => (draft.value = currentTarget.value)}
        />
      </label>
      <div class="row">
        <a
          href={linkTo('pipelines', {
            name: pipeline.value === 'almanac_identity' ? undefined : pipeline.value,
          })}
        >
          Try the pipeline without storing
        </a>
        <span class="grow" />
        <button type="submit" class="primary">
          Write
        </button>
      </div>
      {outcome.value !== undefined && (
        <p class={outcome.value.isError ? 'error' : 'good'} role={outcome.value.isError ? 'alert' : 'status'}>
          <bdi>{outcome.value.text}</bdi>
          {!outcome.value.isError && (
            <>
              {' '}
              <a href={linkTo('tables', { t: table.value.trim() })}>See the table</a>
            </>
          )}
        </p>
      )}
    </form>
  );
}
