import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

import { messageOf, request } from '../core/http.js';
import { isReachable, returnCount } from '../core/reachability.js';
import { linkTo, screen, SCREENS_PATH, visit } from '../core/route.js';
import { storedSignal } from '../core/stored.js';
import { addActions } from './actions.js';
import {
  allScreens,
  availableScreens,
  isAvailable,
  serverFacts,
  type ScreenEntry,
  type ScreenGroup,
} from './available.js';
import { Footer } from './footer.js';
import { Icon } from '../widgets/icons.js';
import { handleKey, openDialog } from './keys.js';
import { KeyList } from './key-list.js';
import { Palette } from './palette.js';
import { SignIn } from './sign-in.js';
import { nextTheme } from '../style/theme.js';
import { TopBar } from './top-bar.js';

const isRailNarrow = storedSignal('rail-narrow', false, (value): value is boolean => typeof value === 'boolean');

/** The page: navigation, the bar above the screen, the screen, and the state of the server below it. */
export function Frame() {
  useEffect(() => {
    addEventListener('keydown', handleKey);
    document.addEventListener('click', followLink);
    const removeActions = addActions([
      { title: 'Change the theme', run: nextTheme },
      { title: 'List all keys', shortcut: '?', run: () => (openDialog.value = 'keys') },
      { title: 'Narrow or widen the navigation', run: () => (isRailNarrow.value = !isRailNarrow.value) },
    ]);
    return () => {
      removeEventListener('keydown', handleKey);
      document.removeEventListener('click', followLink);
      removeActions();
    };
  }, []);
  const entry = useComputed(() =>
    allScreens.value.find(({ name }) => name === (screen.value === '' ? 'query' : screen.value)),
  );
  return (
    <div class={isRailNarrow.value ? 'frame narrow' : 'frame'}>
      <a class="skip" href="#main" onClick={skipToContent}>
        Skip to content
      </a>
      <Rail current={entry.value} />
      <TopBar entry={entry.value} />
      <main id="main" tabIndex={-1}>
        {!isReachable.value && (
          <p class="banner" role="alert">
            The server cannot be reached. Nothing you typed is lost; the page continues when the server is back.
          </p>
        )}
        {entry.value === undefined ? <UnknownScreen /> : <LoadedScreen key={entry.value.name} entry={entry.value} />}
      </main>
      <Footer />
      <Palette />
      <KeyList />
      <SignIn />
    </div>
  );
}

function Rail({ current }: { readonly current: ScreenEntry | undefined }) {
  const groups: readonly ScreenGroup[] = ['Explore', 'Data', 'Operate'];
  const rail = useRef<HTMLElement>(null);
  useEffect(() => {
    // In a narrow window the links are one row, which scrolls.
    rail.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [current, availableScreens.value]);
  return (
    <nav ref={rail} class="rail" aria-label="Screens">
      <a class="brand" href={linkTo('query')}>
        <span class="brand-mark" aria-hidden="true" />
        <span class="word">Almanac</span>
      </a>
      {groups.map((group) => {
        const entries = availableScreens.value.filter((entry) => entry.group === group);
        if (entries.length === 0) return null;
        return (
          <div key={group} class="rail-group" role="group" aria-label={group}>
            <span class="rail-heading word" aria-hidden="true">
              {group}
            </span>
            {entries.map(({ name, title }) => (
              <a
                key={name}
                href={linkTo(name)}
                title={title}
                aria-current={current?.name === name ? 'page' : undefined}
              >
                <Icon name={name} />
                <span class="word">{title}</span>
              </a>
            ))}
          </div>
        );
      })}
    </nav>
  );
}

function LoadedScreen({ entry }: { readonly entry: ScreenEntry }) {
  const loaded = useSignal<ComponentType | undefined>(undefined);
  const failure = useSignal('');
  useEffect(() => {
    document.title = `${entry.title} - Almanac`;
    entry.load().then(
      (component) => (loaded.value = component),
      (error: unknown) => {
        failure.value = messageOf(error);
        // Finds out whether the server is away.
        void request('v1/health').catch(() => undefined);
      },
    );
  }, [entry]);
  const failedReturns = useRef<number | undefined>(undefined);
  useSignalEffect(() => {
    const returns = returnCount.value;
    const isBack = failure.value !== '' && returns !== failedReturns.current;
    failedReturns.current = returns;
    if (!isBack) return undefined;
    let isShown = true;
    // Files that failed to load are not loaded again by the same page. All that was typed is kept by the browser. The reply
    // can be older than the failure, and without a network a reload would lose the page: another one has to follow.
    void request('v1/health')
      .catch(() => undefined)
      .then(() => {
        if (isShown && isReachable.peek()) location.reload();
      });
    return () => void (isShown = false);
  });
  useSignalEffect(() => {
    // A screen of administrators is not there for others, and not on the public listener.
    if (serverFacts.value !== undefined && !isAvailable(entry)) visit(linkTo('query'), true);
  });
  if (failure.value !== '') {
    return (
      <p class="error" role="alert">
        This screen could not be loaded: {failure.value}{' '}
        <button type="button" onClick={() => location.reload()}>
          Reload the page
        </button>
      </p>
    );
  }
  const Loaded = loaded.value;
  if (Loaded !== undefined) return <Loaded />;
  return (
    <div class="loading">
      <h1 class="visually-hidden">{entry.title}</h1>
      <p>Loading…</p>
    </div>
  );
}

function UnknownScreen() {
  return (
    <div class="empty">
      <h1>No such screen</h1>
      <p>
        There is no screen called <code>{screen.value}</code>. <a href={linkTo('query')}>Open Query</a>
      </p>
    </div>
  );
}

/** Moves the focus. The address keeps its fragment, which may be the text of a query. */
function skipToContent(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

/** Opens links to screens without loading the page again. */
function followLink(event: MouseEvent): void {
  if (
    event.defaultPrevented ||
    event.button !== 0 ||
    event.ctrlKey ||
    event.metaKey ||
    event.shiftKey ||
    event.altKey
  ) {
    return;
  }
  const [target] = event.composedPath();
  const link = target instanceof Element ? target.closest('a') : null;
  if (link?.target !== '' || link.hasAttribute('download')) return;
  if (!link.href.startsWith(new URL(SCREENS_PATH, location.href).href)) return;
  event.preventDefault();
  visit(link.href, false);
}
