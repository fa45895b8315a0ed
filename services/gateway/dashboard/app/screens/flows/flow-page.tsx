import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';

import { linkTo, setParameters } from '../../core/route.js';
import { counted } from '../../format/counted.js';
import { mayAdminister, mayWrite } from '../../shell/available.js';
import { Confirm } from '../../widgets/confirm.js';
import { CopyButton } from '../../widgets/copy-button.js';
import { ActionMessage, useActions } from '../../widgets/use-action.js';
import { dropFlow, runFlow, type ListedFlow } from './flow-sql.js';

/** One flow: its definition, and what can be done with it. */
export function FlowPage({ flow, onChange }: { readonly flow: ListedFlow; readonly onChange: () => void }) {
  const { name, definition, comment, sources, error } = flow;
  const shown = useRef<HTMLPreElement>(null);
  return (
    <article class="panel stack" aria-label={`Flow ${name}`}>
      <h2>
        <bdi>{name}</bdi>
      </h2>
      {comment !== '' && (
        <p>
          <bdi>{comment}</bdi>
        </p>
      )}
      {error !== '' && (
        <p class="error">
          <bdi>{error}</bdi>
        </p>
      )}
      {sources !== '' && (
        <p class="dim">
          Reads <bdi>{sources}</bdi>. It runs when their rows have changed, or at its interval.
        </p>
      )}
      <pre ref={shown} class="flows-definition" tabIndex={0} aria-label="Definition">
        {definition}
      </pre>
      <div class="row">
        <CopyButton text={definition} shownIn={shown} />
        <a class="button" href={linkTo('query', { q: definition })}>
          Open in Query
        </a>
      </div>
      {mayWrite(flow.sink.database) && <FlowActions name={name} onChange={onChange} />}
    </article>
  );
}

function FlowActions({ name, onChange }: { readonly name: string; readonly onChange: () => void }) {
  const actions = useActions();
  const isAsking = useSignal(false);
  const runNow = async (): Promise<void> => {
    await actions.run(async () => `The run changed ${counted(await runFlow(name), 'row')} of the results.`);
    onChange();
  };
  const drop = async (): Promise<void> => {
    isAsking.value = false;
    const isDone = await actions.run(async () => {
      await dropFlow(name);
      return 'The flow was deleted.';
    });
    if (isDone) setParameters({ flow: undefined });
    onChange();
  };
  return (
    <>
      <div class="row">
        {mayAdminister() && (
          <button type="button" disabled={actions.isRunning} onClick={() => void runNow()}>
            {actions.isRunning ? 'Running…' : 'Run now'}
          </button>
        )}
        <button type="button" class="danger" disabled={actions.isRunning} onClick={() => (isAsking.value = true)}>
          Delete
        </button>
      </div>
      <ActionMessage actions={actions} />
      {isAsking.value && (
        <Confirm
          title="Delete this flow?"
          action="Delete"
          onConfirm={() => void drop()}
          onClose={() => (isAsking.value = false)}
        >
          <p>
            <bdi>{name}</bdi> ends. The table with its results stays.
          </p>
        </Confirm>
      )}
    </>
  );
}
