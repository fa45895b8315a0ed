import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { dismissSignIn, signIn, signInReason } from '../core/session.js';

/** The dialog in which the user signs in, when a request needs credentials. */
export function SignIn() {
  const dialog = useRef<HTMLDialogElement>(null);
  const user = useSignal('');
  const password = useSignal('');
  const isKept = useSignal(false);
  const reason = signInReason.value;
  useEffect(() => {
    if (reason === undefined) dialog.current?.close();
    else if (dialog.current?.open === false) dialog.current.showModal();
  }, [reason]);
  const submit = (event: Event): void => {
    event.preventDefault();
    signIn(user.value, password.value, isKept.value);
    password.value = '';
  };
  return (
    <dialog ref={dialog} aria-labelledby="sign-in-title" onCancel={dismissSignIn}>
      <form onSubmit={submit} class="stack">
        <h2 id="sign-in-title">Sign in</h2>
        <p>{reason}</p>
        <label>
          User
          <input
            autocomplete="username"
            required
            value={user}
            onInput={(event) => (user.value = event.currentTarget.value)}
          />
        </label>
        <label>
          Password or token
          <input
            type="password"
            autocomplete="current-password"
            value={password}
            onInput={(event) => (password.value = event.currentTarget.value)}
          />
        </label>
        <label class="check">
          <input type="checkbox" checked={isKept} onChange={(event) => (isKept.value = event.currentTarget.checked)} />
          Stay signed in until this browser tab is closed
        </label>
        <div class="row end">
          <button type="button" onClick={dismissSignIn}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Sign in
          </button>
        </div>
      </form>
    </dialog>
  );
}
