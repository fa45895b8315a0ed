import { useSignal } from '@preact/signals';

import { Icon } from '../../widgets/icons.js';
import {
  activateTab,
  activeTab,
  addTab,
  canAddTab,
  changeTab,
  closedTab,
  closeTab,
  reopenTab,
  tabs,
  tabTitle,
} from './tabs.js';

/** The open tabs. A double click renames one. */
export function TabStrip() {
  const renamed = useSignal<number | undefined>(undefined);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    const all = tabs.value;
    const at = all.findIndex(({ id }) => id === activeTab.value.id);
    if (step !== 0) activateTab(all[(at + step + all.length) % all.length].id);
    else if (event.key === 'Delete') closeTab(activeTab.value.id);
    else if (event.key === 'F2') renamed.value = activeTab.value.id;
    else return;
    event.preventDefault();
    const strip = event.currentTarget as HTMLElement;
    requestAnimationFrame(() => strip.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
  };
  return (
    <div class="row tight tab-strip">
      <div class="tabs" role="tablist" aria-label="Queries" onKeyDown={onKeyDown}>
        {tabs.value.map((tab) => {
          const isActive = tab.id === activeTab.value.id;
          if (renamed.value === tab.id) {
            return <RenameField key={tab.id} name={tab.name} onDone={() => (renamed.value = undefined)} />;
          }
          return (
            <button
              key={tab.id}
              type="button"
              role="tab"
              aria-selected={isActive}
              tabIndex={isActive ? 0 : -1}
              title="F2 renames, Delete closes"
              onClick={() => activateTab(tab.id)}
              onDblClick={() => (renamed.value = tab.id)}
            >
              <bdi>{tabTitle(tab)}</bdi>
            </button>
          );
        })}
      </div>
      <div class="tab-actions">
        <button
          type="button"
          class="icon-button"
          aria-label="New query"
          title="New query"
          disabled={!canAddTab.value}
          onClick={() => addTab()}
        >
          <Icon name="add" />
        </button>
        <button
          type="button"
          class="icon-button"
          aria-label="Close this query"
          title="Close this query"
          onClick={() => closeTab(activeTab.value.id)}
        >
          <Icon name="close" />
        </button>
      </div>
      {closedTab.value !== undefined && (
        <span role="status">
          <bdi>{tabTitle(closedTab.value)}</bdi> was closed.{' '}
          <button type="button" class="plain" onClick={() => reopenTab()}>
            Undo
          </button>
        </span>
      )}
    </div>
  );
}

function RenameField({ name, onDone }: { readonly name: string; readonly onDone: () => void }) {
  const save = (value: string): void => {
    changeTab({ name: value.trim().slice(0, 60) });
    onDone();
  };
  return (
    <input
      aria-label="Name of the query"
      defaultValue={name}
      ref={(field) => field?.focus()}
      onBlur={({ currentTarget }) => save(currentTarget.value)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Enter') save(event.currentTarget.value);
        if (event.key === 'Escape') onDone();
      }}
    />
  );
}
