import { useEffect, useRef } from 'preact/hooks';

import { cellText, type CellValue, type SqlColumn } from '../../data/sql-result.js';
import { zone } from '../../time/zones.js';
import { CopyButton } from '../../widgets/copy-button.js';

/** A longer text would make the page slow; all of it can be copied. */
const SHOWN_MAX = 200_000;

interface CellDialogProps {
  readonly opened: { readonly column: SqlColumn; readonly value: CellValue } | undefined;
  readonly onClose: () => void;
}

/** A whole cell; JSON is indented. */
export function CellDialog({ opened, onClose }: CellDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const shown = useRef<HTMLPreElement>(null);
  useEffect(() => {
    if (opened === undefined) dialog.current?.close();
    else dialog.current?.showModal();
  }, [opened]);
  const text = opened === undefined ? '' : indented(cellText(opened.value, opened.column, zone.value));
  return (
    <dialog
      ref={dialog}
      class="cell-dialog"
      aria-labelledby="cell-title"
      onClose={() => opened !== undefined && onClose()}
    >
      <h2 id="cell-title">
        <bdi>{opened?.column.name}</bdi> <span class="dim">{opened?.column.type}</span>
      </h2>
      <pre ref={shown} tabIndex={0} aria-label="Value">
        {text.slice(0, SHOWN_MAX)}
      </pre>
      {text.length > SHOWN_MAX && <p class="dim">The first {SHOWN_MAX} characters are shown.</p>}
      <div class="row end">
        <CopyButton text={text} shownIn={shown} />
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </dialog>
  );
}

function indented(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
