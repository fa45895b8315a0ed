import { parameter, setParameters } from '../core/route.js';

/** A tab: its name in the address, and its title. */
export interface TabEntry {
  readonly name: string;
  readonly title: string;
}

/** Returns the name of the chosen tab; that of the first one if the address has none of them. */
export function chosenTab(tabs: readonly TabEntry[]): string {
  const named = parameter('tab');
  return tabs.some(({ name }) => name === named) ? named : (tabs[0]?.name ?? '');
}

/** The tabs of a screen; the address names the chosen one. The panel below has the ID `tab-panel`. */
export function ScreenTabs({ label, tabs }: { readonly label: string; readonly tabs: readonly TabEntry[] }) {
  const chosen = chosenTab(tabs);
  const choose = (name: string): void => setParameters({ tab: name === tabs[0]?.name ? undefined : name });
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = tabs.findIndex(({ name }) => name === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    choose(next.name);
    document.getElementById(`tab-${next.name}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
      {tabs.map(({ name, title }) => (
        <button
          key={name}
          id={`tab-${name}`}
          type="button"
          role="tab"
          aria-selected={name === chosen}
          aria-controls="tab-panel"
          tabIndex={name === chosen ? 0 : -1}
          onClick={() => choose(name)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}
