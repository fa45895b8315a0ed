import { computed, signal } from '@preact/signals';

import { storedSignal } from '../../core/stored.js';

/** Language of a query. */
export type QueryMode = 'sql' | 'promql';

/** A tab of the screen. Each language keeps a text of its own. */
export interface QueryTab {
  readonly id: number;
  /** Chosen by the user; empty: the first words of the text. */
  readonly name: string;
  readonly mode: QueryMode;
  readonly sql: string;
  readonly promql: string;
  readonly view: ResultView;
}

/** How a result is shown. */
export type ResultView = 'table' | 'chart' | 'json' | 'plan';

/** Names of all views, in their order. */
export const RESULT_VIEWS: readonly ResultView[] = ['table', 'chart', 'json', 'plan'];

interface TabList {
  readonly tabs: readonly QueryTab[];
  readonly activeId: number;
}

const TABS_MAX = 50;
const TITLE_MAX = 24;
const FIRST: QueryTab = { id: 1, name: '', mode: 'sql', sql: '', promql: '', view: 'table' };

const list = storedSignal<TabList>('query-tabs', { tabs: [FIRST], activeId: 1 }, isTabList);

/** All open tabs; at least one. */
export const tabs = computed(() => list.value.tabs);
/** The tab that is shown. */
export const activeTab = computed(
  () => list.value.tabs.find(({ id }) => id === list.value.activeId) ?? list.value.tabs[0],
);
/** Whether another tab may be opened. */
export const canAddTab = computed(() => list.value.tabs.length < TABS_MAX);

const closed = signal<{ readonly tab: QueryTab; readonly at: number } | undefined>(undefined);
/** The tab that was closed last, until another is opened or changed. */
export const closedTab = computed(() => closed.value?.tab);

/** Returns what a tab is called. */
export function tabTitle({ name, mode, sql, promql }: QueryTab): string {
  if (name !== '') return name;
  const text = (mode === 'sql' ? sql : promql).replace(/\s+/g, ' ').trim();
  if (text === '') return 'New query';
  return text.length > TITLE_MAX ? `${text.slice(0, TITLE_MAX)}…` : text;
}

/** Shows a tab. */
export function activateTab(id: number): void {
  list.value = { ...list.value, activeId: id };
}

/** Opens a tab beside the others, and shows it. */
export function addTab(content: Partial<QueryTab> = {}): void {
  if (!canAddTab.value) return;
  closed.value = undefined;
  const id = Math.max(...list.value.tabs.map((tab) => tab.id)) + 1;
  list.value = { tabs: [...list.value.tabs, { ...FIRST, mode: activeTab.value.mode, ...content, id }], activeId: id };
}

/** Changes the tab that is shown. */
export function changeTab(change: Partial<Omit<QueryTab, 'id'>>): void {
  const { id } = activeTab.value;
  list.value = { activeId: id, tabs: list.value.tabs.map((tab) => (tab.id === id ? { ...tab, ...change } : tab)) };
}

/** Closes a tab; the last one becomes empty. */
export function closeTab(id: number): void {
  const at = list.value.tabs.findIndex((tab) => tab.id === id);
  if (at < 0) return;
  closed.value = { tab: list.value.tabs[at], at };
  const rest = list.value.tabs.filter((tab) => tab.id !== id);
  const kept = rest.length === 0 ? [{ ...FIRST, id: id + 1 }] : rest;
  const activeId = list.value.activeId === id ? kept[Math.min(at, kept.length - 1)].id : list.value.activeId;
  list.value = { tabs: kept, activeId };
}

/** Opens the tab again that was closed last. @returns whether there was one. */
export function reopenTab(): boolean {
  if (closed.value === undefined || !canAddTab.value) return false;
  const { tab, at } = closed.value;
  closed.value = undefined;
  list.value = { tabs: list.value.tabs.toSpliced(at, 0, tab), activeId: tab.id };
  return true;
}

function isTabList(value: unknown): value is TabList {
  const { tabs: all, activeId } = (value ?? {}) as Partial<TabList>;
  return Array.isArray(all) && all.length > 0 && all.every(isTab) && typeof activeId === 'number';
}

function isTab(value: unknown): boolean {
  const tab = (value ?? {}) as Partial<QueryTab>;
  const areTexts = [tab.name, tab.sql, tab.promql].every((text) => typeof text === 'string');
  const isKnown = (tab.mode === 'sql' || tab.mode === 'promql') && RESULT_VIEWS.includes(tab.view!);
  return typeof tab.id === 'number' && areTexts && isKnown;
}
