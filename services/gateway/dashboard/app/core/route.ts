import { computed, signal } from '@preact/signals';

import { BASE_PATH } from './origin.js';

/** A place in the app: the screen, and its state in the query string and the fragment. */
interface Place {
  readonly screen: string;
  readonly parameters: URLSearchParams;
  /** Without the `#`. */
  readonly fragment: string;
}

const place = signal<Place>(placeOf(location.href));

/** Name of the screen, such as `query`; empty for the first one. */
export const screen = computed(() => place.value.screen);
/** State of the screen. Do not change it: call `setParameters`. */
export const parameters = computed(() => place.value.parameters);
/** State that is too long for the query string and never reaches a server. */
export const fragment = computed(() => place.value.fragment);

addEventListener('popstate', () => (place.value = placeOf(location.href)));

/** Values of parameters; undefined removes one. */
export type ParameterChange = Readonly<Record<string, string | undefined>>;

/** Path below which all screens are. */
export const SCREENS_PATH = `${BASE_PATH}dashboard/`;

/** Parameters that mean the same on every screen: database, range and zone. */
const KEPT_PARAMETERS = ['db', 'from', 'to', 'tz'];

/** Returns the link to a screen, with the database, range and zone of the page unless `change` has others. */
export function linkTo(name: string, change: ParameterChange = {}): string {
  const kept = KEPT_PARAMETERS.flatMap((each) =>
    parameters.value
      .getAll(each)
      .slice(0, 1)
      .map((value) => [each, value]),
  );
  const search = String(changed(new URLSearchParams(kept), change));
  return SCREENS_PATH + name + (search === '' ? '' : `?${search}`);
}

/** Opens a screen; the browser's Back returns from it. */
export function openScreen(name: string, change: ParameterChange = {}): void {
  visit(linkTo(name, change), false);
}

/** Follows a link to a screen of the app. */
export function visit(link: string, replaces: boolean): void {
  const url = new URL(link, location.href);
  if (replaces) history.replaceState(null, '', url);
  else history.pushState(null, '', url);
  place.value = placeOf(url.href);
}

/**
 * Changes parameters of the current screen and keeps all others, also unknown ones.
 *
 * @param options `replaces`: Back does not return to the state before; `fragment`: the new one, without `#`.
 */
export function setParameters(
  change: ParameterChange,
  options: { readonly replaces?: boolean; readonly fragment?: string } = {},
): void {
  const url = new URL(location.href);
  url.search = String(changed(new URLSearchParams(url.search), change));
  if (options.fragment !== undefined) url.hash = options.fragment;
  if (url.href !== location.href) visit(url.href, options.replaces ?? false);
}

/** Returns one parameter; `fallback` if it is missing. */
export function parameter(name: string, fallback = ''): string {
  return parameters.value.get(name) ?? fallback;
}

function changed(all: URLSearchParams, change: ParameterChange): URLSearchParams {
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined) all.delete(name);
    else all.set(name, value);
  }
  return all;
}

function placeOf(href: string): Place {
  const url = new URL(href);
  const path = url.pathname.slice(BASE_PATH.length).replace(/^dashboard\/?/, '');
  return { screen: path.replace(/\/$/, ''), parameters: url.searchParams, fragment: url.hash.slice(1) };
}
