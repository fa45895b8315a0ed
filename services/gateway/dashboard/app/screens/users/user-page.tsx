import { useSignal } from '@preact/signals';

import { setParameters } from '../../core/route.js';
import { userName } from '../../core/session.js';
import { useLoaded } from '../../data/use-loaded.js';
import { reload, reloadCount } from '../../time/page-range.js';
import { Confirm } from '../../widgets/confirm.js';
import { FailureText } from '../../widgets/failure-text.js';
import { ActionMessage, useActions } from '../../widgets/use-action.js';
import { GrantList } from './grant-list.js';
import { PasswordField } from './new-user-form.js';
import { TokenList } from './token-list.js';
import { changePassword, deleteUser, readUser } from './user-sql.js';

/** One user: rights, tokens, password. */
export function UserPage({ name }: { readonly name: string }) {
  const { value, failure } = useLoaded((signal) => readUser(name, signal), [name, reloadCount.value]);
  return (
    <article class="stack users-page" aria-label={`User ${name}`}>
      <h2>
        <bdi>{name}</bdi>
      </h2>
      <FailureText text={failure} />
      {value === undefined && failure === '' && <p class="dim">Loading…</p>}
      {value !== undefined && (
        <>
          <GrantList user={name} grants={value.grants} />
          <TokenList user={name} tokens={value.tokens} />
          <PasswordForm name={name} />
          <DeleteButton name={name} />
        </>
      )}
    </article>
  );
}

function PasswordForm({ name }: { readonly name: string }) {
  const actions = useActions();
  const password = useSignal('');
  const save = async (): Promise<void> => {
    const isDone = await actions.run(async () => {
      await changePassword(name, password.value);
      return 'The password was changed.';
    });
    if (isDone) password.value = '';
  };
  return (
    <form
      class="panel stack"
      aria-label="Password"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <h3>Password</h3>
      <PasswordField label="New password" value={password.value} onInput={(text) => (password.value = text)} />
      <div>
        <button type="submit" disabled={actions.isRunning}>
          Save
        </button>
      </div>
      <ActionMessage actions={actions} />
    </form>
  );
}

function DeleteButton({ name }: { readonly name: string }) {
  const actions = useActions();
  const isAsking = useSignal(false);
  const remove = async (): Promise<void> => {
    isAsking.value = false;
    const isDone = await actions.run(async () => {
      await deleteUser(name);
      return 'The user was deleted.';
    });
    if (!isDone) return;
    setParameters({ user: undefined });
    reload();
  };
  return (
    <div class="stack">
      <div>
        <button type="button" class="danger" disabled={actions.isRunning} onClick={() => (isAsking.value = true)}>
          Delete the user
        </button>
      </div>
      <ActionMessage actions={actions} />
      {isAsking.value && (
        <Confirm
          title="Delete this user?"
          action="Delete"
          onConfirm={() => void remove()}
          onClose={() => (isAsking.value = false)}
        >
          <p>
            <bdi>{name}</bdi> loses all rights and tokens, and programs that use them are refused.
            {name === userName.value && ' You are signed in by this name.'}
          </p>
        </Confirm>
      )}
    </div>
  );
}
