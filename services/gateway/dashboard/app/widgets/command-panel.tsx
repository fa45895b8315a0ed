import './command-panel.css';

import { useRef } from 'preact/hooks';

import { CopyButton } from './copy-button.js';

/** Text that people copy into a shell or a file. */
export interface CommandPanelProps {
  readonly title: string;
  /** File that the text belongs to; empty for a command. */
  readonly file?: string;
  readonly text: string;
}

/** A command or settings under a title, with a button that copies them. */
export function CommandPanel({ title, file = '', text }: CommandPanelProps) {
  const shown = useRef<HTMLPreElement>(null);
  return (
    <section class="panel stack command-panel" aria-label={title}>
      <div class="row">
        <h2>{title}</h2>
        <span class="dim">{file}</span>
        <span class="grow" />
        <CopyButton text={text} label={`Copy ${title}`} shownIn={shown} />
      </div>
      <pre ref={shown} tabIndex={0} aria-label={title}>
        {text}
      </pre>
    </section>
  );
}
