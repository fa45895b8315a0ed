import { signal } from '@preact/signals';

/** Something that the user can do, by the palette or a key. */
export interface Action {
  readonly title: string;
  /** As it is shown: `Ctrl+Enter`, `g q`. */
  readonly shortcut?: string;
  readonly run: () => void;
}

const registered = signal<readonly Action[]>([]);

/** Actions of the current screen and of the frame, in the order in which they were added. */
export const actions = registered;

/** Adds actions until the returned function is called. */
export function addActions(added: readonly Action[]): () => void {
  registered.value = [...registered.value, ...added];
  return () => {
    registered.value = registered.value.filter((action) => !added.includes(action));
  };
}
