import { useSignal } from '@preact/signals';

import { setParameters } from '../../core/route.js';
import { reload } from '../../time/page-range.js';
import { ActionMessage, useActions } from '../../widgets/use-action.js';
import { createUser } from './user-sql.js';

/** Creates a user and opens it. */
export function NewUserForm() {
  const actions = useActions();
  const name = useSignal('');
  const password = useSignal('');
  const create = async (): Promise<void> => {
    const user = name.value;
    const isDone = await actions.run(async () => {
      await createUser(user, password.value);
      return `The user ${user} was created, and may do nothing yet: grant rights.`;
    });
    if (!isDone) return;
    name.value = '';
    password.value = '';
    setParameters({ user });
    reload();
  };
  return (
    <form
      class="panel stack"
      aria-label="New user"
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <h2>New user</h2>
      <label>
        Name
        <input
          required
          maxLength={128}
          autocomplete="off"
          value={name}
          onInput={({ currentTarget }) => (name.value = currentTarget.value)}
        />
      </label>
      <PasswordField label="Password" value={password.value} onInput={(text) => (password.value = text)} />
      <div>
        <button type="submit" class="primary" disabled={actions.isRunning}>
          Create
        </button>
      </div>
      <ActionMessage actions={actions} />
    </form>
  );
}

interface PasswordFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (text: string) => void;
}

/** A field for a new password. What is typed is in the page only, until it is sent. */
export function PasswordField({ label, value, onInput }: PasswordFieldProps) {
  return (
    <label>
      {label}
      <input
        type="password"
        required
        maxLength={1024}
        autocomplete="new-password"
        value={value}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </label>
  );
}
