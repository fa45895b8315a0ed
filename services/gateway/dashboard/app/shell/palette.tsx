import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { openScreen } from '../core/route.js';
import { actions, type Action } from './actions.js';
import { availableScreens } from './available.js';
import { openDialog } from './keys.js';

const SHOWN_MAX = 50;

/** The list of everything that can be done, to choose from by typing. */
export function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const words = useSignal('');
  const chosen = useSignal(0);
  const isOpen = openDialog.value === 'palette';
  const found = useComputed(() =>
    [...traceActions(words.value), ...matching(allActions(), words.value)].slice(0, SHOWN_MAX),
  );
  useEffect(() => {
    if (!isOpen) return dialog.current?.close();
    words.value = '';
    chosen.value = 0;
    dialog.current?.showModal();
  }, [isOpen]);
  const run = (action: Action | undefined): void => {
    openDialog.value = undefined;
    action?.run();
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      chosen.value = (chosen.value + step + found.value.length) % Math.max(1, found.value.length);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      run(found.value[chosen.value]);
    }
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Commands" onClose={() => isOpen && (openDialog.value = undefined)}>
      <input
        role="combobox"
        aria-label="Search commands"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.value.length === 0 ? undefined : `palette-${chosen.value}`}
        placeholder="Search commands"
        value={words}
        onInput={(event) => {
          words.value = event.currentTarget.value;
          chosen.value = 0;
        }}
        onKeyDown={onKey}
      />
      <ul id="palette-list" role="listbox" aria-label="Commands">
        {found.value.map((action, i) => (
          <li
            key={action.title}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === chosen.value}
            onClick={() => run(action)}
          >
            {action.title}
            {action.shortcut !== undefined && <kbd>{action.shortcut}</kbd>}
          </li>
        ))}
      </ul>
      {found.value.length === 0 && <p class="dim">No command has these words.</p>}
    </dialog>
  );
}

/** Returns all actions, with those that open screens. */
export function allActions(): readonly Action[] {
  const opening = availableScreens.value.map(({ name, title, key }): Action => {
    return { title: `Open ${title}`, shortcut: `g ${key}`, run: () => openScreen(name) };
  });
  return [...actions.value, ...opening];
}

/** Returns the action that opens a trace, if the words are the ID of one. */
function traceActions(words: string): readonly Action[] {
  const id = words.trim().toLowerCase();
  if (!/^(?:[0-9a-f]{16}|[0-9a-f]{32})$/.test(id)) return [];
  return [{ title: `Open the trace ${id}`, run: () => openScreen('traces', { id }) }];
}

/** Returns the actions whose titles have all words, in any order. */
function matching(all: readonly Action[], words: string): readonly Action[] {
  const wanted = words.toLowerCase().split(/\s+/);
  return all.filter(({ title }) => wanted.every((word) => title.toLowerCase().includes(word)));
}
