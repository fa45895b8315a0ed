import { computed, effect, signal } from '@preact/signals';
import type { ComponentType } from 'preact';

import { request, RequestError } from '../core/http.js';
import { isReachable } from '../core/reachability.js';
import type { IconName } from '../widgets/icons.js';

/** Headings of the navigation. */
export type ScreenGroup = 'Explore' | 'Data' | 'Operate';

/** A screen of the app. */
export interface ScreenEntry {
  /** Its path below `/dashboard/`, and the name of its icon. */
  readonly name: IconName;
  readonly title: string;
  readonly group: ScreenGroup;
  /** Second key after `g`. */
  readonly key: string;
  /** Whether its data is under `/v1`, so that the public listener has it too. */
  readonly isPublic: boolean;
  /** Whether the time picker applies to it. */
  readonly hasRange: boolean;
  /** Loads its code, when it is first opened. */
  readonly load: () => Promise<ComponentType>;
}

/** All screens, whichever listener serves the page. */
export const allScreens = signal<readonly ScreenEntry[]>([]);

/** What the server says about itself. */
export interface ServerFacts {
  readonly version: string;
  /** Role of the process: `standalone`, or `gateway` of a cluster. */
  readonly role: string;
}

/** Undefined on the public listener, and until the first reply. */
export const serverFacts = signal<ServerFacts | undefined>(undefined);
/** The listener that serves the page; undefined until the first reply. */
export const listener = signal<'main' | 'public' | undefined>(undefined);

/** The screens that the listener serves the data of. */
export const availableScreens = computed<readonly ScreenEntry[]>(() =>
  allScreens.value.filter(({ isPublic }) => isPublic || listener.value === 'main'),
);

/** Finds out which listener serves the page: only the main one has `/status`. Repeated when the server is back. */
export function detectListener(): void {
  effect(() => {
    if (isReachable.value && listener.peek() === undefined) void readStatus();
  });
}

async function readStatus(): Promise<void> {
  try {
    const { version = '', role = '' } = (await (await request('status')).json()) as Partial<ServerFacts>;
    serverFacts.value = { version, role };
    listener.value = 'main';
  } catch (error) {
    // Without the right to administer, the other screens work as on the public listener.
    if (error instanceof RequestError && error.status !== 0) listener.value = 'public';
  }
}
