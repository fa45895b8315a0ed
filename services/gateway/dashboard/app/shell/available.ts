import { computed, effect, signal } from '@preact/signals';
import type { ComponentType } from 'preact';

import { RequestError, requestJson } from '../core/http.js';
import { returnCount } from '../core/reachability.js';
import { retryLater } from '../core/retry.js';
import { credentials } from '../core/session.js';
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
  /** Whether it needs an administrator of every database. */
  readonly isOfAllDatabases?: boolean;
  /** Whether the time picker applies to it. */
  readonly hasRange: boolean;
  /** Loads its code, when it is first opened. */
  readonly load: () => Promise<ComponentType>;
}

/** All screens, whichever listener serves the page. */
export const allScreens = signal<readonly ScreenEntry[]>([]);

/** What the server says about itself and the user. */
export interface ServerFacts {
  readonly version: string;
  readonly listener: 'main' | 'public';
  /** Whether requests need a user. */
  readonly auth: boolean;
  /** Widest right of the user in any database; null: none. */
  readonly mode: UserMode | null;
  /** What the user may do, by database; `*`: in all. */
  readonly grants: readonly { readonly database: string; readonly mode: UserMode }[];
}

/** A right in a database. `admin` includes the others. */
type UserMode = 'read' | 'write' | 'read_write' | 'admin';

/** Undefined until the first reply. */
export const serverFacts = signal<ServerFacts | undefined>(undefined);

/** Whether the paths of administrators can be used: on the main listener, by users who may. */
const isAdministrator = computed(() => {
  return serverFacts.value?.listener === 'main' && serverFacts.value.mode === 'admin';
});

/** Whether the user may write to a database; assumed until the server has replied. */
export function mayWrite(database: string): boolean {
  const grants = serverFacts.value?.grants;
  return (
    grants?.some((grant) => grant.mode !== 'read' && (grant.database === '*' || grant.database === database)) ?? true
  );
}

/** Whether the user may run ADMIN statements; assumed until the server has replied. */
export function mayAdminister(): boolean {
  return serverFacts.value === undefined || serverFacts.value.mode === 'admin';
}

/** Whether the listener serves the data of a screen to the user. */
export function isAvailable({ isPublic, isOfAllDatabases = false }: ScreenEntry): boolean {
  if (isPublic) return true;
  return isAdministrator.value && (!isOfAllDatabases || isAdministratorOfAll());
}

function isAdministratorOfAll(): boolean {
  return serverFacts.value?.grants.some(({ database, mode }) => database === '*' && mode === 'admin') ?? false;
}

/** The screens whose data the listener serves to the user. */
export const availableScreens = computed<readonly ScreenEntry[]>(() => allScreens.value.filter(isAvailable));

/** Finds out which listener serves the page, and who uses it; again when the server is back or the user changes. */
export function readServerFacts(): void {
  effect(() => {
    void returnCount.value;
    void readFacts(credentials.value);
  });
}

async function readFacts(used: string | undefined, failures = 0): Promise<void> {
  const isCurrent = (): boolean => credentials.peek() === used || used === undefined;
  try {
    const facts = await requestJson<ServerFacts>('v1/whoami');
    if (isCurrent()) serverFacts.value = facts;
  } catch (error) {
    // Screens show why their requests fail. What was lost is sent again when the server is back.
    if (!(error instanceof RequestError) || error.status === 0) return;
    retryLater(error, failures + 1, () => {
      if (isCurrent()) void readFacts(used, failures + 1);
    });
  }
}
