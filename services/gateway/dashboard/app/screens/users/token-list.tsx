import { useSignal } from '@preact/signals';

import { reload } from '../../time/page-range.js';
import { nanosecondText } from '../../time/nanosecond-text.js';
import { zone } from '../../time/zones.js';
import { Confirm } from '../../widgets/confirm.js';
import { copyText } from '../../widgets/copy-text.js';
import { ActionMessage, useActions } from '../../widgets/use-action.js';
import { createToken, deleteToken, type UserToken } from './user-sql.js';

/** The tokens of a user, by which programs sign in. */
export function TokenList({ user, tokens }: { readonly user: string; readonly tokens: readonly UserToken[] }) {
  const actions = useActions();
  const created = useSignal<{ readonly name: string; readonly text: string } | undefined>(undefined);
  const asked = useSignal('');
  const create = async (name: string): Promise<void> => {
    created.value = undefined;
    await actions.run(async () => {
      created.value = await createToken(user, name);
      return `The token ${created.value.name} was created.`;
    });
    reload();
  };
  const remove = async (): Promise<void> => {
    const name = asked.value;
    asked.value = '';
    await actions.run(async () => {
      await deleteToken(user, name);
      if (created.value?.name === name) created.value = undefined;
      return `The token ${name} was deleted.`;
    });
    reload();
  };
  return (
    <section class="panel stack" aria-label="Tokens">
      <h3>Tokens</h3>
      <p class="dim">A token is a password of a program. It has the rights of the user, and can be deleted alone.</p>
      {tokens.length > 0 && (
        <TokenTable tokens={tokens} isRunning={actions.isRunning} onDelete={(name) => (asked.value = name)} />
      )}
      <NewTokenForm isRunning={actions.isRunning} onCreate={(name) => void create(name)} />
      <ActionMessage actions={actions} />
      {created.value !== undefined && (
        <NewToken key={created.value.text} text={created.value.text} onClose={() => (created.value = undefined)} />
      )}
      {asked.value !== '' && (
        <Confirm
          title="Delete this token?"
          action="Delete"
          onConfirm={() => void remove()}
          onClose={() => (asked.value = '')}
        >
          <p>
            Programs that use <bdi>{asked}</bdi> are refused.
          </p>
        </Confirm>
      )}
    </section>
  );
}

interface TokenTableProps {
  readonly tokens: readonly UserToken[];
  readonly isRunning: boolean;
  readonly onDelete: (name: string) => void;
}

function TokenTable({ tokens, isRunning, onDelete }: TokenTableProps) {
  return (
    <table class="plain" aria-label="Tokens">
      <thead>
        <tr>
          <th scope="col">Token</th>
          <th scope="col">Created</th>
          <th scope="col">
            <span class="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {tokens.map(({ name, createdMs }) => (
          <tr key={name}>
            <th scope="row">
              <bdi>{name}</bdi>
            </th>
            <td>{nanosecondText(BigInt(createdMs) * 1_000_000n, zone.value, 3)}</td>
            <td>
              <button
                type="button"
                disabled={isRunning}
                aria-label={`Delete the token ${name}`}
                onClick={() => onDelete(name)}
              >
                Delete
              </button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function NewTokenForm({
  isRunning,
  onCreate,
}: {
  readonly isRunning: boolean;
  readonly onCreate: (name: string) => void;
}) {
  const name = useSignal('');
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        onCreate(name.value);
        name.value = '';
      }}
    >
      <label class="row tight">
        New token
        <input
          maxLength={128}
          placeholder="name, or none"
          autocomplete="off"
          value={name}
          onInput={({ currentTarget }) => (name.value = currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={isRunning}>
        Create
      </button>
    </form>
  );
}

/** A token that was just created: the only time that it is seen. */
function NewToken({ text, onClose }: { readonly text: string; readonly onClose: () => void }) {
  const copied = useSignal('');
  return (
    <div class="notice stack" role="group" aria-label="The new token">
      <p>Copy it now: it is not shown again.</p>
      <code class="users-token">{text}</code>
      <div class="row">
        <button
          type="button"
          onClick={() =>
            void copyText(text).then(
              (isDone) => (copied.value = isDone ? 'Copied.' : 'The browser did not allow copying: select it.'),
            )
          }
        >
          Copy
        </button>
        <button type="button" onClick={onClose}>
          Done
        </button>
        <span role="status">{copied}</span>
      </div>
    </div>
  );
}
