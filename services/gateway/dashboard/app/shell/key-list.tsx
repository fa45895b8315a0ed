import { useEffect, useRef } from 'preact/hooks';

import { hasLetterKeys, openDialog } from './keys.js';
import { allActions } from './palette.js';

const FIXED_KEYS = [
  ['Ctrl+K', 'Search all commands'],
  ['/', 'Search on the screen'],
  ['t', 'Choose the time range'],
  ['r', 'Load again'],
  ['?', 'List all keys'],
  ['Esc', 'Cancel or close'],
] as const;

/** The dialog that lists all keys. */
export function KeyList() {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = openDialog.value === 'keys';
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  const others = allActions().flatMap(({ title, shortcut }) =>
    shortcut === undefined ? [] : [[shortcut, title] as const],
  );
  return (
    <dialog ref={dialog} aria-labelledby="keys-title" onClose={() => isOpen && (openDialog.value = undefined)}>
      <h2 id="keys-title">Keys</h2>
      <table class="plain">
        <tbody>
          {[...FIXED_KEYS, ...others].map(([key, title]) => (
            <tr key={key + title}>
              <th scope="row">
                <kbd>{key}</kbd>
              </th>
              <td>{title}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <label class="check">
        <input
          type="checkbox"
          checked={hasLetterKeys}
          onChange={(event) => (hasLetterKeys.value = event.currentTarget.checked)}
        />
        Single letters act as commands
      </label>
      <div class="row end">
        <button type="button" onClick={() => (openDialog.value = undefined)}>
          Close
        </button>
      </div>
    </dialog>
  );
}
