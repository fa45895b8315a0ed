import { computed } from '@preact/signals';

import { parameter, setParameters } from '../../core/route.js';
import { storedSignal } from '../../core/stored.js';

/** How lines are shown. */
export type LogsView = 'lines' | 'table' | 'json' | 'patterns';

const VIEWS: readonly LogsView[] = ['lines', 'table', 'json', 'patterns'];
/** Lines that are loaded at first, and by each click on "Load more". */
export const LINES_STEP = 1000;
/** More lines than this are not loaded: a narrower search finds them. */
export const LINES_MAX = 20_000;

/** The search line of the address. */
export const searchText = computed(() => parameter('s'));
/** Name of the table of the address; empty if it has none. */
export const tableName = computed(() => parameter('t'));
/** How lines are shown. */
export const view = computed<LogsView>(() => VIEWS.find((name) => name === parameter('view')) ?? 'lines');
/** Whether the oldest line is the first. */
export const isAscending = computed(() => parameter('order') === 'asc');
/** Lines to load at most. */
export const lineLimit = computed(() => {
  const limit = Number(parameter('limit', String(LINES_STEP)));
  return Number.isInteger(limit) && limit > 0 ? Math.min(limit, LINES_MAX) : LINES_STEP;
});
/** Whether lines are shown as they are written. */
export const isLive = computed(() => parameter('live') === '1');
/** Key of the line whose fields are shown. */
export const openKey = computed(() => parameter('row'));
/** Columns of the view as a table; undefined: all. */
export const chosenColumns = computed(() => {
  const text = parameter('cols');
  return text === '' ? undefined : text.split(',').map(decoded);
});

/** Whether long lines are broken. */
export const isWrapped = storedSignal('logs-wrap', false, isBoolean);
/** Whether equal neighbours are shown as one line with their number. */
export const joinsRepeats = storedSignal('logs-repeats', false, isBoolean);
/** Whether the list of fields is shown. */
export const hasFacets = storedSignal('logs-fields', matchMedia('(width >= 900px)').matches, isBoolean);

/** Searches; a line that was open, or the view of its neighbours, is closed. */
export function searchFor(text: string): void {
  setParameters({ s: text === '' ? undefined : text, at: undefined, stream: undefined, row: undefined });
}

/** Chooses the columns of the view as a table. */
export function chooseColumns(names: readonly string[]): void {
  setParameters({ cols: names.length === 0 ? undefined : names.map(encodeURIComponent).join(',') });
}

/** The neighbours of a line: its time, and the tags of its stream. */
export interface LineContext {
  readonly timeNs: string;
  readonly stream: readonly (readonly [name: string, value: string])[];
}

/** The line whose neighbours are shown. */
export const context = computed<LineContext | undefined>(() => {
  const timeNs = parameter('at');
  return /^\d{1,19}$/.test(timeNs) ? { timeNs, stream: streamOf(parameter('stream')) } : undefined;
});

/** Shows the neighbours of a line; undefined returns to the search. */
export function openContext(line: LineContext | undefined): void {
  const stream = line === undefined || line.stream.length === 0 ? undefined : JSON.stringify(line.stream);
  setParameters({ at: line?.timeNs, stream });
}

function streamOf(text: string): LineContext['stream'] {
  try {
    const pairs = JSON.parse(text) as unknown[];
    return pairs.filter((pair): pair is [string, string] => {
      return Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === 'string');
    });
  } catch {
    return [];
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean';
}
