import { useSignal } from '@preact/signals';
import type { ComponentChildren, RefObject } from 'preact';

import { copyText } from './copy-text.js';

/** What a button copies. */
export interface CopyButtonProps {
  readonly text: string;
  /** Accessible name, where several buttons are called Copy. */
  readonly label?: string;
  /** The element that shows the text: it is selected if the browser refuses the clipboard. */
  readonly shownIn?: RefObject<HTMLElement | null>;
  readonly isDisabled?: boolean;
  readonly children?: ComponentChildren;
}

/** Says that the browser refused the clipboard. */
export const COPY_REFUSED = 'The browser did not allow copying.';

/** A button that puts a text on the clipboard, and says whether it is there. */
export function CopyButton({ text, label, shownIn, isDisabled = false, children = 'Copy' }: CopyButtonProps) {
  const outcome = useSignal({ of: '', text: '' });
  const copy = async (): Promise<void> => {
    const isDone = await copyText(text);
    const shown = shownIn?.current;
    if (!isDone && shown) getSelection()?.selectAllChildren(shown);
    const refusal = shown ? `${COPY_REFUSED} The text is selected.` : COPY_REFUSED;
    outcome.value = { of: text, text: isDone ? 'Copied' : refusal };
  };
  return (
    <>
      <button type="button" aria-label={label} disabled={isDisabled} onClick={() => void copy()}>
        {children}
      </button>
      <span class="dim" role="status">
        {outcome.value.of === text ? outcome.value.text : ''}
      </span>
    </>
  );
}
