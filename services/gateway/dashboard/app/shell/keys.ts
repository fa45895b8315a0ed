import { signal } from '@preact/signals';

import { openScreen } from '../core/route.js';
import { storedSignal } from '../core/stored.js';
import { reload } from '../time/page-range.js';
import { availableScreens } from './available.js';

/** Whether keys without Ctrl or Alt act; people who speak to their computer turn them off (WCAG 2.1.4). */
export const hasLetterKeys = storedSignal('letter-keys', true, (value): value is boolean => typeof value === 'boolean');
/** The dialog of the frame that is open. */
export const openDialog = signal<'palette' | 'keys' | 'time' | undefined>(undefined);

const SEQUENCE_MS = 1500;
let goSinceMs = -Infinity;

/** Handles the keys that act on every screen. */
export function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const isCommand = event.ctrlKey || event.metaKey;
  if (isCommand && !event.altKey && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    openDialog.value = openDialog.value === 'palette' ? undefined : 'palette';
  } else if (!isCommand && !event.altKey && mayBeLetter(event) && handleLetter(event)) event.preventDefault();
}

/** Whether a letter is a command: no text is typed, and no dialog is open. */
function mayBeLetter(event: KeyboardEvent): boolean {
  if (!hasLetterKeys.value || isTextField(event)) return false;
  return openDialog.value === undefined && document.querySelector('dialog[open]') === null;
}

function handleLetter(event: KeyboardEvent): boolean {
  const isSecond = event.timeStamp - goSinceMs < SEQUENCE_MS;
  goSinceMs = -Infinity;
  if (isSecond) {
    const entry = availableScreens.value.find(({ key }) => key === event.key);
    if (entry !== undefined) openScreen(entry.name);
    return entry !== undefined;
  }
  switch (event.key) {
    case 'g':
      goSinceMs = event.timeStamp;
      return true;
    case '?':
      openDialog.value = 'keys';
      return true;
    case 't':
      openDialog.value = 'time';
      return true;
    case 'r':
      reload();
      return true;
    case '/':
      return focusSearch();
    default:
      return false;
  }
}

function focusSearch(): boolean {
  const field = document.querySelector<HTMLElement>('main [type="search"], main [data-search]');
  field?.focus();
  return field !== null;
}

/** Whether the key is typed into a field; the editor's is inside of a shadow root. */
function isTextField(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}
