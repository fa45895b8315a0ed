import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { isReachable } from '../core/reachability.js';
import { parameter, setParameters } from '../core/route.js';
import { moveRange, reload, zoomOut } from '../time/page-range.js';
import { addActions } from './actions.js';
import type { ScreenEntry } from './available.js';
import { DatabasePicker } from './database-picker.js';
import { COPY_REFUSED } from '../widgets/copy-button.js';
import { copyText } from '../widgets/copy-text.js';
import { Icon } from '../widgets/icons.js';
import { openDialog } from './keys.js';
import { nextTheme, theme } from '../style/theme.js';
import { TimePicker } from './time-picker.js';

/** The bar above every screen: database, time range, repetition, link, commands and theme. */
export function TopBar({ entry }: { readonly entry: ScreenEntry | undefined }) {
  const isCopied = useSignal<boolean | undefined>(undefined);
  const share = (): void => {
    void copyText(location.href).then((isDone) => (isCopied.value = isDone));
  };
  useEffect(() => addActions([{ title: 'Copy the link to this page', run: share }]), []);
  return (
    <header class="top-bar">
      <DatabasePicker />
      {entry?.hasRange === true && (
        <div class="row tight" role="group" aria-label="Time range">
          <button type="button" class="icon-button" aria-label="Earlier" title="Earlier" onClick={() => moveRange(-1)}>
            <Icon name="back" />
          </button>
          <TimePicker />
          <button type="button" class="icon-button" aria-label="Later" title="Later" onClick={() => moveRange(1)}>
            <Icon name="forward" />
          </button>
          <button type="button" class="icon-button" aria-label="Zoom out" title="Zoom out" onClick={zoomOut}>
            <Icon name="zoomOut" />
          </button>
        </div>
      )}
      <Refresh />
      <span class="grow" />
      <button
        type="button"
        class="icon-button"
        aria-label="Copy the link to this page"
        title="Copy link"
        onClick={share}
      >
        <Icon name="link" />
      </button>
      <span class={isCopied.value === false ? 'dim' : 'visually-hidden'} role="status">
        {isCopied.value === undefined ? '' : isCopied.value ? 'Link copied' : COPY_REFUSED}
      </span>
      <button
        type="button"
        class="icon-button"
        aria-label="Commands"
        title="Commands (Ctrl+K)"
        onClick={() => (openDialog.value = 'palette')}
      >
        <Icon name="search" />
      </button>
      <button
        type="button"
        class="icon-button"
        aria-label={`Theme: ${theme.value}`}
        title={`Theme: ${theme.value}`}
        onClick={nextTheme}
      >
        <Icon name="theme" />
      </button>
    </header>
  );
}

const INTERVALS_S = new Map([
  ['1s', 1],
  ['5s', 5],
  ['10s', 10],
  ['30s', 30],
  ['1m', 60],
  ['5m', 300],
]);

/** Loads the screen again, once or at intervals; not while the page is hidden or the server is unreachable. */
function Refresh() {
  const interval = parameter('refresh', 'off');
  useEffect(() => {
    const seconds = INTERVALS_S.get(interval);
    if (seconds === undefined) return;
    const timer = setInterval(() => {
      if (!document.hidden && isReachable.peek()) reload();
    }, seconds * 1000);
    return () => clearInterval(timer);
  }, [interval]);
  return (
    <div class="row tight" role="group" aria-label="Refresh">
      <button type="button" class="icon-button" aria-label="Load again" title="Load again (r)" onClick={reload}>
        <Icon name="refresh" />
      </button>
      <select
        aria-label="Load again every"
        value={interval}
        onChange={({ currentTarget: { value } }) => setParameters({ refresh: value === 'off' ? undefined : value })}
      >
        {['off', ...INTERVALS_S.keys()].map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}
